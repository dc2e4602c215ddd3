/*
 * number: numbers as JSON, which has no NaN and no infinity: both are written as null.
 */
#pragma once

#include <jansson.h>

/* x, or null where it is not finite; a size, or null where it is 0, unknown. */
json_t *number_json(double x);
json_t *number_size(size_t bytes);

/* An array of n numbers, null where they are not finite; an array of n whole numbers. */
json_t *number_array(const double *x, size_t n);
json_t *number_integers(const int *x, size_t n);
