/*
 * stats_shape: known series with known answers.
 *
 * [scipy] literals were computed apart from this program with SciPy 1.17 and NumPy 2.4 (theilslopes;
 * S and its variance and the best cut by their definitions).
 */
#include "testing.h"

#include <math.h>

#include "base/stats_shape.h"

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected)))
        fail_msg("got %.17g, expected %.17g", got, expected);
}

static const double rising[] = {10.0, 10.2, 10.1, 10.4, 10.4, 10.3, 10.8, 10.7, 11.0, 10.9};

TEST(outliers_are_far_and_above)
{
    /* median 10.4, median deviation 0.3: the limit lies at 10.4 + 5 * 1.4826 * 0.3 = 12.62 */
    double x[] = {10.0, 10.2, 10.1, 10.4, 10.4, 10.3, 10.8, 10.7, 11.0, 12.5};
    assert_int_equal(stats_outliers(x, 10, 0.02), 0);
    x[9] = 12.63;
    assert_int_equal(stats_outliers(x, 10, 0.02), 1);
    x[0] = 1; /* below: never */
    assert_int_equal(stats_outliers(x, 10, 0.02), 1);
    assert_int_equal(stats_outliers(x, 10, 0.5), 0);
}

TEST(quiet_series_have_no_outliers_within_least)
{
    static const double x[] = {1, 1, 1, 1, 1, 1.015, 1.03};
    assert_int_equal(stats_outliers(x, 7, 0.02), 1);
    assert_int_equal(stats_outliers(x, 7, 0.01), 2);
    assert_int_equal(stats_outliers(x, 0, 0.01), 0);
}

TEST(modes_are_cut_where_they_part)
{
    static const double x[] = {5.0, 5.1, 4.9, 5.2, 7.0, 5.05, 7.1, 4.95, 6.9, 5.15};
    const struct stats_modes m = stats_modes(x, COUNT(x));
    assert_near(m.distance, 21.361179742701516); /* [scipy] */
    assert_near(m.relative, 0.3861386138613862); /* [scipy] */
    assert_near(m.minority, 0.3);
}

TEST(even_series_show_little_distance)
{
    double x[1000];
    for (int i = 0; i < 1000; i++)
        x[i] = 100 + i;
    const struct stats_modes m = stats_modes(x, 1000);
    assert_true(fabs(m.distance - 2 * sqrt(3)) <
                0.01); /* uniform: halves 1/2 apart, sd 1/4/sqrt 3 */
    assert_near(m.minority, 0.5);
}

TEST(constant_series_have_no_modes)
{
    static const double same[] = {2, 2, 2, 2, 2}, two[] = {2, 2, 3, 3};
    assert_true(stats_modes(same, 5).distance == 0);
    assert_true(isinf(stats_modes(two, 4).distance));
    assert_near(stats_modes(two, 4).relative, 0.5);
}

TEST(trend_is_kendalls)
{
    const struct stats_trend up = stats_trend(rising, COUNT(rising));
    assert_near(up.z, 2.963487483441786);      /* [scipy], one pair tied */
    assert_near(up.change, 0.086538461538462); /* [scipy] */
    double falling[COUNT(rising)];
    for (size_t i = 0; i < COUNT(rising); i++)
        falling[i] = -rising[i];
    assert_near(stats_trend(falling, COUNT(rising)).z, -up.z);
    static const double flat[] = {3, 3, 3, 3, 3, 3};
    assert_true(stats_trend(flat, 6).z == 0);
    assert_true(stats_trend(rising, 3).z == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outliers_are_far_and_above),
        cmocka_unit_test(quiet_series_have_no_outliers_within_least),
        cmocka_unit_test(modes_are_cut_where_they_part),
        cmocka_unit_test(even_series_show_little_distance),
        cmocka_unit_test(constant_series_have_no_modes),
        cmocka_unit_test(trend_is_kendalls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
