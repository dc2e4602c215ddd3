/*
 * Suites: what a line means, what is refused and where, and that the built-in suites are sound.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static char directory[] = "test_cases.XXXXXX";
static char message[512];

static int enter_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int leave_directory(void **state)
{
    (void)state;
    return chdir("..") == 0 && rmdir(directory) == 0 ? 0 : -1;
}

static void write_file(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Loads a file `suite` of these bytes. */
static bool load(struct case_list *list, const char *bytes, size_t size)
{
    write_file("suite", bytes, size);
    message[0] = 0;
    const bool ok = cases_load(list, "suite", message, sizeof message);
    remove("suite");
    return ok;
}

static void assert_problem(const struct problem_case *c, const char *expected)
{
    char text[PARSE_TEXT];
    parse_print_problem(&c->problem, text);
    assert_string_equal(text, expected);
}

static void assert_input(const struct problem_case *c, const char *expected)
{
    char text[PARSE_TEXT];
    parse_print_input(&c->input, text);
    assert_string_equal(text, expected);
}

/* ---- files --------------------------------------------------------------------------------- */

static void a_file_has_a_case_a_line(void **state)
{
    (void)state;
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
    {"a:\n", 0, "suite:1:3: there is no problem; expected key=value,..."},
    {"a: d=8 input=normla\n", 0, "suite:1:14: unknown input 'normla'; did you mean 'normal'?"},
    {"a: d=8 normal:3\n", 0,
     "suite:1:8: 'normal:3' follows the problem; expected input=... or nothing"},
    {"a: d=8 seed=3\n", 0,
     "suite:1:8: 'seed=3' follows the problem; expected input=... or nothing"},
    {"a: d=8 b=2\n", 0, "suite:1:8: 'b=2' follows the problem; expected input=... or nothing"},
    {"a: s=8,d=8 input=needle:8\n", 0, "suite:1:18: 'needle:8' lies behind the last key"},
    {"a: d=8\nb: d=\0 8\n", 16, "suite:2:6: a NUL byte; this is no text"},
};

static void faults_are_refused_with_line_and_column(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        struct case_list list = {0};
        const char *bytes = refusals[i].bytes;
        if (load(&list, bytes, refusals[i].size ? refusals[i].size : strlen(bytes)))
            fail_msg("accepted: %s", bytes);
        assert_string_equal(message, refusals[i].message);
        cases_free(&list);
    }
}

static void huge_lines_and_files_are_refused(void **state)
{
    (void)state;
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

static void too_many_cases_are_refused(void **state)
{
    (void)state;
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
    assert_false(cases_add_problem(&list, "d=9", message, sizeof message));
    assert_string_equal(message, "problem 'd=9': too many cases");
    cases_free(&list);
    free(bytes);
}

static void unreadable_paths_are_refused(void **state)
{
    (void)state;
    struct case_list list = {0};
    mkdir("folder", 0777);
    assert_false(cases_load(&list, "folder", message, sizeof message));
    assert_string_equal(message, "folder: Is a directory");
    remove("folder");

    assert_false(cases_load(&list, "folder/absent.suite", message, sizeof message));
    assert_string_equal(message, "no suite or file 'folder/absent.suite'; suites are quick, "
                                 "default, prefill, gqa, decode, short, tiny, layer, all");
    assert_false(cases_load(&list, "prefil", message, sizeof message));
    assert_string_equal(message, "no suite or file 'prefil'; did you mean 'prefill'?");
    assert_false(cases_load(&list, "quick,,tiny", message, sizeof message));
    assert_string_equal(message, "the list of suites 'quick,,tiny' has an empty item");
    cases_free(&list);
    assert_false(cases_load(&list, "", message, sizeof message));
    assert_string_equal(message, "the list of suites '' has an empty item");
    assert_int_equal(list.count, 0);

    if (geteuid() == 0) /* may read everything */
        return;
    write_file("secret", "a: d=8\n", 7);
    chmod("secret", 0);
    assert_false(cases_load(&list, "secret", message, sizeof message));
    assert_string_equal(message, "secret: Permission denied");
    remove("secret");
}

/* ---- lists of suites ----------------------------------------------------------------------- */

static void suites_and_files_can_be_listed_together(void **state)
{
    (void)state;
    struct case_list list = {0}, tiny = {0};
    assert_true(cases_load(&tiny, "tiny", message, sizeof message));
    write_file("mine.suite", "mine: d=8\n", 10);
    assert_true(cases_load(&list, "tiny,mine.suite", message, sizeof message));
    assert_int_equal(list.count, tiny.count + 1);
    assert_string_equal(list.items[tiny.count].name, "mine");
    assert_true(cases_load(&list, "mine.suite", message, sizeof message));
    assert_int_equal(list.count, tiny.count + 1);
    remove("mine.suite");
    cases_free(&list);
    cases_free(&tiny);
}

static void a_name_stands_for_one_case(void **state)
{
    (void)state;
    struct case_list list = {0};
    write_file("mine.suite", "# \ntiny-f32-s64-d64: d=8\n", 25);
    assert_false(cases_load(&list, "tiny,mine.suite", message, sizeof message));
    assert_string_equal(
        message, "mine.suite:2:1: tiny-f32-s64-d64: the name stands for another case already");
    remove("mine.suite");
    cases_free(&list);
}

static void all_is_every_builtin_suite_each_case_once(void **state)
{
    (void)state;
    struct case_list all = {0}, each = {0};
    assert_true(cases_load(&all, "all", message, sizeof message));
    for (const struct suite *s = cases_builtin; s->name; s++)
        assert_true(cases_load(&each, s->name, message, sizeof message));
    assert_int_equal(all.count, each.count);
    for (size_t i = 0; i < all.count; i++) {
        assert_string_equal(all.items[i].name, each.items[i].name);
        assert_int_equal(cases_find(&all, all.items[i].name), i);
    }
    cases_free(&all);
    cases_free(&each);
}

/* Name, problem and input of some built-in cases, by hand. */
static const struct {
    const char *suite, *name, *problem, *input;
} builtin[] = {
    {"quick", "prefill-f32-s256-d64", "b=1,hq=8,hkv=8,sq=256,skv=256,d=64", "normal:1"},
    {"default", "decode-f32-s4096-g4-d128", "b=1,hq=32,hkv=8,sq=1,skv=4096,d=128", "normal:1"},
    {"default", "real-minilm-layer0", "b=1,hq=4,hkv=4,sq=256,skv=256,d=32",
     "file:minilm-gettysburg.safetensors:layer0."},
    {"prefill", "prefill-f32-s1024-d64-causal", "b=1,hq=8,hkv=8,sq=1024,skv=1024,d=64,mask=causal",
     "normal:1"},
    {"prefill", "prefill-bf16-s32768-d128", "b=1,hq=1,hkv=1,sq=32768,skv=32768,d=128,dtype=bf16",
     "normal:1"},
    {"gqa", "gqa-f32-h32x8-s1024-d128-causal", "b=1,hq=32,hkv=8,sq=1024,skv=1024,d=128,mask=causal",
     "normal:1"},
    {"decode", "decode-bf16-s65536-g8-d64", "b=1,hq=64,hkv=8,sq=1,skv=65536,d=64,dtype=bf16",
     "normal:1"},
    {"decode", "decode-f32-s1024-g1-d128", "b=1,hq=8,hkv=8,sq=1,skv=1024,d=128", "normal:1"},
    {"short", "short-f32-b32-h12-s128-d64", "b=32,hq=12,hkv=12,sq=128,skv=128,d=64", "normal:1"},
    {"tiny", "tiny-f32-s1-d64", "b=1,hq=1,hkv=1,sq=1,skv=1,d=64", "normal:1"},
    {"layer", "layer-f32-m1024-s256", "b=1,hq=16,hkv=16,sq=256,skv=256,d=64", "normal:1"},
};

static void builtin_cases_are_what_their_names_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(builtin); i++) {
        struct case_list list = {0};
        assert_true(cases_load(&list, builtin[i].suite, message, sizeof message));
        const size_t at = cases_find(&list, builtin[i].name);
        if (at == list.count)
            fail_msg("%s has no case %s", builtin[i].suite, builtin[i].name);
        assert_problem(&list.items[at], builtin[i].problem);
        assert_input(&list.items[at], builtin[i].input);
        cases_free(&list);
    }
}

static void builtin_suites_come_in_f32_and_bf16(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t count;
    } sizes[] = {{"prefill", 56}, {"gqa", 16}, {"decode", 48}, {"short", 16}, {"tiny", 28}};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct case_list list = {0};
        assert_true(cases_load(&list, sizes[i].name, message, sizeof message));
        assert_int_equal(list.count, sizes[i].count);
        for (size_t j = 0; j < list.count; j++)
            assert_int_equal(list.items[j].problem.dtype,
                             j < list.count / 2 ? ATTN_F32 : ATTN_BF16);
        cases_free(&list);
    }
}

static void builtin_files_are_found(void **state)
{
    (void)state;
    struct case_list list = {0};
    size_t files = 0;
    unsetenv("ATTNBENCH_DATA");
    assert_true(cases_load(&list, "all", message, sizeof message));
    for (size_t i = 0; i < list.count; i++) {
        char path[CASES_PATH];
        if (list.items[i].input.kind != INPUT_FILE)
            continue;
        files++;
        assert_true(cases_find_file(&list.items[i].input, path));
        assert_int_equal(access(path, R_OK), 0);
    }
    assert_int_equal(files, 2);
    cases_free(&list);
}

/* ---- the command line ---------------------------------------------------------------------- */

static void problems_are_named_after_their_text(void **state)
{
    (void)state;
    struct case_list list = {0};
    assert_true(cases_add_problem(&list, "s=64,d=8", message, sizeof message));
    assert_true(cases_add_problem(&list, " s=64,d=8  input=needle:63", message, sizeof message));
    assert_true(cases_add_problem(&list, "s=64,d=8", message, sizeof message));
    assert_true(cases_add_problem(&list, "d=8 input=file:a b\xc3\xa4~:", message, sizeof message));
    assert_true(cases_add_problem(
        &list, "b=1,hq=32,hkv=8,sq=1,skv=4096,d=128,dtype=bf16,mask=causal,window=1", message,
        sizeof message));
    assert_true(cases_add_problem(
        &list, "b=1,hq=32,hkv=8,sq=1,skv=4096,d=128,dtype=bf16,mask=causal,window=2", message,
        sizeof message));
    assert_int_equal(list.count, 5);
    assert_string_equal(list.items[0].name, "s=64,d=8");
    assert_string_equal(list.items[1].name, "s=64,d=8__input=needle:63");
    assert_input(&list.items[1], "needle:63");
    assert_string_equal(list.items[2].name, "d=8_input=file:a_b__~:");
    assert_memory_equal(list.items[3].name,
                        "b=1,hq=32,hkv=8,sq=1,skv=4096,d=128,dtype=bf16,mask=ca-", 55);
    assert_int_equal(strlen(list.items[3].name), 63);
    assert_string_not_equal(list.items[3].name, list.items[4].name);
    cases_free(&list);
}

static void bad_problems_are_refused(void **state)
{
    (void)state;
    struct case_list list = {0};
    assert_false(cases_add_problem(&list, "h=8,skw=4", message, sizeof message));
    assert_string_equal(message,
                        "problem 'h=8,skw=4', position 4: unknown key 'skw'; did you mean 'skv'?");
    assert_false(cases_add_problem(&list, "", message, sizeof message));
    assert_string_equal(message,
                        "problem '', position 0: there is no problem; expected key=value,...");
    assert_false(cases_add_problem(&list, "d=8 input=needle:1", message, sizeof message));
    assert_string_equal(message, "problem 'd=8 input=needle:1', position 10: 'needle:1' lies "
                                 "behind the last key");
    assert_int_equal(list.count, 0);
}

static void cases_are_selected_by_name_and_pattern(void **state)
{
    (void)state;
    struct case_list list = {0};
    assert_true(cases_load(&list, "tiny,short", message, sizeof message));
    assert_true(
        cases_select(&list, "short-f32-b32-h12-s64-d64,tiny-f32-*-d64", message, sizeof message));
    assert_int_equal(list.count, 8);
    assert_string_equal(list.items[0].name, "tiny-f32-s1-d64");
    assert_string_equal(list.items[7].name, "short-f32-b32-h12-s64-d64");
    assert_false(cases_select(&list, "tiny-f32-s64-d65", message, sizeof message));
    assert_string_equal(message, "no case 'tiny-f32-s64-d65'; did you mean 'tiny-f32-s64-d64'?");
    assert_false(cases_select(&list, "*prefill*", message, sizeof message));
    assert_string_equal(message, "no case '*prefill*' among the 8 of the suites");
    assert_int_equal(list.count, 8);
    cases_free(&list);
}

/* ---- files of inputs ----------------------------------------------------------------------- */

static void files_are_found_as_written_then_beside_the_suite_then_in_the_data(void **state)
{
    (void)state;
    struct case_list list = {0};
    struct input absent = {.kind = INPUT_FILE, .path = "minilm-gettysburg.safetensors"};
    char path[CASES_PATH];
    mkdir("sub", 0777);
    mkdir("data", 0777);
    write_file("sub/x.suite", "a: d=8 input=file:x:\nb: d=8 input=file:y:\n", 42);
    write_file("sub/x", "", 0);
    write_file("data/y", "", 0);
    setenv("ATTNBENCH_DATA", "data", 1);

    assert_true(cases_load(&list, "sub/x.suite", message, sizeof message));
    assert_input(&list.items[0], "file:sub/x:");
    assert_true(cases_find_file(&list.items[0].input, path));
    assert_string_equal(path, "sub/x");
    assert_input(&list.items[1], "file:y:");
    assert_true(cases_find_file(&list.items[1].input, path));
    assert_string_equal(path, "data/y");
    cases_free(&list);

    write_file("x", "", 0);
    assert_true(cases_load(&list, "sub/x.suite", message, sizeof message));
    assert_input(&list.items[0], "file:x:");
    cases_free(&list);

    assert_false(cases_find_file(&absent, path));
    assert_string_equal(path, "minilm-gettysburg.safetensors");
    unsetenv("ATTNBENCH_DATA");
    assert_true(cases_find_file(&absent, path));

    remove("x");
    remove("sub/x");
    remove("sub/x.suite");
    remove("data/y");
    remove("sub");
    remove("data");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_has_a_case_a_line),
        cmocka_unit_test(faults_are_refused_with_line_and_column),
        cmocka_unit_test(huge_lines_and_files_are_refused),
        cmocka_unit_test(too_many_cases_are_refused),
        cmocka_unit_test(unreadable_paths_are_refused),
        cmocka_unit_test(suites_and_files_can_be_listed_together),
        cmocka_unit_test(a_name_stands_for_one_case),
        cmocka_unit_test(all_is_every_builtin_suite_each_case_once),
        cmocka_unit_test(builtin_cases_are_what_their_names_say),
        cmocka_unit_test(builtin_suites_come_in_f32_and_bf16),
        cmocka_unit_test(builtin_files_are_found),
        cmocka_unit_test(problems_are_named_after_their_text),
        cmocka_unit_test(bad_problems_are_refused),
        cmocka_unit_test(cases_are_selected_by_name_and_pattern),
        cmocka_unit_test(files_are_found_as_written_then_beside_the_suite_then_in_the_data),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
