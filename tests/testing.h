/*
 * testing: cmocka, behind the headers that it wants, the head of a test, how many elements an array has, and which
 * build this is.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* A test function that needs no state; cmocka_unit_test(name) lists it. */
#define TEST(name) static void name(void **state __attribute__((unused)))

#define COUNT(array) (sizeof(array) / sizeof *(array))

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

#ifdef __clang__
#define CLANG true
#else
#define CLANG false
#endif

/* Whether CI runs the sanitized build, and not the night, which draws more problems: what the released build has
 * asked and runs no code that other sanitized tests do not run is left to the night. */
static inline bool sanitized_in_ci(void)
{
    return SANITIZED && !getenv("ATTNBENCH_DRAWS");
}
