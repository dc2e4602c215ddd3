/*
 * number: numbers in JSON, which cannot write NaN or infinity; and texts.
 */
#ifndef HARNESS_BASE_NUMBER_H
#define HARNESS_BASE_NUMBER_H

#include <jansson.h>

/* x, or null where it is not finite. */
json_t *number_json(double x);

/* A number of an object, or of its member `outer` if that is not NULL; NaN where there is none. */
double number_at(const json_t *object, const char *outer, const char *key);

/* A text of an object; "" where there is none. */
const char *text_at(const json_t *object, const char *key);

#endif
