/*
 * number: NaN and infinity are null in JSON.
 */
#include "number.h"

#include <math.h>

json_t *number_json(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *number_size(size_t bytes)
{
    return bytes ? json_integer((json_int_t)bytes) : json_null();
}

json_t *number_array(const double *x, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, number_json(x[i]));
    return array;
}

json_t *number_integers(const int *x, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, json_integer(x[i]));
    return array;
}
