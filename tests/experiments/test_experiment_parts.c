/*
 * The parts of experiments that can be known beforehand: rescales, exponents, errors.
 */
#include "testing.h"

#include <math.h>

#include "experiments/parts.h"
#include "base/random.h"

TEST(rescales_of_known_rows)
{
    /* In powers of 2: 0, 1, 1, 4, 3, 6. */
    const float unit = 0.693147181f;
    const float x[] = {0, unit, unit, 4 * unit, 3 * unit, 6 * unit};
    assert_int_equal(rescale_count(x, 6, 1, 0), 3);   /* 1, 4, 6 */
    assert_int_equal(rescale_count(x, 6, 1, 1.5), 2); /* 4, then 6 */
    assert_int_equal(rescale_count(x, 6, 1, 3.5), 1); /* 4; 6 is within */
    assert_int_equal(rescale_count(x, 6, 2, 0), 2);   /* blocks of 1, 4, 6 */
    assert_int_equal(rescale_count(x, 6, 4, 0), 1);
    assert_int_equal(rescale_count(x, 6, 6, 0), 0);
}

/* The k-th key of a random order is a new maximum with probability 1/k. */
TEST(random_rows_rescale_as_records_come)
{
    enum { KEYS = 500, ROWS = 2000 };
    float x[KEYS];
    double total = 0, expected = 0;
    for (uint64_t row = 0; row < ROWS; row++) {
        rescale_draw("normal", x, KEYS, random_key(1, row));
        total += (double)rescale_count(x, KEYS, 1, 0);
    }
    for (int k = 2; k <= KEYS; k++)
        expected += 1.0 / k;
    assert_true(fabs(total / ROWS - expected) < 0.15); /* s.e. 0.05 */
}

TEST(sorted_rows_rescale_always_or_never)
{
    float x[64];
    rescale_draw("ascending", x, 64, 3);
    assert_int_equal(rescale_count(x, 64, 1, 0), 63);
    assert_int_equal(rescale_count(x, 64, 8, 0), 7);
    rescale_draw("descending", x, 64, 3);
    assert_int_equal(rescale_count(x, 64, 1, 0), 0);
}

/* A kernel whose results were moved by a known amount. */
TEST(errors_are_those_that_were_made)
{
    struct problem_case c = {.name = "errors", .input = {.kind = INPUT_NORMAL, .seed = 3}};
    struct kernel_call call;
    struct error_growth before, after;
    struct experiment_work work = {.threads = 1};
    attn_problem_init(&c.problem);
    c.problem.q_len = 5;
    c.problem.kv_len = 40;
    c.problem.qk_dim = c.problem.v_dim = 8;
    const struct attn_kernel *kernel = kernel_call_find("naive", &c.problem, &work);
    assert_true(kernel_call_case(&call, kernel, &c, 1, &work));
    kernel_call_run(&call);
    assert_true(error_growth_judge(&call, &work, &before));
    assert_true(before.n == 40 && before.over_bound <= 1 && before.largest < 1e-6);
    for (size_t i = 0; i < 5; i++)
        for (size_t d = 0; d < 8; d++) {
            const double o = tensors_get(&call.set.tensors.o, 0, 0, i, d);
            tensors_set(&call.set.tensors.o, 0, 0, i, d, o + (d == 2 && i == 1 ? 0.5 : 0.25));
        }
    work.threads = 3;
    assert_true(error_growth_judge(&call, &work, &after));
    assert_true(fabs(after.largest - 0.5) < 1e-6);
    assert_true(fabs(after.sum - 10.25) < 1e-5);
    assert_true(fabs(after.squares - 39 * 0.0625 - 0.25) < 1e-5);
    assert_true(after.over_bound > 1000);
    kernel_call_close(&call);
    experiment_free(&work);
}

/* A degree more is 5 to 40 times as exact, until float32 itself is all that is left. */
TEST(polynomials_come_closer)
{
    double before = 1;
    for (size_t degree = 1; degree <= EXP_DEGREES; degree++) {
        const double error = exp_degree_error(degree);
        assert_true(error < before / (degree <= 5 ? 5 : 0.8));
        before = error;
    }
    assert_true(before < 2.5e-7);
    /* The parabola through 2^r at +-1/2 sqrt(1/2) and 0, at r = 1/2 by hand: 0.0018. */
    assert_true(fabs(exp_degree_error(2) - 0.0035) < 0.0025);
}

TEST(whole_powers_are_exact_and_others_near)
{
    float c[EXP_DEGREES];
    for (size_t degree = 1; degree <= EXP_DEGREES; degree++) {
        const double error = exp_degree_error(degree);
        exp_degree_fit(degree, c);
        for (int i = 0; i <= 126; i++)
            assert_true((double)exp_degree_power(degree, c, -(float)i) == exp2(-i));
        for (float x = -125.625f; x < 0; x += 2)
            assert_true(fabs((double)exp_degree_power(degree, c, x) / exp2((double)x) - 1) <=
                        error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rescales_of_known_rows),
        cmocka_unit_test(random_rows_rescale_as_records_come),
        cmocka_unit_test(sorted_rows_rescale_always_or_never),
        cmocka_unit_test(polynomials_come_closer),
        cmocka_unit_test(whole_powers_are_exact_and_others_near),
        cmocka_unit_test(errors_are_those_that_were_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
