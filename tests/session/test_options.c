/*
 * options: what the command line means, and what it is told where it means nothing.
 */
#include "testing.h"

#include <string.h>

#include "session/options.h"

TEST(takes_values_both_ways)
{
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
    assert_true(options_parse(&o, COUNT(argv), argv, MESSAGE(message)));
    assert_int_equal(o.command, COMMAND_RUN);
    assert_string_equal(o.suite, "quick");
    assert_true(o.seconds == 2.5);
    assert_true(o.setting.cold);
    assert_int_equal(o.launches, 7);
    assert_int_equal(o.problem_count, 2);
    assert_string_equal(o.problems[0], "s=8");
    assert_string_equal(o.problems[1], "s=9,d=4");
    assert_int_equal(o.setting.placement, PLACEMENT_NONE);
    assert_int_equal(o.setting.memory, MEMORY_BIND);
    assert_true(o.setting.huge_pages);
    assert_int_equal(o.seed, 12);
    assert_null(o.kernel);
}

/* Later arguments win, so that a resumed session can be given something else. */
TEST(the_last_one_wins)
{
    static const char *const argv[] = {"run", "--kernel", "naive", "--kernel", "flash"};
    struct options o;
    char message[256];
    options_init(&o);
    assert_true(options_parse(&o, COUNT(argv), argv, MESSAGE(message)));
    assert_string_equal(o.kernel, "flash");
}

TEST(refuses_with_a_reason)
{
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
        {{"run", "--placement", "here"}, "--placement takes cores, threads, numa or none: 'here'"},
        {{"run", "--memory", "far"}, "--memory takes first-touch, interleave or bind: 'far'"},
        {{"check", "--huge-pages"}, "check has no option '--huge-pages'; "},
        {{"run", "--suite", ""}, "--suite is empty: ''"},
        {{"check", "--seconds", "3"}, "check has no option '--seconds'; "},
        {{"list", "quik"}, "list has no option 'quik'; it has suite, plugin, json, matrix, help"},
        {{"eval", "-k", "naive"}, "eval has no option '-k'; "},
        {{"eval", "--threads", "0"}, "--threads takes a whole number from 1 to 4096: '0'"},
        {{"help", "flags", "states"}, "help takes one topic"},
        {{"help", "flags", "--all"}, "help flags has no option '--all'; it has man, help"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct options o;
        char message[256] = "";
        int argc = 0;
        while (argc < 4 && bad[i].argv[argc])
            argc++;
        options_init(&o);
        assert_false(options_parse(&o, argc, bad[i].argv, MESSAGE(message)));
        if (strncmp(message, bad[i].message, strlen(bad[i].message)) != 0)
            fail_msg("'%s' instead of '%s'", message, bad[i].message);
    }
}

/* ---- values of an experiment's own ----------------------------------------------------------- */

static const char *const words[] = {"one", "two", NULL};
static const struct option table[] = {
    {"n", "N", "5", "2", "a count", .kind = OPTION_COUNT, .lo = 1, .hi = 9},
    {"list", "LIST", "1..20*2", NULL, "counts", .kind = OPTION_COUNTS, .lo = 1, .hi = 64},
    {"x", "LIST", "0.5,1,2", NULL, "numbers", .kind = OPTION_NUMBERS, .lo = 0.25, .hi = 8},
    {"w", "LIST", "one,two", "two", "words", .kind = OPTION_WORDS, .words = words},
    {"v", "WORD", "two", "one", "a word", .kind = OPTION_WORD, .words = words},
    {"t", "TEXT", "", "any, 3", "a text", .kind = OPTION_TEXT},
    {0},
};

TEST(standard_values_are_parsed)
{
    json_t *got = options_value_standard(table, false),
           *quick = options_value_standard(table, true);
    json_t *expected = json_loads("{\"n\": 5, \"list\": [1, 2, 4, 8, 16], \"x\": [0.5, 1.0, 2.0],"
                                  " \"w\": [\"one\", \"two\"], \"v\": \"two\", \"t\": \"\"}",
                                  0, NULL);
    assert_true(json_equal(got, expected));
    json_object_set_new(expected, "n", json_integer(2));
    json_object_set_new(expected, "w", json_pack("[s]", "two"));
    json_object_set_new(expected, "v", json_string("one"));
    json_object_set_new(expected, "t", json_string("any, 3"));
    assert_true(json_equal(quick, expected));
    json_decref(got);
    json_decref(quick);
    json_decref(expected);
}

TEST(bad_values_are_refused_by_name)
{
    static const struct {
        size_t parameter;
        const char *text, *message;
    } bad[] = {
        {0, "10", "--n takes a whole number from 1 to 9: '10'"},
        {0, "2.5", "--n takes a whole number from 1 to 9: '2.5'"},
        {0, "", "--n takes a whole number from 1 to 9: ''"},
        {1, "4,2",
         "--list takes whole numbers, ascending, comma separated (A..B: each, A..B*2: doubling),"
         " from 1 to 64: '4,2'"},
        {1, "1..",
         "--list takes whole numbers, ascending, comma separated (A..B: each, A..B*2: doubling),"
         " from 1 to 64: '1..'"},
        {2, "1..2.5", "--x takes numbers, ascending, comma separated, from 0.25 to 8: '1..2.5'"},
        {3, "one,one", "--w takes a comma list, each once, of one, two: 'one,one'"},
        {4, "one,two", "--v takes one or two: 'one,two'"},
        {5, "\xff", "--t takes a text of UTF-8, shorter than 512 bytes: '\xff'"},
        {3, "three", "--w takes a comma list, each once, of one, two: 'three'"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        char message[256] = "";
        assert_null(options_value_parse(&table[bad[i].parameter], bad[i].text, MESSAGE(message)));
        assert_string_equal(message, bad[i].message);
    }
}

/* Common options go into fields, the experiment's own by their names into an object. */
TEST(an_experiments_own_are_beside_common_ones)
{
    static const char *const argv[] = {
        "experiment", "mine", "--list=2..4,8..32*4", "--if-busy", "go-on", "--t", "", "--quick"};
    static const char *const bad[] = {"experiment", "mine", "--lst=2"};
    struct options o;
    char message[256] = "";
    options_init(&o);
    o.own = table;
    assert_true(options_parse(&o, COUNT(argv), argv, MESSAGE(message)));
    assert_string_equal(o.subject, "mine");
    assert_int_equal(o.seed, 1);
    assert_int_equal(o.if_busy, IF_BUSY_GO_ON);
    assert_true(o.quick && !o.force);
    json_t *expected = json_pack("{s:[i, i, i, i, i], s:s}", "list", 2, 3, 4, 8, 32, "t", "");
    assert_true(json_equal(o.values, expected));
    json_decref(expected);
    assert_false(options_parse(&o, COUNT(bad), bad, MESSAGE(message)));
    assert_string_equal(message, "experiment mine has no option '--lst'; did you mean --list?");
    options_free(&o);
}

/* Also where a double would round it. */
TEST(a_seed_is_exact)
{
    static const char *const argv[] = {"run", "--seed", "18014398509481985"};
    struct options o;
    char message[256] = "";
    options_init(&o);
    assert_true(options_parse(&o, COUNT(argv), argv, MESSAGE(message)));
    assert_true(o.seed == UINT64_C(18014398509481985));
}

/* As lengths of a problem have them. */
TEST(counts_may_have_a_unit)
{
    static const struct option counts[] = {
        {"n", "N", "1", .kind = OPTION_COUNT, .lo = 1, .hi = 1 << 21},
        {"list", "LIST", "1", .kind = OPTION_COUNTS, .lo = 1, .hi = 1 << 21},
        {0},
    };
    static const struct {
        size_t option;
        const char *text, *value; /* as JSON; NULL: refused */
    } texts[] = {
        {0, "16k", "16384"}, {0, "2M", "2097152"},
        {0, "1.5k", "1536"}, {1, "1.5k,2k..8k*2,2M", "[1536, 2048, 4096, 8192, 2097152]"},
        {0, "1.3k", NULL},   {0, "3M", NULL},
        {0, "1e3", NULL},    {0, "16K", NULL},
        {1, "2k,1k", NULL},
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        char message[256];
        json_t *got =
            options_value_parse(&counts[texts[i].option], texts[i].text, MESSAGE(message));
        json_t *expected =
            texts[i].value ? json_loads(texts[i].value, JSON_DECODE_ANY, NULL) : NULL;
        if (texts[i].value ? !json_equal(got, expected) : got != NULL)
            fail_msg("%s", texts[i].text);
        json_decref(got);
        json_decref(expected);
    }
    static const char *const argv[] = {"run", "--launches", "1.5k"};
    struct options o;
    char message[256];
    options_init(&o);
    assert_true(options_parse(&o, COUNT(argv), argv, MESSAGE(message)));
    assert_int_equal(o.launches, 1536);
}

TEST(knows_its_commands)
{
    enum command command;
    for (int i = 0; i < COMMAND_COUNT; i++) {
        assert_true(options_command(options_commands[i].name, &command));
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
        cmocka_unit_test(standard_values_are_parsed),
        cmocka_unit_test(bad_values_are_refused_by_name),
        cmocka_unit_test(an_experiments_own_are_beside_common_ones),
        cmocka_unit_test(a_seed_is_exact),
        cmocka_unit_test(counts_may_have_a_unit),
        cmocka_unit_test(knows_its_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
