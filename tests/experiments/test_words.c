/*
 * words: what a head is said to look at, of weights that are planted.
 */
#include "testing.h"

#include <math.h>

#include "experiments/shared/looks.h"

#define N 5

#define assert_close(got, expected)                                      \
    do {                                                                 \
        const double got_ = (got), expected_ = (expected);               \
        if (!(fabs(got_ - expected_) <= 1e-12))                          \
            fail_msg("%s = %.9g, expected %.9g", #got, got_, expected_); \
    } while (0)

static const char *const words[N] = {"[CLS]", "the", "cat", "the", "[SEP]"};

/* Rows that are even over the keys they see, but for `share` of each, which lies on one key: `offset` behind
 * the row's own where `key` is -1. */
static void plant(double p[N * N], bool causal, double share, int key, int offset)
{
    for (int i = 0; i < N; i++) {
        const int seen = causal ? i + 1 : N, at = key < 0 ? i + offset : key;
        const bool there = at >= 0 && at < seen && seen > 1;
        for (int j = 0; j < N; j++)
            p[i * N + j] = j >= seen ? 0
                           : !there  ? 1.0 / seen
                           : j == at ? share
                                     : (1 - share) / (seen - 1);
    }
}

static void expect(const double p[N * N], bool causal, const char *text)
{
    struct looks looks;
    looks_find(p, N, causal, words, &looks);
    assert_string_equal(looks.text, text);
}

TEST(one_place_is_named_with_its_weight)
{
    double p[N * N];
    struct looks looks;
    plant(p, false, 0.8, -1, -1);
    looks_find(p, N, false, words, &looks);
    assert_close(looks.places[LOOKS_PREVIOUS].weight, 4 * 0.8 / 5); /* the first row has none */
    assert_close(looks.places[LOOKS_PREVIOUS].even, 4 * 0.2 / 5);
    assert_int_equal(looks.places[LOOKS_PREVIOUS].largest, 4);
    assert_close(looks.places[LOOKS_ITSELF].weight, (0.2 + 4 * 0.05) / 5);
    assert_close(looks.seen, 5);
    const double entropy = -0.8 * log(0.8) - 0.2 * log(0.05);
    assert_close(looks.in_use, (5 + 4 * exp(entropy)) / 5);
    assert_string_equal(looks.text,
                        "looks at the previous token with 0.64 of its weight (uniform: 0.16), the "
                        "largest in 4 of 5 rows; a row uses 2.7 of 5 keys");
    plant(p, false, 0.8, -1, 0);
    expect(
        p, false,
        "looks at the token itself with 0.80 of its weight (uniform: 0.2), the largest in 5 of 5 "
        "rows; a row uses 2.2 of 5 keys");
    plant(p, false, 0.8, -1, 1);
    expect(p, false,
           "looks at the next token with 0.64 of its weight (uniform: 0.16), the largest in 4 of 5 "
           "rows; a row uses 2.7 of 5 keys");
    plant(p, false, 0.8, 4, 0);
    expect(p, false,
           "looks at the separator [SEP] with 0.80 of its weight (uniform: 0.2), the largest in "
           "5 of "
           "5 rows; a row uses 2.2 of 5 keys");
    plant(p, false, 0.8, 0, 0);
    expect(p, false,
           "looks at the first token, '[CLS]' with 0.80 of its weight (uniform: 0.2), the "
           "largest in "
           "5 of 5 rows; a row uses 2.2 of 5 keys");
    plant(p, false, 0.8, 2, 0);
    expect(p, false,
           "looks at the token 'cat' with 0.80 of its weight (uniform: 0.2), the largest in 5 of 5 "
           "rows; a row uses 2.2 of 5 keys");
}

TEST(even_rows_spread)
{
    double p[N * N];
    struct looks looks;
    plant(p, false, 0.2, 0, 0);
    looks_find(p, N, false, words, &looks);
    assert_close(looks.in_use, 5);
    assert_memory_equal(looks.text, "spreads its weight, a row uses 5.0 of 5 keys; ", 46);
    /* With a mask rows see 1 to 5 keys: that the first row gives itself all is no preference. */
    plant(p, true, 0, -1, -9);
    looks_find(p, N, true, words, &looks);
    assert_close(looks.seen, 3);
    assert_close(looks.in_use, 3);
    assert_int_equal(looks.token, 0);
    assert_close(looks.places[LOOKS_TOKEN].weight, (1 + 1. / 2 + 1. / 3 + 1. / 4 + 1. / 5) / 5);
    assert_close(looks.places[LOOKS_TOKEN].even, looks.places[LOOKS_TOKEN].weight);
    assert_close(looks.places[LOOKS_NEXT].even, 0);
    assert_memory_equal(looks.text, "spreads its weight, a row uses 3.0 of 3 keys; ", 46);
    /* Half as much again as an even share is not twice as much. */
    plant(p, false, 0.35, 2, 0);
    expect(p, false,
           "spreads its weight, a row uses 4.7 of 5 keys; most above uniform weights goes to the "
           "token "
           "'cat', 0.35 (uniform: 0.2)");
}

TEST(equal_tokens_and_a_second_place)
{
    double p[N * N] = {0};
    struct looks looks;
    for (int i = 0; i < N; i++)
        p[i * N + 4] = 1;
    for (int i = 1; i < N - 1; i += 2) { /* the: the other one, a little [SEP] */
        p[i * N + 4] = 0.1;
        p[i * N + 4 - i] = 0.9;
    }
    looks_find(p, N, false, words, &looks);
    assert_close(looks.places[LOOKS_EQUAL].weight, 2 * 0.9 / 5);
    assert_close(looks.places[LOOKS_EQUAL].even, 2 * 0.2 / 5);
    assert_int_equal(looks.places[LOOKS_EQUAL].largest, 2);
    assert_string_equal(
        looks.text, "looks at the separator [SEP] with 0.64 of its weight (uniform: 0.2), the "
                    "largest in 3 of 5 rows; then at equal tokens elsewhere with 0.36 (0.08); a "
                    "row uses 1.2 of 5 keys");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_place_is_named_with_its_weight),
        cmocka_unit_test(even_rows_spread),
        cmocka_unit_test(equal_tokens_and_a_second_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
