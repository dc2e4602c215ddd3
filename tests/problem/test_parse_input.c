/*
 * The text form of inputs: what it means, what is refused and how, and that printing and parsing undo
 * each other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "problem/parse.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const char *const inputs[][2] = {
    {"normal", "normal:1"},
    {"normal:0", "normal:0"},
    {"normal:18446744073709551615", "normal:18446744073709551615"},
    {"uniform", "uniform:1"},
    {"uniform:7", "uniform:7"},
    {"needle:0", "needle:0"},
    {"needle:65535", "needle:65535"},
    {"negative", "negative"},
    {"file:a.safetensors:layer0.", "file:a.safetensors:layer0."},
    {"file:dir with blanks/a:b:", "file:dir with blanks/a:b:"},
};

static void inputs_survive_the_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(inputs); i++) {
        struct input input, again;
        struct parse_error error;
        char text[PARSE_TEXT];
        assert_true(parse_input(inputs[i][0], &input, &error));
        parse_print_input(&input, text);
        assert_string_equal(text, inputs[i][1]);
        assert_true(parse_input(text, &again, &error));
        assert_memory_equal(&again, &input, sizeof input);
    }
}

static void inputs_set_their_fields(void **state)
{
    (void)state;
    struct input input;
    struct parse_error error;
    assert_true(parse_input("uniform:42", &input, &error));
    assert_int_equal(input.kind, INPUT_UNIFORM);
    assert_int_equal(input.seed, 42);
    assert_true(parse_input("needle:9", &input, &error));
    assert_int_equal(input.kind, INPUT_NEEDLE);
    assert_int_equal(input.needle, 9);
    assert_true(parse_input("file:x/y:z:p.", &input, &error));
    assert_int_equal(input.kind, INPUT_FILE);
    assert_string_equal(input.path, "x/y:z");
    assert_string_equal(input.prefix, "p.");
}

static const struct {
    const char *text;
    size_t position;
    const char *message;
} refusals[] = {
    {"", 0, "unknown input ''; inputs are normal, uniform, needle, negative, file"},
    {"gauss", 0, "unknown input 'gauss'; inputs are normal, uniform, needle, negative, file"},
    {"nedle:3", 0, "unknown input 'nedle'; did you mean 'needle'?"},
    {"normal:", 7, "input normal: '' is not a whole number; expected normal or normal:SEED"},
    {"normal:-1", 7, "input normal: '-1' is not a whole number; expected normal or normal:SEED"},
    {"normal:18446744073709551616", 7,
     "input normal: '18446744073709551616' is too large; expected normal or normal:SEED"},
    {"needle", 6, "input needle: '' is not a whole number; expected needle:J, the key's position"},
    {"negative:1", 9, "input negative: '1' takes no value; expected negative"},
    {"file:abc", 5,
     "input file: 'abc' has no PATH:PREFIX; expected file:PATH:PREFIX, PREFIX may be empty"},
    {"file:\xe4:p", 5,
     "input file: '\\xe4:p' is not plain UTF-8 text; expected file:PATH:PREFIX, PREFIX "
     "may be empty"},
    {"file::p", 5,
     "input file: ':p' has no PATH:PREFIX; expected file:PATH:PREFIX, PREFIX may be empty"},
};

static void bad_inputs_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refusals); i++) {
        struct input input;
        struct parse_error error;
        if (parse_input(refusals[i].text, &input, &error))
            fail_msg("accepted: %s", refusals[i].text);
        assert_string_equal(error.message, refusals[i].message);
        assert_int_equal(error.position, refusals[i].position);
    }
}

static void long_paths_and_prefixes_are_refused(void **state)
{
    (void)state;
    char text[PARSE_TEXT];
    struct input input;
    struct parse_error error;
    snprintf(text, sizeof text, "file:%0255d:p", 0);
    assert_true(parse_input(text, &input, &error));
    snprintf(text, sizeof text, "file:%0256d:p", 0);
    assert_false(parse_input(text, &input, &error));
    assert_non_null(strstr(error.message, "is too long"));
    snprintf(text, sizeof text, "file:a:%063d", 0);
    assert_true(parse_input(text, &input, &error));
    snprintf(text, sizeof text, "file:a:%064d", 0);
    assert_false(parse_input(text, &input, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_survive_the_round_trip),
        cmocka_unit_test(inputs_set_their_fields),
        cmocka_unit_test(bad_inputs_are_refused),
        cmocka_unit_test(long_paths_and_prefixes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
