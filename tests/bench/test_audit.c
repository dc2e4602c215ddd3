/*
 * audit: the clock of a program against ours, with made-up sums.
 */
#include "testing.h"

#include <string.h>

#include "bench/audit.h"

TEST(sums_are_accounted_for)
{
    static const struct {
        struct audit sums;
        bool holds;
        const char *why;
    } table[] = {
        {{.program_s = 0.96, .wall_s = 1}, true, ""},
        {{.program_s = 1, .wall_s = 1}, true, ""},
        {{.program_s = 1.001, .wall_s = 1}, false, "says 1 s for calls around which 1 s"},
        {{.program_s = 2, .wall_s = 1}, false, "says 2 s for calls around which 1 s"},
        {{.program_s = 0.8, .wall_s = 1}, true, ""},
        {{.program_s = 0.79, .wall_s = 1}, false, "says 0.79 s for calls that took 1 s"},
        {{.program_s = 0.5, .wall_s = 1}, false, "says 0.5 s for calls that took 1 s"},
        {{.program_s = 1e-9, .wall_s = 0.3}, false, "says 1e-09 s for calls that took 0.3 s"},
        /* half of our clock is round trips */
        {{.program_s = 0.5, .wall_s = 1, .trips_s = 0.45}, true, ""},
        {{.program_s = 0.25, .wall_s = 1, .trips_s = 0.45}, false, "that took 0.55 s"},
        /* copying results is granted three times over */
        {{.program_s = 0.6, .wall_s = 1, .copy_s = 0.1}, true, ""},
        {{.program_s = 0.5, .wall_s = 1, .copy_s = 0.1}, false, "that took 0.7 s"},
        /* one interruption in a short launch */
        {{.program_s = 0.011, .wall_s = 0.019}, true, ""},
        {{.program_s = 0.005, .wall_s = 0.019}, false, "that took 0.019 s"},
    };
    for (size_t n = 0; n < sizeof table / sizeof *table; n++) {
        char why[256] = "";
        if (audit_holds(&table[n].sums, MESSAGE(why)) != table[n].holds)
            fail_msg("sums %zu: %s", n, why);
        if (!strstr(why, table[n].why))
            fail_msg("sums %zu: \"%s\" lacks \"%s\"", n, why, table[n].why);
    }
}

TEST(single_calls_bound_many)
{
    static const struct {
        double per_call_s, single_s;
        bool agrees;
    } table[] = {
        {10e-3, 10e-3, true}, {10e-3, 25e-3, true}, {10e-3, 27e-3, false}, {1e-3, 10e-3, false},
        {5e-6, 100e-6, true}, {5e-6, 1e-3, true},   {5e-6, 1.1e-3, false}, {20e-3, 1e-3, true},
    };
    for (size_t n = 0; n < sizeof table / sizeof *table; n++) {
        char why[256] = "";
        assert_int_equal(audit_agrees(table[n].per_call_s, table[n].single_s, MESSAGE(why)),
                         table[n].agrees);
        assert_int_equal(*why == 0, table[n].agrees);
    }
}

TEST(more_calls_take_longer)
{
    static const struct {
        double few_s, many_s;
        bool grows;
    } table[] = {
        {10e-3, 40e-3, true},
        {10e-3, 20e-3, true},
        {10e-3, 19e-3, false},
        {10e-3, 10e-3, false},
    };
    for (size_t n = 0; n < sizeof table / sizeof *table; n++) {
        char why[256] = "";
        assert_int_equal(audit_grows(table[n].few_s, table[n].many_s, MESSAGE(why)),
                         table[n].grows);
        assert_int_equal(*why == 0, table[n].grows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_accounted_for),
        cmocka_unit_test(single_calls_bound_many),
        cmocka_unit_test(more_calls_take_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
