/*
 * number: null in JSON is NaN in C, and the other way round.
 */
#include "number.h"

#include <math.h>

json_t *number_json(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *size_json(size_t bytes)
{
    return bytes ? json_integer((json_int_t)bytes) : json_null();
}

json_t *numbers_json(const double *x, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, number_json(x[i]));
    return array;
}

json_t *integers_json(const int *x, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, json_integer(x[i]));
    return array;
}

double number_at(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}
