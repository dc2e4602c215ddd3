/*
 * exp_degree: how exact an exponential attention needs.
 *
 * Sums are in float64, so that the exponential's error, the rounding of the weights where a kernel
 * rounds them, and that of the output are all that is left.
 */
#include "exp_degree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "element.h"
#include "experiments/experiment.h"
#include "experiments/list.h"
#include "base/number.h"
#include "base/random.h"
#include "base/stats.h"

#define STREAM 12000
#define LOG2_E 1.44269504f
#define TIMED 2048 /* elements: both arrays stay in the nearest cache */

static const char *const dtypes[] = {"f32", "bf16", "f16", NULL};

static const struct parameter parameters[] = {
    {"degrees", "LIST", "1,2,3,4,5,6,7,8", NULL, "degrees of the polynomial", PARAMETER_COUNTS, 1,
     EXP_DEGREES, NULL},
    {"s", "N", "1024", NULL, "keys of a row", PARAMETER_COUNT, 16, 1 << 20, NULL},
    {"rows", "N", "2000", "500", "rows", PARAMETER_COUNT, 1, 1e6, NULL},
    {"dtypes", "LIST", "f32,bf16,f16", NULL,
     "types of values and output; with bf16 also of the weights", PARAMETER_WORDS, 0, 0, dtypes},
    {"rounds", "N", "40", "12", "timings of each degree, in turns", PARAMETER_COUNT, 6, 10000,
     NULL},
    {0},
};

static json_t *plan(const json_t *asked, char *message, size_t message_size)
{
    const json_t *dtype;
    size_t i;
    json_t *steps = json_array();
    (void)message;
    (void)message_size;
    json_array_foreach (json_object_get(asked, "dtypes"), i, dtype) {
        json_t *s = json_copy((json_t *)asked);
        json_object_set_new(s, "part", json_string("error"));
        json_object_set(s, "dtype", (json_t *)dtype);
        json_array_append_new(steps, s);
    }
    json_t *s = json_copy((json_t *)asked);
    json_object_set_new(s, "part", json_string("time"));
    json_array_append_new(steps, s);
    return steps;
}

/* ---- errors ---------------------------------------------------------------------------------- */

static float rounded(float x, enum attn_dtype dtype)
{
    return dtype == ATTN_BF16  ? attn_bf16_to_f32(attn_f32_to_bf16(x))
           : dtype == ATTN_F16 ? attn_f16_to_f32(attn_f32_to_f16(x))
                               : x;
}

/* One row of keys: scratch for n of each. */
struct row {
    size_t n;
    float *x, *p, *v;
};

/* The error of the output of one row; *exact receives the output. */
static double row_error(const struct row *row, size_t degree, const float *c, enum attn_dtype dtype,
                        double *exact)
{
    double sum = 0, o = 0, exact_sum = 0, exact_o = 0;
    exp_best()->run(degree, c, row->x, row->p, row->n);
    for (size_t j = 0; j < row->n; j++) {
        const double p = exp2((double)row->x[j]), v = (double)row->v[j];
        const float weight = dtype == ATTN_BF16 ? rounded(row->p[j], dtype) : row->p[j];
        sum += (double)row->p[j];
        o += (double)weight * v;
        exact_sum += p;
        exact_o += p * v;
    }
    *exact = exact_o / exact_sum;
    return (double)rounded((float)(o / sum), dtype) - *exact;
}

/* Random logits below their maximum, as powers of 2, and random values. */
static void draw(const struct row *row, uint64_t key, size_t index, enum attn_dtype dtype)
{
    float m = -INFINITY;
    random_normal(row->x, row->n, key, 2 * index * row->n);
    random_normal(row->v, row->n, key, (2 * index + 1) * row->n);
    for (size_t j = 0; j < row->n; j++)
        m = fmaxf(m, row->x[j]);
    for (size_t j = 0; j < row->n; j++) {
        row->x[j] = (row->x[j] - m) * LOG2_E;
        row->v[j] = rounded(row->v[j], dtype);
    }
}

static json_t *error_row(const json_t *s, size_t degree, double errors, double outputs, double n)
{
    return experiment_row(json_pack("{s:s, s:O, s:I, s:O, s:O, s:O}", "part", "error", "dtype",
                                    json_object_get(s, "dtype"), "degree", (json_int_t)degree, "s",
                                    json_object_get(s, "s"), "rows", json_object_get(s, "rows"),
                                    "seed", json_object_get(s, "seed")),
                          json_pack("{s:f, s:f, s:f}", "exp_error", exp_degree_error(degree), "rms",
                                    sqrt(errors / n), "relative", sqrt(errors / outputs)));
}

static json_t *compute_errors(const json_t *s, struct experiment_work *work)
{
    const size_t rows = (size_t)json_integer_value(json_object_get(s, "rows"));
    const size_t n = (size_t)json_integer_value(json_object_get(s, "s")) / 16 * 16;
    const uint64_t seed = (uint64_t)json_integer_value(json_object_get(s, "seed"));
    enum attn_dtype dtype = ATTN_F32;
    attn_dtype_parse(experiment_text(s, "dtype"), &dtype);
    float *memory = calloc(3 * n, sizeof *memory);
    if (!memory) {
        snprintf(work->message, sizeof work->message, "out of memory");
        return NULL;
    }
    const struct row row = {n, memory, memory + n, memory + 2 * n};
    json_t *result = json_array();
    const json_t *degree;
    size_t d;
    json_array_foreach (json_object_get(s, "degrees"), d, degree) {
        float c[EXP_DEGREES];
        double errors = 0, outputs = 0;
        exp_degree_fit((size_t)json_integer_value(degree), c);
        for (size_t i = 0; i < rows; i++) {
            double exact;
            draw(&row, random_key(seed, STREAM), i, dtype);
            const double e = row_error(&row, (size_t)json_integer_value(degree), c, dtype, &exact);
            errors += e * e;
            outputs += exact * exact;
        }
        json_array_append_new(result, error_row(s, (size_t)json_integer_value(degree), errors,
                                                outputs, (double)rows));
    }
    free(memory);
    return result;
}

/* ---- time ------------------------------------------------------------------------------------ */

static double time_of(size_t degree, const float *c, const float *x, float *y)
{
    enum { REPEATS = 200 };
    const double start = clock_now();
    for (int i = 0; i < REPEATS; i++) {
        exp_best()->run(degree, c, x, y, TIMED);
        __asm__ volatile("" : : "g"(y) : "memory"); /* no repeat is optimised away */
    }
    return (clock_now() - start) / (REPEATS * (double)TIMED);
}

/* Seconds per element of each degree in turns, into times[degree * rounds + round]. */
static void measure(const json_t *degrees, size_t rounds, double *times)
{
    static float x[TIMED], y[TIMED];
    float c[EXP_DEGREES];
    const size_t count = json_array_size(degrees);
    for (size_t j = 0; j < TIMED; j++)
        x[j] = -(float)j / 64;
    for (size_t r = 0; r < rounds + 1; r++) /* the first, not kept, warms caches and clocks */
        for (size_t turn = 0; turn < count; turn++) {
            const size_t i = (turn + r) % count;
            const size_t degree = (size_t)json_integer_value(json_array_get(degrees, i));
            exp_degree_fit(degree, c);
            times[i * rounds + (r ? r - 1 : 0)] = time_of(degree, c, x, y);
        }
}

static json_t *compute_times(const json_t *s, struct experiment_work *work)
{
    const json_t *degrees = json_object_get(s, "degrees");
    const size_t rounds = (size_t)json_integer_value(json_object_get(s, "rounds"));
    const size_t count = json_array_size(degrees);
    double *times = calloc(count * rounds, sizeof *times);
    if (!times) {
        snprintf(work->message, sizeof work->message, "out of memory");
        return NULL;
    }
    json_t *rows = json_array();
    measure(degrees, rounds, times);
    for (size_t i = 0; i < count; i++) {
        const double *mine = times + i * rounds, *last = times + (count - 1) * rounds;
        const struct stats_ratio ratio = stats_paired_ratio(last, mine, rounds);
        const double interval[] = {ratio.lo, ratio.hi};
        json_array_append_new(
            rows,
            experiment_row(json_pack("{s:s, s:O, s:s, s:I}", "part", "time", "degree",
                                     json_array_get(degrees, i), "isa",
                                     attn_isa_name(exp_best()->isa), "rounds", (json_int_t)rounds),
                           json_pack("{s:o, s:o, s:o}", "seconds",
                                     number_json(stats_median_of(mine, rounds)), "ratio",
                                     number_json(ratio.ratio), "ci95",
                                     experiment_numbers(interval, 2))));
    }
    free(times);
    return rows;
}

static json_t *compute(const json_t *s, struct experiment_work *work)
{
    const bool time = strcmp(experiment_text(s, "part"), "time") == 0;
    return time ? compute_times(s, work) : compute_errors(s, work);
}

const struct experiment experiment_exp_degree = {
    .name = "exp-degree",
    .question = "How exact an exponential does attention need?",
    .method =
        "2^x by polynomials of each degree (through the Chebyshev points, constant term 1, "
        "evaluated\n"
        "in float32), in a softmax of N(0, 1) logits over N(0, 1) values: largest relative error "
        "of\n"
        "the exponential, and root mean square error of the output against float64, with values "
        "and\n"
        "output rounded to the type, for bf16 the weights too.  Then the time of each degree, in\n"
        "turns, on one thread: median ratio to the highest and its exact 95 % interval.",
    .source = "Schraudolph 1999, doi:10.1162/089976699300016467; Zadouri et al. 2026,\n"
              "arXiv:2603.05451 (polynomial exponentials in FlashAttention-4)",
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = exp_degree_report,
};
