/*
 * stats_launches: known groups with known answers.
 *
 * [scipy] literals were computed apart from this program with SciPy 1.17 and NumPy 2.4: mean
 * squares from scipy.stats.f_oneway on logarithms, quantiles from numpy.quantile.
 */
#include "testing.h"

#include <math.h>

#include "base/stats_launches.h"

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected)))
        fail_msg("got %.17g, expected %.17g", got, expected);
}

static const double first[] = {103.61, 103.50, 103.58, 100.42, 100.13};
static const double second[] = {104.18, 104.11, 106.69, 102.12, 103.57};
static const double third[] = {99.11, 100.63, 101.60, 99.58};
static const double fourth[] = {102.85, 101.23, 101.14, 101.47, 102.35, 101.62};
static const double fifth[] = {102.37, 100.84, 103.26, 102.34, 101.48};
static const double sixth[] = {103.63, 103.68, 103.12, 103.27, 104.03};
static const double seventh[] = {100.58, 101.90, 101.06};

static const struct stats_launch launches[] = {
    {first, COUNT(first)},     {second, COUNT(second)}, {third, COUNT(third)},
    {fourth, COUNT(fourth)},   {fifth, COUNT(fifth)},   {sixth, COUNT(sixth)},
    {seventh, COUNT(seventh)},
};

TEST(centre_is_of_launch_medians)
{
    struct stats_launches s;
    assert_true(stats_of_launches(launches, 7, NAN, &s));
    assert_near(s.median, 102.34);
    assert_true(s.interval);
    assert_near(s.lo, 100.105);
    assert_near(s.hi, 104.11);
}

TEST(quantiles_are_of_all_samples)
{
    struct stats_launches s;
    assert_true(stats_of_launches(launches, 7, NAN, &s));
    assert_int_equal(s.samples, 33);
    assert_near(s.min, 99.11);
    assert_near(s.p05, 99.91);   /* [scipy] */
    assert_near(s.p95, 104.138); /* [scipy] */
}

TEST(variance_is_split_between_unequal_groups)
{
    struct stats_launches s;
    assert_true(stats_of_launches(launches, 7, NAN, &s));
    assert_near(s.spread_within, 0.011281860931051735);  /* [scipy] */
    assert_near(s.spread_between, 0.011560615650547092); /* [scipy] */
    assert_near(s.share_between, 0.5122015321782226);    /* [scipy] */
    assert_near(s.design_effect, 2.8884197903540527);    /* [scipy] */
}

TEST(equal_launches_have_nothing_between)
{
    static const double x[] = {1, 2, 3};
    const struct stats_launch same[] = {{x, 3}, {x, 3}, {x, 3}};
    struct stats_launches s;
    assert_true(stats_of_launches(same, 3, NAN, &s));
    assert_true(s.spread_within > 0);
    assert_true(s.spread_between == 0);
    assert_true(s.share_between == 0);
    assert_true(s.design_effect == 1);
}

TEST(constant_launches_have_nothing_within)
{
    static const double one[] = {1, 1}, e[] = {2.718281828459045, 2.718281828459045};
    const struct stats_launch apart[] = {{one, 2}, {e, 2}};
    struct stats_launches s;
    assert_true(stats_of_launches(apart, 2, NAN, &s));
    assert_true(s.spread_within == 0);
    assert_near(s.spread_between, sqrt(0.5)); /* of 0 and 1 */
    assert_near(s.share_between, 1);
    assert_near(s.design_effect, 2); /* two samples know as much as one */
}

TEST(no_claims_without_data)
{
    struct stats_launches s;
    assert_true(stats_of_launches(launches, 5, NAN, &s));
    assert_false(s.interval);
    assert_true(isnan(s.lo) && isnan(s.hi));
    assert_true(stats_of_launches(launches, 1, NAN, &s));
    assert_true(isnan(s.spread_between) && isnan(s.design_effect));
    const struct stats_launch single[] = {{first, 1}, {second, 1}};
    assert_true(stats_of_launches(single, 2, NAN, &s));
    assert_true(isnan(s.spread_within) && isnan(s.share_between));
    assert_false(stats_of_launches(launches, 0, NAN, &s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(centre_is_of_launch_medians),
        cmocka_unit_test(quantiles_are_of_all_samples),
        cmocka_unit_test(variance_is_split_between_unequal_groups),
        cmocka_unit_test(equal_launches_have_nothing_between),
        cmocka_unit_test(constant_launches_have_nothing_within),
        cmocka_unit_test(no_claims_without_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
