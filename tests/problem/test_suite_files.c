/*
 * Suite files: what a line means, what is refused and where, and how files and suites are listed.
 */
#include "testing.h"

#include <string.h>
#include <sys/stat.h>

#include "loaded_cases.h"

/* Loads a file `suite` of these bytes. */
static bool load(struct case_list *list, const char *bytes, size_t size)
{
    write_file("suite", bytes, size);
    message[0] = 0;
    const bool ok = cases_load(list, "suite", MESSAGE(message));
    remove("suite");
    return ok;
}

TEST(a_file_has_a_case_a_line)
{
    static const char text[] = "# comment: s=1\n"
                               "\n"
                               " \t \n"
                               "one: s=16,d=8\n"
                               "  two:h=2,d=8   # behind it\n"
                               "three :\td=8\tinput=needle:0\r\n"
                               "\r\n"
                               "a.B-9_: d=8 input=file:with blank#:layer0. # and this\n"
                               "last: d=4 input=negative";
    struct case_list list = {0};
    if (!load(&list, text, sizeof text - 1))
        fail_msg("%s", message);
    assert_int_equal(list.count, 5);
    assert_string_equal(list.items[0].name, "one");
    assert_problem(&list.items[0], "b=1,hq=1,hkv=1,sq=16,skv=16,d=8");
    assert_input(&list.items[0], "normal:1");
    assert_string_equal(list.items[1].name, "two");
    assert_problem(&list.items[1], "b=1,hq=2,hkv=2,sq=1,skv=1,d=8");
    assert_string_equal(list.items[2].name, "three");
    assert_input(&list.items[2], "needle:0");
    assert_string_equal(list.items[3].name, "a.B-9_");
    assert_input(&list.items[3], "file:with blank#:layer0.");
    assert_string_equal(list.items[4].name, "last");
    assert_input(&list.items[4], "negative");
    cases_free(&list);
    assert_null(list.items);
    assert_int_equal(list.count, 0);
}

TEST(names_of_a_sweep_end_with_its_values)
{
    static const char text[] = "a: h=2,s=16..32*2,d=8|16 input=uniform\n"
                               "b: s=4,mask=none|causal+bool\n"
                               "c: window=4:0|-1,s=8\n";
    static const struct {
        const char *name, *problem;
    } expected[] = {
        {"a-s16-d8", "b=1,hq=2,hkv=2,sq=16,skv=16,d=8"},
        {"a-s16-d16", "b=1,hq=2,hkv=2,sq=16,skv=16,d=16"},
        {"a-s32-d8", "b=1,hq=2,hkv=2,sq=32,skv=32,d=8"},
        {"a-s32-d16", "b=1,hq=2,hkv=2,sq=32,skv=32,d=16"},
        {"b-none", "b=1,hq=1,hkv=1,sq=4,skv=4,d=64"},
        {"b-causal_bool", "b=1,hq=1,hkv=1,sq=4,skv=4,d=64,mask=causal+bool"},
        {"c-window4_0", "b=1,hq=1,hkv=1,sq=8,skv=8,d=64,window=4:0"},
        {"c-window-1", "b=1,hq=1,hkv=1,sq=8,skv=8,d=64"},
    };
    struct case_list list = {0};
    if (!load(&list, text, sizeof text - 1))
        fail_msg("%s", message);
    assert_int_equal(list.count, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++) {
        assert_string_equal(list.items[i].name, expected[i].name);
        assert_problem(&list.items[i], expected[i].problem);
    }
    assert_input(&list.items[3], "uniform:1");
    cases_free(&list);
}

#define LONG_NAME "a123456789012345678901234567890123456789012345678901234567890123"

static const struct {
    const char *bytes;
    size_t size; /* 0: up to the first NUL */
    const char *message;
} refusals[] = {
    {"", 0, "suite: no cases"},
    {"# nothing\n\n", 0, "suite: no cases"},
    {"a: d=8\nb d=8\n", 0, "suite:2:1: no colon; expected name: problem"},
    {"a: d=8\n\n  a: d=9\n", 0, "suite:3:3: there is a case 'a' above"},
    {"a: d=8\na: d=8\n", 0, "suite:2:1: there is a case 'a' above"},
    {" : d=8\n", 0, "suite:1:2: '' has no name; expected name: problem"},
    {"a b: d=8\n", 0, "suite:1:1: 'a b' is not a name: letters, digits and . _ - only"},
    {"\xc3\xa4: d=8\n", 0, "suite:1:1: '\\xc3\\xa4' is not a name: letters, digits and . _ - only"},
    {LONG_NAME ": d=8\n", 0,
     "suite:1:1: 'a12345678901234567890123456789012345678901234567890123...' is too long for a "
     "name (63 bytes)"},
    {"# x\n a:  h=8,hkw=2\r\n", 0, "suite:2:10: unknown key 'hkw'; did you mean 'hkv'?"},
    {"a:\n", 0, "suite:1:3: the problem is empty; expected key=value,..."},
    {"a: d=8 input=normla\n", 0, "suite:1:14: unknown input 'normla'; did you mean 'normal'?"},
    {"a: d=8 normal:3\n", 0,
     "suite:1:8: 'normal:3' follows the problem; expected input=... or nothing"},
    {"a: d=8 seed=3\n", 0,
     "suite:1:8: 'seed=3' follows the problem; expected input=... or nothing"},
    {"a: d=8 b=2\n", 0, "suite:1:8: 'b=2' follows the problem; expected input=... or nothing"},
    {"a: s=8,d=8 input=needle:8\n", 0, "suite:1:18: 'needle:8' is past the last key"},
    {"a: d=8\nb:  s=4,d=8..4\n", 0, "suite:2:11: d='8..4' runs from more to less"},
    {"a: d=8\nb: s=4..9*2,d=8|x\n", 0, "suite:2:15: d='x' is not a whole number; expected N >= 1"},
    {"a: d=8|8\n", 0, "suite:1:1: there is a case 'a-d8' above"},
    {"a-d8: d=8\na: d=4..8*2\n", 0, "suite:2:1: there is a case 'a-d8' above"},
    {"a: d=1..1000\n", 0, "suite:1:6: d='1..1000' makes more than 512 cases of one problem"},
    {"a123456789012345678901234567890123456789012345678901234567890: d=8|16\n", 0,
     "suite:1:1: 'a12345678901234567890123456789012345678901234567890123...' is too long for a "
     "name (63 bytes)"},
    {"a: d=8\nb: d=\0 8\n", 16, "suite:2:6: a NUL byte; this is no text"},
};

TEST(faults_are_refused_with_line_and_column)
{
    for (size_t i = 0; i < COUNT(refusals); i++) {
        struct case_list list = {0};
        const char *bytes = refusals[i].bytes;
        if (load(&list, bytes, refusals[i].size ? refusals[i].size : strlen(bytes)))
            fail_msg("accepted: %s", bytes);
        assert_string_equal(message, refusals[i].message);
        cases_free(&list);
    }
}

TEST(huge_lines_and_files_are_refused)
{
    const size_t size = (1 << 20) + 1;
    char *bytes = malloc(size);
    struct case_list list = {0};
    assert_non_null(bytes);
    memset(bytes, 'x', size);
    memcpy(bytes, "a: d=8", 6);
    assert_false(load(&list, bytes, size));
    assert_string_equal(message, "suite: more than 1048576 bytes; this is no suite");
    assert_false(load(&list, bytes, size - 1));
    assert_non_null(strstr(message, "suite:1:4: 'd=8xxxx"));
    assert_non_null(strstr(message, "...' is too long for a problem"));
    memcpy(bytes, "a: d=8 input=file:", 18);
    assert_false(load(&list, bytes, size - 1));
    assert_non_null(strstr(message, "suite:1:14: 'file:xxxx"));
    assert_non_null(strstr(message, "...' is too long for an input"));
    assert_int_equal(list.count, 0);
    free(bytes);
}

TEST(too_many_cases_are_refused)
{
    enum { LINES = 4097, LINE = 12 };
    char *bytes = malloc(LINES * LINE + 32);
    struct case_list list = {0};
    assert_non_null(bytes);
    for (int i = 0; i < LINES; i++)
        snprintf(bytes + i * LINE, 32, "c%05d: d=8\n", i);
    assert_true(load(&list, bytes, (LINES - 1) * LINE));
    assert_int_equal(list.count, 4096);
    assert_string_equal(list.items[4095].name, "c04095");
    cases_free(&list);
    assert_false(load(&list, bytes, LINES * LINE));
    assert_string_equal(message, "suite:4097:1: c04096: too many cases");
    assert_false(cases_add_problem(&list, "d=9", MESSAGE(message)));
    assert_string_equal(message, "problem 'd=9': too many cases");
    cases_free(&list);
    free(bytes);
}

TEST(unreadable_paths_are_refused)
{
    struct case_list list = {0};
    mkdir("folder", 0777);
    assert_false(cases_load(&list, "folder", MESSAGE(message)));
    assert_string_equal(message, "folder: Is a directory");
    remove("folder");

    assert_false(cases_load(&list, "folder/absent.suite", MESSAGE(message)));
    assert_string_equal(message, "no suite or file 'folder/absent.suite'; suites are quick, "
                                 "default, prefill, gqa, decode, short, tiny, layer, rivals, "
                                 "masks, serving, conformance, invariance, all");
    assert_false(cases_load(&list, "prefil", MESSAGE(message)));
    assert_string_equal(message, "no suite or file 'prefil'; did you mean 'prefill'?");
    assert_false(cases_load(&list, "quick,,tiny", MESSAGE(message)));
    assert_string_equal(message, "the list of suites 'quick,,tiny' has an empty item");
    cases_free(&list);
    assert_false(cases_load(&list, "", MESSAGE(message)));
    assert_string_equal(message, "the list of suites '' has an empty item");
    assert_int_equal(list.count, 0);

    if (geteuid() == 0) /* may read everything */
        return;
    write_file("secret", "a: d=8\n", 7);
    chmod("secret", 0);
    assert_false(cases_load(&list, "secret", MESSAGE(message)));
    assert_string_equal(message, "secret: Permission denied");
    remove("secret");
}

/* ---- lists of suites ----------------------------------------------------------------------- */

TEST(suites_and_files_can_be_listed_together)
{
    struct case_list list = {0}, tiny = {0};
    assert_true(cases_load(&tiny, "tiny", MESSAGE(message)));
    write_file("mine.suite", "mine: d=8\n", 10);
    assert_true(cases_load(&list, "tiny,mine.suite", MESSAGE(message)));
    assert_int_equal(list.count, tiny.count + 1);
    assert_string_equal(list.items[tiny.count].name, "mine");
    assert_true(cases_load(&list, "mine.suite", MESSAGE(message)));
    assert_int_equal(list.count, tiny.count + 1);
    remove("mine.suite");
    cases_free(&list);
    cases_free(&tiny);
}

TEST(a_name_stands_for_one_case)
{
    struct case_list list = {0};
    write_file("mine.suite", "# \ntiny-f32-s64-d64: d=8\n", 25);
    assert_false(cases_load(&list, "tiny,mine.suite", MESSAGE(message)));
    assert_string_equal(
        message, "mine.suite:2:1: tiny-f32-s64-d64: the name is used by another case already");
    remove("mine.suite");
    cases_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_has_a_case_a_line),
        cmocka_unit_test(names_of_a_sweep_end_with_its_values),
        cmocka_unit_test(faults_are_refused_with_line_and_column),
        cmocka_unit_test(huge_lines_and_files_are_refused),
        cmocka_unit_test(too_many_cases_are_refused),
        cmocka_unit_test(unreadable_paths_are_refused),
        cmocka_unit_test(suites_and_files_can_be_listed_together),
        cmocka_unit_test(a_name_stands_for_one_case),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
