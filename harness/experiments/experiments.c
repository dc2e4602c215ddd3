/*
 * experiments: the table of them, and how their rows are read and made.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiment.h"
#include "list.h"
#include "base/number.h"

static const struct experiment *const experiments[] = {
    &experiment_variance,    &experiment_softmax,    &experiment_saturation,   &experiment_examples,
    &experiment_layer,       &experiment_linear,     &experiment_error_growth, &experiment_overflow,
    &experiment_rescale,     &experiment_exp_degree, &experiment_memory,       &experiment_scaling,
    &experiment_distributed, &experiment_invariance, &experiment_tiles,        &experiment_layouts,
    &experiment_words,
};

#define COUNT (sizeof experiments / sizeof *experiments)

const struct experiment *experiment_at(size_t index)
{
    return index < COUNT ? experiments[index] : NULL;
}

const struct experiment *experiment_find(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(experiments[i]->name, name) == 0)
            return experiments[i];
    return NULL;
}

void experiment_label(const json_t *step, char *text, size_t size)
{
    const char *key;
    const json_t *value;
    size_t n = 0;
    *text = 0;
    json_object_foreach ((json_t *)step, key, value) {
        if (json_is_string(value) && n < size)
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? " " : "",
                                  json_string_value(value));
        if (json_is_integer(value) && n < size)
            n += (size_t)snprintf(text + n, size - n, " %s=%" JSON_INTEGER_FORMAT, key,
                                  json_integer_value(value));
    }
}

bool experiment_wants(const json_t *asked, const char *part)
{
    const json_t *word;
    size_t i;
    json_array_foreach (json_object_get(asked, "parts"), i, word)
        if (strcmp(json_string_value(word), part) == 0)
            return true;
    return false;
}

void experiment_take(json_t *to, const json_t *from, const char *const *keys)
{
    for (; *keys; keys++)
        if (json_object_get(from, *keys))
            json_object_set(to, *keys, json_object_get(from, *keys));
}

bool experiment_part_next(struct experiment_part *part)
{
    const json_t *row;
    while ((row = json_array_get(part->rows, part->next))) {
        part->next++;
        part->params = json_object_get(row, "params");
        part->values = json_object_get(row, "values");
        if (!part->name || strcmp(experiment_text(part->params, "part"), part->name) == 0)
            return true;
    }
    return false;
}

double experiment_at_number(const json_t *object, const char *key, size_t index)
{
    const json_t *value = json_array_get(json_object_get(object, key), index);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

double experiment_number(const json_t *object, const char *key)
{
    return number_at(object, NULL, key);
}

const char *experiment_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

json_t *experiment_row(json_t *params, json_t *values)
{
    return json_pack("{s:o, s:o}", "params", params, "values", values);
}

json_t *experiment_numbers(const double *x, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, number_json(x[i]));
    return array;
}
