/*
 * testing: cmocka, behind the headers that it wants, the head of a test, and how many elements an array has.
 */
#ifndef TESTS_TESTING_H
#define TESTS_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A test function that needs no state; cmocka_unit_test(name) lists it. */
#define TEST(name) static void name(void **state __attribute__((unused)))

#define COUNT(array) (sizeof(array) / sizeof *(array))

#endif
