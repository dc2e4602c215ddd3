/*
 * time: one product in both layouts, in turns.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/stats.h"
#include "linear.h"

#define STREAM 14000
#define SAMPLES 5       /* of each layout, in turns; a launch gives their median */
#define SAMPLE_S 0.5e-3 /* shortest sample: ten thousand times the clock's resolution */

struct operands {
    const float *x,
        *w[LINEAR_LAYOUTS]; /* each in an allocation of its own, as a framework has them */
    float *y;
};

/* Seconds of so many calls. */
static double time_of(const struct linear_way *way, const struct linear_shape *shape,
                      const struct operands *t, enum linear_layout layout, size_t calls)
{
    const double start = clock_now();
    for (size_t i = 0; i < calls; i++) {
        way->run(shape, t->x, t->w[layout], layout, t->y);
        __asm__ volatile("" : : "g"(t->y) : "memory"); /* no call is optimised away */
    }
    return clock_now() - start;
}

/* As many calls as make a sample; warms caches, pages and clocks. */
static size_t calls_of(const struct linear_way *way, const struct linear_shape *shape,
                       const struct operands *t)
{
    size_t calls = 1;
    for (int layout = 0; layout < LINEAR_LAYOUTS; layout++)
        while (time_of(way, shape, t, (enum linear_layout)layout, calls) < SAMPLE_S)
            calls *= 2;
    return calls;
}

/* Seconds per call of each layout. */
static json_t *seconds_of(const struct linear_way *way, const struct linear_shape *shape,
                          const struct operands *t)
{
    double samples[LINEAR_LAYOUTS][SAMPLES], medians[LINEAR_LAYOUTS];
    const size_t calls = calls_of(way, shape, t);
    for (size_t i = 0; i < (size_t)SAMPLES * LINEAR_LAYOUTS; i++) {
        const size_t layout = (i + i / LINEAR_LAYOUTS) % LINEAR_LAYOUTS; /* who is first changes */
        samples[layout][i / LINEAR_LAYOUTS] =
            time_of(way, shape, t, (enum linear_layout)layout, calls) / (double)calls;
    }
    for (size_t layout = 0; layout < LINEAR_LAYOUTS; layout++)
        medians[layout] = stats_median_of(samples[layout], SAMPLES);
    return experiment_numbers(medians, LINEAR_LAYOUTS);
}

static json_t *row_of(const json_t *s, const struct linear_shape *shape, const struct operands *t)
{
    json_t *values = json_object();
    for (const struct linear_way *way = linear_ways; way->name; way++)
        if (linear_takes(way, shape))
            json_object_set_new(values, way->name, seconds_of(way, shape, t));
    return experiment_row(json_pack("{s:s, s:O, s:I, s:I, s:I}", "part", "time", "launch",
                                    json_object_get(s, "launch"), "d_in", (json_int_t)shape->d_in,
                                    "d_out", (json_int_t)shape->d_out, "tokens",
                                    (json_int_t)shape->len),
                          values);
}

/* The last of an ascending list. */
static size_t last_of(const json_t *list)
{
    return (size_t)json_integer_value(json_array_get(list, json_array_size(list) - 1));
}

static float *draw(size_t n, uint64_t key)
{
    float *x = malloc(n * sizeof *x);
    if (x)
        random_uniform(x, n, key, 0);
    return x;
}

json_t *linear_time(const json_t *s, struct experiment_work *work)
{
    const json_t *outs = json_object_get(s, "d_out"), *lens = json_object_get(s, "tokens");
    const json_t *out, *len;
    const uint64_t seed = (uint64_t)json_integer_value(json_object_get(s, "seed"));
    struct linear_shape shape = {.d_in = (size_t)json_integer_value(json_object_get(s, "d_in"))};
    const size_t rows = last_of(lens), columns = last_of(outs);
    size_t i, k;
    float *x = draw(rows * shape.d_in, random_key(seed, STREAM));
    float *y = draw(rows * columns, random_key(seed, STREAM + 1)); /* pages that are there */
    float *parameter = draw(shape.d_in * columns, random_key(seed, STREAM + 2));
    float *linear = draw(shape.d_in * columns, random_key(seed, STREAM + 3));
    const struct operands t = {x, {parameter, linear}, y};
    json_t *result = x && y && parameter && linear ? json_array() : NULL;
    linear_one_thread();
    if (!result)
        snprintf(work->message, sizeof work->message, "out of memory");
    json_array_foreach (outs, i, out)
        json_array_foreach (lens, k, len) {
            if (!result)
                break;
            shape.d_out = (size_t)json_integer_value(out);
            shape.len = (size_t)json_integer_value(len);
            json_array_append_new(result, row_of(s, &shape, &t));
        }
    free(x);
    free(y);
    free(parameter);
    free(linear);
    return result;
}
