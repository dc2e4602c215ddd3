/*
 * The products of the experiment linear, and its verdict.
 */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "experiments/parts.h"
#include "results/report.h"

/* x w for 2 tokens, 3 inputs and 4 outputs, by hand. */
static const struct linear_shape shape = {2, 3, 4};
static const float x[] = {1, 2, 3, -1, 0, 2};
static const float w[] = {1, 0, 2, 1, 0, 1, 3, -1, 2, 2, 1, 0};
static const float y[] = {7, 8, 11, -1, 3, 4, 0, -1};

TEST(every_way_computes_the_product_in_both_layouts)
{
    float stored[12], got[8];
    linear_transpose(w, 3, 4, stored);
    const float *const weights[LINEAR_LAYOUTS] = {w, stored};
    linear_one_thread();
    linear_product *const ways[] = {linear_gemm, linear_dot, linear_axpy};
    for (size_t way = 0; way < 3; way++)
        for (int layout = 0; layout < LINEAR_LAYOUTS; layout++) {
            memset(got, 0xff, sizeof got); /* NaN: nothing is added to what was there */
            ways[way](&shape, x, weights[layout], (enum linear_layout)layout, got);
            for (size_t i = 0; i < 8; i++)
                assert_true(got[i] == y[i]);
        }
}

TEST(weights_larger_than_a_tile_are_transposed)
{
    enum { IN = 37, OUT = 70 };
    float a[IN * OUT], b[IN * OUT];
    for (size_t i = 0; i < sizeof a / sizeof *a; i++)
        a[i] = (float)i;
    linear_transpose(a, IN, OUT, b);
    for (size_t d = 0; d < IN; d++)
        for (size_t o = 0; o < OUT; o++)
            assert_true(b[o * IN + d] == a[d * OUT + o]);
}

/* Of token 1 and output 2: 2 * 3 u / (1 - 3 u) * (2 + 0 + 2). */
TEST(the_bound_is_of_two_orders_of_summation)
{
    float stored[12];
    linear_transpose(w, 3, 4, stored);
    assert_true(fabs(linear_bound(&shape, x, stored, 1, 2) / (24 * 0x1p-24) - 1) < 1e-6);
}

static bool judged(const char *sums, double difference, double over_bound, double output)
{
    json_t *rows = json_pack("[{s:{s:s, s:i, s:s, s:s}, s:{s:f, s:f, s:f, s:f, s:b}}]", "params",
                             "part", "equal", "d", 8, "input", "normal", "sums", sums, "values",
                             "difference", difference, "over_bound", over_bound, "equal", 0.5,
                             "output_difference", output, "loops_equal", 1);
    assert_non_null(rows);
    const bool right = linear_report(rows);
    json_decref(rows);
    return right;
}

TEST(a_difference_beyond_rounding_is_a_mismatch)
{
    report_open(true); /* what tests print is on standard error */
    assert_true(judged("rounded", 1e-6, 1, 1e-7));
    assert_false(judged("rounded", 1e-6, 1.001, 1e-7));
    assert_true(judged("exact", 0, 0, 0));
    assert_false(judged("exact", 1e-8, 0.001, 0));
    assert_false(judged("exact", 0, 0, 1e-8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_computes_the_product_in_both_layouts),
        cmocka_unit_test(weights_larger_than_a_tile_are_transposed),
        cmocka_unit_test(the_bound_is_of_two_orders_of_summation),
        cmocka_unit_test(a_difference_beyond_rounding_is_a_mismatch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
