/*
 * number: numbers and texts of JSON objects.  JSON has no NaN and no infinity: both are written as null.
 */
#ifndef HARNESS_BASE_NUMBER_H
#define HARNESS_BASE_NUMBER_H

#include <jansson.h>

/* x, or null where it is not finite. */
json_t *number_json(double x);

/* Number `key` of an object; NaN where there is none. */
double number_at(const json_t *object, const char *key);

/* Text `key` of an object; "" where there is none. */
const char *text_at(const json_t *object, const char *key);

#endif
