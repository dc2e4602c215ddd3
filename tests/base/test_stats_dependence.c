/*
 * stats_dependence: correlation of neighbours in known series, and what it costs an interval.
 */
#include "testing.h"

#include <math.h>

#include "base/stats.h"
#include "base/stats_dependence.h"

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-9)

/* Ranks about their mean: -2.5, -0.5, 1.5, 2.5, 0.5, -1.5; products of neighbours 1.25, -0.75, 3.75,
 * 1.25, -0.75, together 4.75, squares 17.5: 6 * 4.75 / 17.5 + 1.  The sizes count for nothing. */
TEST(evidence_is_of_ranks)
{
    static const double x[] = {1, 3, 5, 1000, 4, 2};
    struct stats_dependence pool = {0};
    assert_true(stats_dependence_add(&pool, x, 6));
    assert_near(pool.products, 6 * 4.75 / 17.5 + 1);
    assert_near(pool.freedom, 2);
    assert_true(stats_dependence_add(&pool, x, 5)); /* too short */
    assert_near(pool.freedom, 2);
    assert_true(stats_dependence_add(&pool, x, 6));
    assert_near(pool.products, 2 * (6 * 4.75 / 17.5 + 1));
    assert_near(pool.freedom, 4);
}

/* Ranks -1.5, -1.5, 0, 1.5, 1.5, 0 of which pairs are equal: products 2.25, 0, 0, 2.25, 0. */
TEST(equal_values_share_a_rank)
{
    static const double x[] = {1, 1, 2, 3, 3, 2}, same[] = {7, 7, 7, 7, 7, 7};
    struct stats_dependence pool = {0};
    stats_dependence_add(&pool, x, 6);
    assert_near(pool.products, 6 * (4 + 0 + 0 + 4 + 0) / 16.0 + 1);
    pool = (struct stats_dependence){0};
    stats_dependence_add(&pool, same, 6); /* no sign of dependence */
    assert_near(pool.products, 0);
    assert_near(pool.freedom, 2);
}

TEST(estimate_is_within_bounds)
{
    const struct {
        struct stats_dependence pool;
        double expected;
    } known[] = {
        {{4, 8}, 0.5 + sqrt(0.75 / 8)},
        {{10, 40}, 0.25 + sqrt(0.9375 / 40)},
        {{-3, 10}, -0.3 + sqrt(1 / 10.0)}, /* not certain to be below 0 */
        {{-4, 10}, 0},
        {{300, 600}, 0.5 * 1.2}, /* certain, but short series understate it */
        {{9, 10}, 0.97},
        {{30, 10}, 0.97},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_near(stats_dependence_of(&known[i].pool), known[i].expected);
    assert_true(isnan(stats_dependence_of(&(struct stats_dependence){4, 7.9})));
}

TEST(the_larger_estimate_counts)
{
    const struct stats_dependence low = {2, 20}, high = {6, 20}, few = {9, 19}, all = {20, 100};
    assert_near(stats_dependence_taken(low, all).freedom, 100);
    assert_near(stats_dependence_taken(high, all).freedom, 20);
    assert_near(stats_dependence_taken(few, all).freedom, 100);
}

/* Correlations of 6 values at distances of 1 to 5: 1/2 and each 0.85 of the one before; powers of 0.9. */
TEST(width_follows_the_variance_of_a_mean)
{
    double v = 1 + 2 * 0.5 * (5 + 4 * 0.85 + 3 * 0.7225 + 2 * 0.614125 + 0.52200625) / 6;
    assert_near(stats_dependence_widens(6, 0.5), sqrt(v * (5 / 6.0) / (1 - v / 6)));
    v = 1 + 2 * (5 * 0.9 + 4 * 0.81 + 3 * 0.729 + 2 * 0.6561 + 0.59049) / 6;
    assert_near(stats_dependence_widens(6, 0.9), sqrt(v * (5 / 6.0) / (1 - v / 6)));
    assert_near(stats_dependence_widens(6, 0), 1);
    assert_near(stats_dependence_widens(6, NAN), 1);
    for (size_t n = STATS_CI_MIN; n < 200; n++)
        for (double rho = 0.01; rho < 0.97; rho += 0.01)
            assert_true(stats_dependence_widens(n, rho) < stats_dependence_widens(n, rho + 0.01));
}

TEST(interval_grows_on_both_sides)
{
    static const double x[] = {80, 90, 100, 100, 100, 125};
    const double wider = stats_dependence_widens(6, 0.5);
    double lo, hi;
    assert_true(stats_dependent_ci95(x, 6, 0.5, &lo, &hi));
    assert_near(log(lo / 100), wider * log(0.8));
    assert_near(log(hi / 100), wider * log(1.25));
    assert_true(stats_dependent_ci95(x, 6, NAN, &lo, &hi));
    assert_true(lo == 80 && hi == 125);
    assert_false(stats_dependent_ci95(x, 5, 0.5, &lo, &hi));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evidence_is_of_ranks),
        cmocka_unit_test(equal_values_share_a_rank),
        cmocka_unit_test(estimate_is_within_bounds),
        cmocka_unit_test(the_larger_estimate_counts),
        cmocka_unit_test(width_follows_the_variance_of_a_mean),
        cmocka_unit_test(interval_grows_on_both_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
