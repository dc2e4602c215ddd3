/*
 * options: what the command line means, and what it is told where it means nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "session/options.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void takes_values_both_ways(void **state)
{
    (void)state;
    static const char *const argv[] = {"run",         "--suite",
                                       "quick",       "--seconds=2.5",
                                       "--cold",      "--launches",
                                       "7",           "--problem",
                                       "s=8",         "--problem=s=9,d=4",
                                       "--placement", "none",
                                       "--seed",      "12",
                                       "--memory",    "bind",
                                       "--huge-pages"};
    struct options o;
    char message[256] = "";
    options_init(&o);
    assert_true(options_parse(&o, COUNT(argv), argv, message, sizeof message));
    assert_int_equal(o.command, COMMAND_RUN);
    assert_string_equal(o.suite, "quick");
    assert_true(o.seconds == 2.5);
    assert_true(o.cold);
    assert_int_equal(o.launches, 7);
    assert_int_equal(o.problem_count, 2);
    assert_string_equal(o.problems[0], "s=8");
    assert_string_equal(o.problems[1], "s=9,d=4");
    assert_int_equal(o.placement, PLACEMENT_NONE);
    assert_int_equal(o.memory, MEMORY_BIND);
    assert_true(o.huge_pages);
    assert_true(o.seeded);
    assert_int_equal(o.seed, 12);
    assert_null(o.kernel);
}

/* Later arguments win, so that a resumed session can be given something else. */
static void the_last_one_wins(void **state)
{
    (void)state;
    static const char *const argv[] = {"run", "--kernel", "naive", "--kernel", "flash"};
    struct options o;
    char message[256];
    options_init(&o);
    assert_true(options_parse(&o, COUNT(argv), argv, message, sizeof message));
    assert_string_equal(o.kernel, "flash");
}

static void refuses_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *argv[4];
        const char *message;
    } bad[] = {
        {{"run", "--sute", "quick"}, "run has no option '--sute'; did you mean --suite?"},
        {{"run", "s=16"}, "run takes options only; did you mean --problem s=16?"},
        {{"check", "h=8,s=16"}, "check takes options only; did you mean --problem h=8,s=16?"},
        {{"eval", "mask=causal"}, "eval takes options only; did you mean --problem mask=causal?"},
        {{"run", "quick"}, "run takes options only; did you mean --suite quick?"},
        {{"run", "my.suite"}, "run takes options only; did you mean --suite my.suite?"},
        {{"run", "flash/avx2"}, "run takes options only; did you mean --kernel flash/avx2?"},
        {{"eval", "quick"}, "eval has no option 'quick'; "},
        {{"run", "what=16"}, "run has no option 'what'; "},
        {{"run", "--output"}, "--output takes FILE"},
        {{"run", "--cold=1"}, "--cold takes no value"},
        {{"run", "--seconds", "soon"}, "--seconds takes a positive number of seconds: 'soon'"},
        {{"run", "--seconds", "-1"}, "--seconds takes a positive number of seconds: '-1'"},
        {{"run", "--seconds", "nan"}, "--seconds takes a positive number of seconds: 'nan'"},
        {{"run", "--launches", "1.5"}, "--launches takes a whole number from 1 to 10000: '1.5'"},
        {{"run", "--launches", "0"}, "--launches takes a whole number from 1 to 10000: '0'"},
        {{"run", "--seed", "-3"}, "--seed takes a whole number: '-3'"},
        {{"run", "--seed", "99999999999999999999"},
         "--seed takes a whole number: '99999999999999999999'"},
        {{"run", "--placement", "here"}, "--placement is cores, threads, numa or none: 'here'"},
        {{"run", "--memory", "far"}, "--memory is first-touch, interleave or bind: 'far'"},
        {{"check", "--huge-pages"}, "check has no option '--huge-pages'; "},
        {{"run", "--suite", ""}, "--suite is empty: ''"},
        {{"check", "--seconds", "3"}, "check has no option '--seconds'; "},
        {{"list", "quick"}, "list has no option 'quick'; it has plugin, json, matrix, help"},
        {{"eval", "-k", "naive"}, "eval has no option '-k'; "},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct options o;
        char message[256] = "";
        int argc = 0;
        while (argc < 4 && bad[i].argv[argc])
            argc++;
        options_init(&o);
        assert_false(options_parse(&o, argc, bad[i].argv, message, sizeof message));
        if (strncmp(message, bad[i].message, strlen(bad[i].message)) != 0)
            fail_msg("'%s' instead of '%s'", message, bad[i].message);
    }
}

static void knows_its_commands(void **state)
{
    (void)state;
    enum command command;
    for (int i = 0; i < COMMAND_COUNT; i++) {
        assert_true(options_command(options_command_name((enum command)i), &command));
        assert_int_equal(command, i);
    }
    assert_false(options_command("worker", &command));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_values_both_ways),
        cmocka_unit_test(the_last_one_wins),
        cmocka_unit_test(refuses_with_a_reason),
        cmocka_unit_test(knows_its_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
