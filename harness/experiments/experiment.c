/*
 * experiment: the table of experiments, steps, and helpers for computing a step.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment.h"
#include "problem/cases.h"

/* Each is defined in a file or a family of files. */
#define COMPUTED(identifier, ...) extern const struct calculation calculation_##identifier;
#define TIMED(...)
#include "experiments_list.h"
#undef COMPUTED
#undef TIMED

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

const char *const experiment_dtypes[] = {"f32", "bf16", "f16", NULL};

enum attn_dtype experiment_dtype(const json_t *step)
{
    enum attn_dtype dtype = ATTN_F32;
    attn_dtype_parse(member_text(step, "dtype"), &dtype);
    return dtype;
}

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

void experiment_steps(json_t *steps, json_t *base, const json_t *asked, const char *axes,
                      const char *const *words)
{
    char key[32], list[32] = "";
    int length = 0;
    if (sscanf(axes, " %31[^ =]%n=%31s%n", key, &length, list, &length) < 1) {
        json_array_append_new(steps, base);
        return;
    }
    const json_t *values = json_object_get(asked, list);
    assert(*list || words);
    for (size_t i = 0; *list ? i < json_array_size(values) : words[i] != NULL; i++) {
        json_t *step = json_copy(base);
        json_object_set_new(step, key,
                            *list ? json_incref(json_array_get(values, i)) : json_string(words[i]));
        experiment_steps(steps, step, asked, axes + length, words);
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

double experiment_larger(double worst, double x)
{
    return x <= worst ? worst : x;
}

/* ---- published numbers ----------------------------------------------------------------------- */

#define PUBLISHED "worked-examples.json"

bool experiment_published_ready(struct message message)
{
    char path[CASES_PATH];
    return cases_find_file(PUBLISHED, path, message);
}

json_t *experiment_published(const char *name, struct experiment_work *work)
{
    char path[CASES_PATH], message[256];
    json_error_t error = {.text = "not found"};
    json_t *file =
        cases_find_file(PUBLISHED, path, MESSAGE(message)) ? json_load_file(path, 0, &error) : NULL;
    json_t *example = json_incref(name ? json_object_get(file, name) : file);
    if (!file && work)
        experiment_fail(work, PUBLISHED ": %s", error.text);
    else if (!example && work)
        experiment_fail(work, PUBLISHED " has no %s", name);
    json_decref(file);
    return example;
}
