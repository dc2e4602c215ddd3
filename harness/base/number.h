/*
 * number: numbers and texts in JSON.  JSON has no NaN and no infinity: both are written as null.
 */
#ifndef HARNESS_BASE_NUMBER_H
#define HARNESS_BASE_NUMBER_H

#include <jansson.h>

/* x, or null where it is not finite; a size, or null where it is 0, unknown. */
json_t *number_json(double x);
json_t *size_json(size_t bytes);

/* An array of n numbers, null where they are not finite; an array of n whole numbers. */
json_t *numbers_json(const double *x, size_t n);
json_t *integers_json(const int *x, size_t n);

/* Number `key` of an object; NaN where there is none. */
double number_at(const json_t *object, const char *key);

/* Text `key` of an object; "" where there is none. */
const char *text_at(const json_t *object, const char *key);

#endif
