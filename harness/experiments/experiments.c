/*
 * experiments: the table of them, and how their rows are read and made.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment.h"
#include "list.h"
#include "base/number.h"

#define COMPUTED(identifier, ...) {__VA_ARGS__, .calculation = &calculation_##identifier},
#define TIMED(identifier, name, question, method, source, ...) \
    {name, question, method, source, NULL, __VA_ARGS__},
#define WORDS(...) ((const char *const[]){__VA_ARGS__})

static const struct experiment experiments[] = {
#include "experiments_list.h"
};

#define COUNT (sizeof experiments / sizeof *experiments)

const struct experiment *experiment_at(size_t index)
{
    return index < COUNT ? &experiments[index] : NULL;
}

const struct experiment *experiment_find(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(experiments[i].name, name) == 0)
            return &experiments[i];
    return NULL;
}

#define KEY 32 /* bytes of a key */

/* ---- steps ----------------------------------------------------------------------------------- */

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

/* The next of the keys, NULL behind the last. */
static const char *next_key(const char **keys, char key[KEY])
{
    const size_t length = strcspn(*keys, " ");
    snprintf(key, KEY, "%.*s", (int)length, *keys);
    *keys += length + strspn(*keys + length, " ");
    return length ? key : NULL;
}

json_t *experiment_pick(json_t *to, const json_t *from, const char *keys)
{
    char key[KEY];
    while (next_key(&keys, key))
        if (json_object_get(from, key))
            json_object_set(to, key, json_object_get(from, key));
    return to;
}

void experiment_steps(json_t *steps, json_t *base, const struct experiment_axis *axes)
{
    const size_t count = json_array_size(axes->values);
    if (!axes->key) {
        json_array_append_new(steps, base);
        return;
    }
    for (size_t i = 0; axes->words ? axes->words[i] != NULL : i < count; i++) {
        json_t *step = json_copy(base);
        if (axes->words)
            json_object_set_new(step, axes->key, json_string(axes->words[i]));
        else
            json_object_set(step, axes->key, json_array_get(axes->values, i));
        experiment_steps(steps, step, axes + 1);
    }
    json_decref(base);
}

/* ---- computing ------------------------------------------------------------------------------- */

void *experiment_alloc(struct experiment_work *work, size_t count, size_t size)
{
    void **memory = realloc(work->memory, (work->blocks + 1) * sizeof *memory);
    if (!memory)
        return NULL;
    work->memory = memory;
    memory[work->blocks] = calloc(count + !count, size);
    return memory[work->blocks] ? memory[work->blocks++] : NULL;
}

void experiment_free(struct experiment_work *work)
{
    while (work->blocks)
        free(work->memory[--work->blocks]);
    free(work->memory);
    work->memory = NULL;
}

bool experiment_fail(struct experiment_work *work, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(work->message, sizeof work->message, format, arguments);
    va_end(arguments);
    return false;
}

bool experiment_blocks(size_t count, int threads, size_t scratch, experiment_block *compute,
                       void *context)
{
    bool allocated = true;
#pragma omp parallel num_threads(threads)
    {
        void *mine = calloc(scratch + 1, 1);
        if (!mine) {
#pragma omp atomic write
            allocated = false;
        }
#pragma omp for schedule(dynamic, 1)
        for (size_t i = 0; i < count; i++)
            if (mine)
                compute(context, i, mine);
        free(mine);
    }
    return allocated;
}

/* ---- rows ------------------------------------------------------------------------------------ */

bool experiment_part_next(struct experiment_part *part)
{
    const json_t *row;
    while ((row = json_array_get(part->rows, part->next))) {
        part->next++;
        part->params = json_object_get(row, "params");
        part->values = json_object_get(row, "values");
        if (!part->name || experiment_is(part->params, "part", part->name))
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

size_t experiment_count(const json_t *object, const char *key)
{
    return (size_t)json_integer_value(json_object_get(object, key));
}

const char *experiment_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

bool experiment_is(const json_t *object, const char *key, const char *text)
{
    return strcmp(experiment_text(object, key), text) == 0;
}

size_t experiment_counts(const json_t *object, const char *key, size_t *x, size_t capacity)
{
    const json_t *list = json_object_get(object, key), *value;
    size_t i;
    json_array_foreach (list, i, value)
        if (i < capacity)
            x[i] = (size_t)json_integer_value(value);
    return json_array_size(list) < capacity ? json_array_size(list) : capacity;
}

bool experiment_same(const json_t *a, const json_t *b, const char *keys)
{
    bool same = true;
    char key[KEY];
    while (next_key(&keys, key)) {
        const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);
        same &= x ? json_equal(x, y) : !y;
    }
    return same;
}

void experiment_add(json_t *rows, json_t *params, json_t *values)
{
    json_array_append_new(rows, json_pack("{s:o, s:o}", "params", params, "values", values));
}

json_t *experiment_values(const struct experiment_value *values)
{
    json_t *object = json_object();
    for (; values->key; values++)
        json_object_set_new(object, values->key, number_json(values->x));
    return object;
}

json_t *experiment_numbers(const double *x, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, number_json(x[i]));
    return array;
}

json_t *experiment_range(double lo, double hi)
{
    return experiment_numbers((double[]){lo, hi}, 2);
}
