/*
 * stop: the stop rule on known launch medians.
 */
#include "testing.h"

#include <math.h>

#include "base/stop.h"

/* None can be there in the first, none is known of the second. */
static const struct stats_dependence independent = {-8, 40}, unknown = {-8, 39}, half = {20, 40};

/* Six values: the interval is [min, max]. */
TEST(half_width_is_of_the_interval)
{
    static const double x[] = {1.02, 1.00, 0.98, 1.01, 0.99, 1.00};
    assert_true(fabs(stop_half_width(x, 6, 0) - 0.02) < 1e-12);
    assert_true(isnan(stop_half_width(x, 5, 0)));
    assert_true(isnan(stop_half_width(x, 0, 0)));
}

TEST(stops_at_one_percent)
{
    static const double narrow[] = {1.0, 1.009, 0.991, 1.0, 1.0, 1.0};
    static const double wide[] = {1.0, 1.012, 0.988, 1.0, 1.0, 1.0};
    assert_int_equal(stop_decide(narrow, 6, 24, &independent), STOP_CI);
    assert_int_equal(stop_decide(narrow, 5, 24, &independent), STOP_NOT);
    assert_int_equal(stop_decide(wide, 6, 24, &independent), STOP_NOT);
}

/* More often would end a cell whenever chance makes its interval short. */
TEST(looks_at_every_sixth_launch)
{
    static const double x[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    for (size_t n = 7; n < 12; n++)
        assert_int_equal(stop_decide(x, n, 24, &independent), STOP_NOT);
    assert_int_equal(stop_decide(x, 12, 24, &independent), STOP_CI);
}

/* Two modes 20 % apart: no number of launches narrows the interval. */
TEST(stops_at_a_plateau)
{
    double x[14];
    for (size_t i = 0; i < COUNT(x); i++)
        x[i] = i % 2 ? 1.2 : 1.0;
    assert_int_equal(stop_decide(x, 10, 24, &independent), STOP_NOT);
    assert_int_equal(stop_decide(x, 12, 24, &independent), STOP_PLATEAU);
}

/* An interval that still shrinks is no plateau. */
TEST(goes_on_while_it_gets_better)
{
    static const double x[] = {1.0, 1.3, 0.7, 1.25, 0.8, 1.1, 1.02, 0.98, 1.03, 0.97, 1.01, 0.99};
    assert_int_equal(stop_decide(x, COUNT(x), 24, &independent), STOP_NOT);
}

TEST(stops_at_the_cap)
{
    static const double x[] = {1.0, 1.3, 0.7, 1.25, 0.8, 1.1};
    assert_int_equal(stop_decide(x, 3, 3, &independent), STOP_CAP);
    assert_int_equal(stop_decide(x, 6, 6, &independent), STOP_CAP);
    assert_int_equal(stop_decide(x, 6, 7, &independent), STOP_NOT);
    assert_string_equal(stop_name(STOP_CAP), "cap");
}

/* As long as nobody knows how much neighbours resemble each other, a short interval may be luck. */
TEST(goes_on_while_dependence_is_unknown)
{
    static const double x[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    assert_int_equal(stop_decide(x, 6, 24, &unknown), STOP_NOT);
    assert_int_equal(stop_decide(x, 12, 24, &unknown), STOP_NOT);
    assert_int_equal(stop_decide(x, 12, 12, &unknown), STOP_CAP);
}

/* Ranks 2 and 9 of twelve: 1 +- 0.9 %. */
TEST(half_width_grows_with_dependence)
{
    static const double x[] = {0.88, 0.92, 0.991, 1, 1, 1, 1, 1, 1, 1.009, 1.08, 1.12};
    assert_true(fabs(stop_half_width(x, 12, 0) - 0.009) < 1e-12);
    const double wider = stats_dependence_widens(12, 0.6);
    const double expected = (pow(1.009, wider) - pow(0.991, wider)) / 2;
    assert_true(fabs(stop_half_width(x, 12, 0.6) - expected) < 1e-12);
    assert_int_equal(stop_decide(x, 12, 24, &independent), STOP_CI);
    assert_int_equal(stop_decide(x, 12, 24, &half), STOP_NOT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_width_is_of_the_interval),
        cmocka_unit_test(stops_at_one_percent),
        cmocka_unit_test(looks_at_every_sixth_launch),
        cmocka_unit_test(stops_at_a_plateau),
        cmocka_unit_test(goes_on_while_it_gets_better),
        cmocka_unit_test(stops_at_the_cap),
        cmocka_unit_test(goes_on_while_dependence_is_unknown),
        cmocka_unit_test(half_width_grows_with_dependence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
