/*
 * stats: known samples with known answers.
 *
 * Literals marked [numpy] come from numpy.quantile (2.4, linear = type 7), those marked [scipy] from
 * scipy.stats.binom (1.17), both computed apart from this program.
 */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/stats.h"

static const double eleven[] = {3.1, 1.2, 9.7, 4.4, 4.4, 0.5, 7.25, 2.0, 6.6, 5.9, 8.8};

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-12 * fabs(expected)))
        fail_msg("got %.17g, expected %.17g", got, expected);
}

TEST(sorts_ascending)
{
    static const double sorted[] = {0.5, 1.2, 2.0, 3.1, 4.4, 4.4, 5.9, 6.6, 7.25, 8.8, 9.7};
    double x[COUNT(eleven)];
    memcpy(x, eleven, sizeof x);
    stats_sort(x, COUNT(x));
    assert_memory_equal(x, sorted, sizeof x);
}

TEST(quantiles_are_type_7)
{
    static const struct {
        size_t n;
        double q, value;
    } known[] = {
        {11, 0, 0.5},     {11, 0.05, 0.85}, {11, 0.25, 2.55},  {11, 0.5, 4.4}, {11, 0.9, 8.8},
        {11, 0.95, 9.25}, {11, 1, 9.7},     {10, 0.05, 0.815}, {10, 0.5, 4.4}, {10, 0.95, 8.5975},
        {2, 0.5, 2.15},   {1, 0.3, 3.1}, /* [numpy], of the first n values */
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        double x[COUNT(eleven)];
        memcpy(x, eleven, sizeof x);
        stats_sort(x, known[i].n);
        assert_near(stats_quantile(x, known[i].n, known[i].q), known[i].value);
    }
}

TEST(median_of_even_count_is_the_middle)
{
    static const double x[] = {1, 2, 4, 100};
    assert_near(stats_median(x, 4), 3);
    assert_near(stats_median(x, 3), 2);
}

TEST(median_of_leaves_its_input)
{
    double x[COUNT(eleven)];
    memcpy(x, eleven, sizeof x);
    assert_near(stats_median_of(x, COUNT(x)), 4.4);
    assert_memory_equal(x, eleven, sizeof x);
}

TEST(ranks_are_exact)
{
    static const struct {
        size_t n, lo, hi; /* 1-based, as tables print them */
        double coverage;
    } known[] = {
        {6, 1, 6, 0.96875},
        {7, 1, 7, 0.984375},
        {8, 1, 8, 0.9921875}, /* 2 and 7: 0.930 */
        {9, 2, 8, 0.9609375},
        {10, 2, 9, 0.978515625},
        {11, 2, 10, 0.98828125},
        {12, 3, 10, 0.96142578125},
        {20, 6, 15, 0.9586105346679688},
        {25, 8, 18, 0.9567147493362427},
        {31, 10, 22, 0.9705506265163422},
        {51, 19, 33, 0.9511261076817297},
        {100, 40, 61, 0.9647997997822951},
        {1000, 469, 532, 0.9537088026395018},
        {5000, 2431, 2570, 0.9506841418958285}, /* [scipy] */
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        size_t lo, hi;
        double coverage;
        assert_true(stats_median_ranks(known[i].n, &lo, &hi, &coverage));
        assert_int_equal(lo + 1, known[i].lo);
        assert_int_equal(hi + 1, known[i].hi);
        if (fabs(coverage - known[i].coverage) > 1e-9)
            fail_msg("n=%zu: coverage %.12f", known[i].n, coverage);
    }
}

/* tests/data/interval-ranks.csv, computed in whole numbers; tests/scripts holds the tools to it. */
TEST(ranks_are_those_of_the_table)
{
    FILE *table = fopen(TEST_DATA "/interval-ranks.csv", "r");
    assert_non_null(table);
    assert_int_equal(fscanf(table, "n,lo,hi,coverage"), 0);
    size_t n, lo, hi, found[2], next = STATS_CI_MIN;
    double coverage, exact;
    for (; fscanf(table, "%zu,%zu,%zu,%lf", &n, &lo, &hi, &exact) == 4; next++) {
        assert_int_equal(n, next);
        assert_true(stats_median_ranks(n, &found[0], &found[1], &coverage));
        if (found[0] != lo || found[1] != hi || fabs(coverage - exact) > 1e-12)
            fail_msg("n=%zu: ranks %zu and %zu, coverage %.15f", n, found[0], found[1], coverage);
    }
    fclose(table);
    assert_int_equal(next, 201);
}

TEST(no_interval_below_six)
{
    static const double x[] = {1, 2, 3, 4, 5, 6};
    double lo, hi;
    for (size_t n = 0; n < 6; n++)
        assert_false(stats_median_ci95(x, n, &lo, &hi));
    assert_true(stats_median_ci95(x, 6, &lo, &hi));
    assert_near(lo, 1);
    assert_near(hi, 6);
}

TEST(interval_takes_values_at_the_ranks)
{
    static const double x[] = {10, 11, 12, 13, 14, 15, 16, 99};
    double lo, hi;
    assert_true(stats_median_ci95(x, 8, &lo, &hi));
    assert_near(lo, 10);
    assert_near(hi, 99);
    static const double nine[] = {10, 11, 12, 13, 14, 15, 16, 17, 99};
    assert_true(stats_median_ci95(nine, 9, &lo, &hi));
    assert_near(lo, 11);
    assert_near(hi, 17);
}

/* [numpy]: exp of the median and of the 1st and 8th smallest of log(b / a); [scipy] of five values
 * t.interval(0.95, 4, mean, sem). */
TEST(paired_ratio_is_by_round)
{
    static const double a[] = {1.00, 1.02, 0.99, 1.01, 1.05, 1.00, 0.98, 1.03};
    static const double b[] = {1.03, 1.04, 1.03, 1.05, 1.07, 1.02, 1.02, 1.05};
    const struct stats_ratio r = stats_paired_ratio(a, b, 8);
    assert_near(r.ratio, 1.0249878048055012);
    assert_true(r.interval);
    assert_near(r.lo, 1.019047619047619);
    assert_near(r.hi, 1.0408163265306123);

    const struct stats_ratio few = stats_paired_ratio(a, b, 5);
    assert_true(few.interval);
    assert_near(few.ratio, 1.03);
    assert_true(fabs(few.lo - 1.0169248) < 1e-6 && fabs(few.hi - 1.0426177) < 1e-6);

    const struct stats_ratio two = stats_paired_ratio(a, b, 2);
    assert_false(two.interval);
    assert_true(isnan(two.lo) && isnan(two.hi));
}

/* [numpy]: every one of the 6^6 and 7^7 resamples of the rounds listed, and 2e6 of the 9^9. */
TEST(detectable_difference_by_resampling)
{
    static const double one[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const double six[] = {0.9919, 1.0062, 1.0113, 0.9989, 0.9916, 0.9918};
    static const double seven[] = {1.0065, 1.0074, 1.0054, 0.9933, 1.0023, 1.0012, 1.0022};
    static const double nine[] = {1.0087, 1.0022, 1.0068, 1.0007, 1.0029,
                                  1.0063, 0.9854, 0.9968, 0.9953};
    assert_near(stats_detectable(one, six, 6), 0.015979758542152424);
    assert_near(stats_detectable(one, seven, 7), 0.009060706735125348);
    assert_near(stats_detectable(one, nine, 9), 0.0170489141465394);
    assert_near(stats_detectable(six, one, 6), 0.015979758542152424);
    assert_true(isnan(stats_detectable(one, nine, 5)));
}

/* With many rounds an outlying round at either end no longer counts. */
TEST(detectable_difference_forgets_rare_rounds)
{
    double one[60], noisy[60];
    for (int i = 0; i < 60; i++) {
        one[i] = 1;
        noisy[i] = exp(0.001 * (i - 29.5) / 30);
    }
    const double quiet = stats_detectable(one, noisy, 60);
    noisy[0] = 0.5;
    noisy[59] = 2;
    assert_near(stats_detectable(one, noisy, 60), quiet);
    assert_true(quiet > 0 && quiet < 0.001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_ascending),
        cmocka_unit_test(quantiles_are_type_7),
        cmocka_unit_test(median_of_even_count_is_the_middle),
        cmocka_unit_test(median_of_leaves_its_input),
        cmocka_unit_test(ranks_are_exact),
        cmocka_unit_test(ranks_are_those_of_the_table),
        cmocka_unit_test(no_interval_below_six),
        cmocka_unit_test(interval_takes_values_at_the_ranks),
        cmocka_unit_test(paired_ratio_is_by_round),
        cmocka_unit_test(detectable_difference_by_resampling),
        cmocka_unit_test(detectable_difference_forgets_rare_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
