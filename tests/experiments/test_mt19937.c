/*
 * mt19937: the words of the published generator, and the numbers that PyTorch makes of them.
 */
#include "testing.h"

#include "experiments/shared/mt19937.h"

/* ISO C++ [rand.predef]: the 10000th word of the generator with its standard seed. */
TEST(the_ten_thousandth_word)
{
    struct mt19937 g;
    mt19937_seed(&g, 5489);
    assert_int_equal(mt19937_next(&g), 3499211612u);
    for (int i = 2; i < 10000; i++)
        mt19937_next(&g);
    assert_int_equal(mt19937_next(&g), 4123659995u);
}

/* Low 24 bits, stretched in float32. */
TEST(uniform_numbers_are_words)
{
    struct mt19937 words, numbers;
    float x[100];
    mt19937_seed(&words, 7);
    mt19937_seed(&numbers, 7);
    mt19937_uniform(&numbers, x, 100, -2, 6);
    for (int i = 0; i < 100; i++) {
        const float unit = (float)(mt19937_next(&words) % 16777216u) / 16777216.0f;
        assert_true(x[i] == unit * 8 - 2);
    }
}

/* Drawn as (out, in), kept as (in, out), the bias behind. */
TEST(a_linear_layer_is_transposed)
{
    enum { IN = 4, OUT = 3 };
    struct mt19937 a, b;
    float w[IN * OUT], bias[OUT], drawn[IN * OUT + OUT];
    mt19937_seed(&a, 9);
    mt19937_seed(&b, 9);
    mt19937_linear(&a, IN, OUT, w, bias);
    mt19937_uniform(&b, drawn, IN * OUT + OUT, -0.5f, 0.5f);
    for (int o = 0; o < OUT; o++) {
        for (int i = 0; i < IN; i++)
            assert_true(w[i * OUT + o] == drawn[o * IN + i]);
        assert_true(bias[o] == drawn[IN * OUT + o]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ten_thousandth_word),
        cmocka_unit_test(uniform_numbers_are_words),
        cmocka_unit_test(a_linear_layer_is_transposed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
