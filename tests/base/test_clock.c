/* clock: monotonic and fine, UTC text has its form. */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

TEST(never_goes_back)
{
    double last = clock_now();
    for (int i = 0; i < 100000; i++) {
        const double now = clock_now();
        assert_true(now >= last);
        last = now;
    }
}

/* A double holds nanoseconds exactly up to 2^53 ns = 104 days of uptime; beyond that the step is
 * still far below a microsecond. */
TEST(quality_is_positive_and_fine)
{
    const double step = clock_resolution();
    assert_true(step > 0 && step < 1e-3);
}

TEST(utc_has_its_form)
{
    char text[32];
    clock_utc(text);
    int year, month, day, hour, minute, second, read = 0;
    assert_int_equal(6, sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &year, &month, &day, &hour,
                               &minute, &second, &read));
    assert_int_equal(strlen(text), read);
    assert_int_equal(20, read);
    assert_in_range(year, 2024, 2200);
    assert_in_range(month, 1, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_goes_back),
        cmocka_unit_test(quality_is_positive_and_fine),
        cmocka_unit_test(utc_has_its_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
