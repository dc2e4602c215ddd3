/*
 * Cases: problems of the command line, selection, files of inputs.
 */
#include "testing.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "loaded_cases.h"

/* ---- the command line ---------------------------------------------------------------------- */

TEST(problems_are_named_after_what_they_are)
{
    static const struct {
        const char *text, *name;
    } problems[] = {
        {"h=8,s=1024,d=64,mask=causal", "h8-s1024-d64-causal"},
        {" s=64,d=8  input=needle:63", "h1-s64-d8-needle63"},
        {"s=64,d=8 input=normal:2", "h1-s64-d8-normal2"},
        {"s=64,d=8 input=file:dir/a b\xc3\xa4~.safetensors:", "h1-s64-d8-a_b___.safetensors"},
        {"s=64,d=8 input=file:x:layer0.", "h1-s64-d8-layer0"},
        {"b=2,hq=32,hkv=8,s=16,dv=32,dtype=bf16", "b2-h32x8-s16-d64-dv32-bf16"},
        {"skv=4096,mask=causal+bias,window=16:0", "h1-sq1-skv4096-d64-causal_bias-window16_0"},
        {"skv=4096,mask=causal+bias,window=17:0", "h1-sq1-skv4096-d64-causal_bias-window17_0"},
        {"b=16,hq=32,hkv=8,sq=512,skv=65536,d=192,dv=128,dtype=bf16,mask=causal+bias,window=16:0",
         "b16-h32x8-sq512-skv65536-d192-dv128-bf16-causal_..window16_0"},
        {"b=16,hq=32,hkv=8,sq=512,skv=65536,d=192,dv=128,dtype=bf16,mask=causal+bias,window=17:0",
         "b16-h32x8-sq512-skv65536-d192-dv128-bf16-causal_..window17_0"},
        {"b=4,hq=8,hkv=2,sq=64,skv=4096,d=64,mask=causal", "b4-h8x2-sq64-skv4096-d64-causal"},
        {"b=4,hq=8,hkv=2,sq=64,skv=65536,d=64,mask=causal", "b4-h8x2-sq64-skv65536-d64-causal"},
        {"b=4,hq=8,hkv=2,sq=64,skv=65536,d=64,mask=causal,dtype=bf16,layout=bshd",
         "b4-h8x2-sq64-skv65536-d64-bf16-causal-bshd"},
        {"b=4,hq=8,hkv=2,sq=64,skv=65536,d=64,dtype=bf16,layout=bshd,mask=causal,softcap=1",
         "b4-h8x2-sq64-skv65536-d64-bf16-causal-softcap1-bshd"},
        {"s=4,softcap=30,outputs=o+lse,scale=0.5", "h1-s4-d64-softcap30-scale0.5-o_lse"},
    };
    struct case_list list = {0};
    for (size_t i = 0; i < COUNT(problems); i++) {
        assert_true(cases_add_problem(&list, problems[i].text, MESSAGE(message)));
        assert_int_equal(list.count, i + 1);
    }
    for (size_t i = 0; i < COUNT(problems); i++) /* a name may change when one like it comes */
        assert_string_equal(list.items[i].name, problems[i].name);
    assert_input(&list.items[1], "needle:63");
    for (size_t i = 0; i < COUNT(problems); i++) /* each is there already */
        assert_true(cases_add_problem(&list, problems[i].text, MESSAGE(message)));
    assert_true(
        cases_add_problem(&list, "hq=8,hkv=8,skv=1024,sq=1024,mask=causal", MESSAGE(message)));
    assert_int_equal(list.count, COUNT(problems));
    cases_free(&list);
}

TEST(bad_problems_are_refused)
{
    struct case_list list = {0};
    assert_false(cases_add_problem(&list, "h=8,skw=4", MESSAGE(message)));
    assert_string_equal(message,
                        "problem 'h=8,skw=4', position 4: unknown key 'skw'; did you mean 'skv'?");
    assert_false(cases_add_problem(&list, "", MESSAGE(message)));
    assert_string_equal(message,
                        "problem '', position 0: the problem is empty; expected key=value,...");
    assert_false(cases_add_problem(&list, "d=8 input=needle:1", MESSAGE(message)));
    assert_string_equal(message, "problem 'd=8 input=needle:1', position 10: 'needle:1' is "
                                 "past the last key");
    assert_int_equal(list.count, 0);
}

/* Each case is one that its own text gives, and the text gives the same cases again. */
TEST(a_sweep_is_a_case_for_each_value)
{
    static const struct {
        const char *text;
        size_t count;
        const char *first, *second, *last;
    } sweeps[] = {
        {"s=128..8192*2,d=8", 7, "h1-s128-d8", "h1-s256-d8", "h1-s8192-d8"},
        {"s=1k..4k*2,d=8", 3, "h1-s1024-d8", "h1-s2048-d8", "h1-s4096-d8"},
        {"s=100..550+200,d=8", 3, "h1-s100-d8", "h1-s300-d8", "h1-s500-d8"},
        {"s=7..9,d=8", 3, "h1-s7-d8", "h1-s8-d8", "h1-s9-d8"},
        {"d=64|128,s=4", 2, "h1-s4-d64", "h1-s4-d128", "h1-s4-d128"},
        {"s=2|8..32*4|5,d=8", 4, "h1-s2-d8", "h1-s8-d8", "h1-s5-d8"},
        {"s=5..5*2,d=8", 1, "h1-s5-d8", "h1-s5-d8", "h1-s5-d8"},
        {"dtype=f32|bf16,s=4,mask=none|causal+bias", 4, "h1-s4-d64", "h1-s4-d64-causal_bias",
         "h1-s4-d64-bf16-causal_bias"},
        {"h=1|2, d=8, s=4..8*2 input=uniform:3", 4, "h1-s4-d8-uniform3", "h1-s8-d8-uniform3",
         "h2-s8-d8-uniform3"},
    };
    for (size_t i = 0; i < COUNT(sweeps); i++) {
        struct case_list list = {0};
        assert_true(cases_add_problem(&list, sweeps[i].text, MESSAGE(message)));
        assert_int_equal(list.count, sweeps[i].count);
        assert_string_equal(list.items[0].name, sweeps[i].first);
        assert_string_equal(list.items[sweeps[i].count > 1].name, sweeps[i].second);
        assert_string_equal(list.items[list.count - 1].name, sweeps[i].last);
        for (size_t k = 0; k < list.count; k++) {
            char problem[PARSE_TEXT], input[PARSE_TEXT], text[3 * PARSE_TEXT];
            parse_print_problem(&list.items[k].problem, problem);
            parse_print_input(&list.items[k].input, input);
            snprintf(text, sizeof text, "%s input=%s", problem, input);
            assert_true(cases_add_problem(&list, text, MESSAGE(message)));
        }
        assert_true(cases_add_problem(&list, sweeps[i].text, MESSAGE(message)));
        assert_int_equal(list.count, sweeps[i].count);
        cases_free(&list);
    }
}

TEST(wrong_sweeps_are_refused_where_they_are_wrong)
{
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"s=8192..128*2", "2: s='8192..128*2' runs from more to less"},
        {"d=8,s=1..8*1", "6: s='1..8*1' has a factor below 2"},
        {"s=0..8*2", "2: s='0..8*2' begins with 0, which no factor changes"},
        {"s=1..8+0", "2: s='1..8+0' has a step of 0"},
        {"s=1..", "5: s='' is not a whole number"},
        {"s=4|..8", "4: s='' is not a whole number"},
        {"s=1..8*x", "7: s='x' is not a whole number"},
        {"s=0..2", "2: s='0' is less than 1; expected N >= 1"},
        {"s=4,d=8|", "6: d has an empty value; expected N >= 1"},
        {"h=1|2,s=4,maks=none|bool", "10: unknown key 'maks'; did you mean 'mask'?"},
        {"s=4..16k*2,d=8|16,dtyp=f32", "18: unknown key 'dtyp'; did you mean 'dtype'?"},
        {"s=4..16k*2,d=8 input=needle:4", "21: 'needle:4' is past the last key"},
        {"s=1..513", "2: s='1..513' makes more than 512 cases of one problem"},
        {"s=1..64,d=1..64", "10: d='1..64' makes more than 512 cases of one problem"},
        {"s=1..1000000000000000,d=8",
         "2: s='1..1000000000000000' makes more than 512 cases of one problem"},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct case_list list = {0};
        char expected[512];
        snprintf(expected, sizeof expected, "problem '%s', position %s", wrong[i].text,
                 wrong[i].message);
        assert_false(cases_add_problem(&list, wrong[i].text, MESSAGE(message)));
        assert_string_equal(message, expected);
        cases_free(&list);
    }
}

TEST(cases_are_selected_by_name_and_pattern)
{
    struct case_list list = {0};
    assert_true(cases_load(&list, "tiny,short", MESSAGE(message)));
    assert_true(cases_select(&list, "short-f32-b32-h12-s64-d64,tiny-f32-*-d64", MESSAGE(message)));
    assert_int_equal(list.count, 8);
    assert_string_equal(list.items[0].name, "tiny-f32-s1-d64");
    assert_string_equal(list.items[7].name, "short-f32-b32-h12-s64-d64");
    assert_false(cases_select(&list, "tiny-f32-s64-d65", MESSAGE(message)));
    assert_string_equal(message, "no case 'tiny-f32-s64-d65'; did you mean 'tiny-f32-s64-d64'?");
    assert_int_equal(list.count, 8);
    assert_false(cases_select(&list, "*prefill*", MESSAGE(message)));
    assert_memory_equal(
        message, "no case '*prefill*' among the 8 of the suites; among them: tiny-f32-s1-d64, ",
        76);
    assert_string_equal(message + strlen(message) - 5, ", ...");
    assert_false(cases_select(&list, "b32-h12-s1", MESSAGE(message)));
    assert_string_equal(
        message,
        "no case 'b32-h12-s1' among the 8 of the suites; alike: short-f32-b32-h12-s64-d64");
    cases_free(&list);
}

/* ---- files of inputs ----------------------------------------------------------------------- */

TEST(files_are_found_as_written_then_beside_the_suite_then_in_the_data)
{
    struct case_list list = {0};
    struct input absent = {.kind = INPUT_FILE, .path = "minilm-gettysburg.safetensors"};
    char path[CASES_PATH];
    mkdir("sub", 0777);
    mkdir("data", 0777);
    write_file("sub/x.suite", "a: d=8 input=file:x:\nb: d=8 input=file:y:\n", 42);
    write_file("sub/x", "", 0);
    write_file("data/y", "", 0);
    setenv("ATTNBENCH_DATA", "data", 1);

    assert_true(cases_load(&list, "sub/x.suite", MESSAGE(message)));
    assert_input(&list.items[0], "file:sub/x:");
    assert_true(cases_find_file(list.items[0].input.path, path, MESSAGE(message)));
    assert_string_equal(path, "sub/x");
    assert_input(&list.items[1], "file:y:");
    assert_true(cases_find_file(list.items[1].input.path, path, MESSAGE(message)));
    assert_string_equal(path, "data/y");
    cases_free(&list);

    write_file("x", "", 0);
    assert_true(cases_load(&list, "sub/x.suite", MESSAGE(message)));
    assert_input(&list.items[0], "file:x:");
    cases_free(&list);

    assert_false(cases_find_file(absent.path, path, MESSAGE(message)));
    assert_string_equal(path, "minilm-gettysburg.safetensors");
    assert_string_equal(message,
                        "minilm-gettysburg.safetensors: No such file in the working directory, "
                        "beside its suite file or in data (ATTNBENCH_DATA)");
    unsetenv("ATTNBENCH_DATA");
    assert_true(cases_find_file(absent.path, path, MESSAGE(message)));

    remove("x");
    remove("sub/x");
    remove("sub/x.suite");
    remove("data/y");
    remove("sub");
    remove("data");
}

TEST(nothing_leads_out_of_the_data)
{
    static const struct {
        const char *path;
        bool found;
    } files[] = {{"y", true},          {"deep/../y", true}, {"inner", true},
                 {"../secret", false}, {"outer", false},    {"../database", false}};
    char path[CASES_PATH];
    mkdir("data", 0777);
    mkdir("data/deep", 0777);
    write_file("data/y", "", 0);
    write_file("secret", "", 0);
    write_file("database", "", 0); /* begins as the directory does */
    assert_int_equal(symlink("y", "data/inner") | symlink("../secret", "data/outer"), 0);
    setenv("ATTNBENCH_DATA", "data", 1);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_int_equal(cases_find_file(files[i].path, path, MESSAGE(message)), files[i].found);
    unsetenv("ATTNBENCH_DATA");
    for (size_t i = 0; i < 3; i++)
        remove((const char *[]){"data/inner", "data/outer", "data/y"}[i]);
    for (size_t i = 0; i < 4; i++)
        remove((const char *[]){"data/deep", "data", "secret", "database"}[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(problems_are_named_after_what_they_are),
        cmocka_unit_test(bad_problems_are_refused),
        cmocka_unit_test(a_sweep_is_a_case_for_each_value),
        cmocka_unit_test(wrong_sweeps_are_refused_where_they_are_wrong),
        cmocka_unit_test(cases_are_selected_by_name_and_pattern),
        cmocka_unit_test(files_are_found_as_written_then_beside_the_suite_then_in_the_data),
        cmocka_unit_test(nothing_leads_out_of_the_data),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
