/*
 * loaded_cases: a directory for the files of a test to load cases from, and what a case says as text.
 *
 * Included after cmocka.h.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "problem/cases.h"

static char directory[] = "test_cases.XXXXXX";
static char message[512];

static inline int enter_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static inline int leave_directory(void **state)
{
    (void)state;
    return chdir("..") == 0 && rmdir(directory) == 0 ? 0 : -1;
}

static inline void write_file(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline void assert_problem(const struct problem_case *c, const char *expected)
{
    char text[PARSE_TEXT];
    parse_print_problem(&c->problem, text);
    assert_string_equal(text, expected);
}

static inline void assert_input(const struct problem_case *c, const char *expected)
{
    char text[PARSE_TEXT];
    parse_print_input(&c->input, text);
    assert_string_equal(text, expected);
}
