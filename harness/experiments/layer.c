/*
 * layer: where the time of a self-attention layer goes, and a real one from its file.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "experiments/experiment.h"
#include "experiments/grid.h"
#include "experiments/layer_call.h"
#include "experiments/layer_real.h"
#include "experiments/list.h"
#include "journal.h"
#include "random.h"
#include "report_experiment.h"
#include "stats.h"

#define STREAM 13000
#define HEAD_DIM 64
#define PARTS 3
#define MATCH \
    2e-5 /* of the real layer: sums of 384 float32 products, twice (tests/test_self_attention.c) */

static const struct parameter parameters[] = {
    {"s", "LIST", "64..4096", "64,256,1024", "tokens", PARAMETER_COUNTS, 1, 1 << 20, NULL},
    {"heads", "LIST", "4,8,16", "4,8", "heads of 64: d_model is 64 times as many", PARAMETER_COUNTS,
     1, 256, NULL},
    {"rounds", "N", "12", "6", "timings", PARAMETER_COUNT, 6, 1000, NULL},
    {0},
};

static json_t *plan(const json_t *asked, char *message, size_t message_size)
{
    const json_t *s, *heads;
    size_t i, k;
    json_t *steps = json_pack("[{s:s}]", "part", "real");
    (void)message;
    (void)message_size;
    json_array_foreach (json_object_get(asked, "heads"), k, heads)
        json_array_foreach (json_object_get(asked, "s"), i, s)
            json_array_append_new(steps,
                                  json_pack("{s:s, s:O, s:I, s:O, s:O}", "part", "time", "s", s,
                                            "d_model", HEAD_DIM * json_integer_value(heads),
                                            "rounds", json_object_get(asked, "rounds"), "seed",
                                            json_object_get(asked, "seed")));
    return steps;
}

/* ---- time ------------------------------------------------------------------------------------ */

/* A layer of d_model with random weights, in one allocation; free(tensors->y). */
static bool draw(const struct attn_self_attention *l, uint64_t seed,
                 struct attn_self_attention_tensors *t)
{
    const size_t x = l->len * l->d_in, w = l->d_in * l->d_in;
    float *all = malloc((2 * x + 4 * w) * sizeof *all);
    if (!all)
        return false;
    random_normal(all, 2 * x + 4 * w, random_key(seed, STREAM), 0);
    for (size_t i = 2 * x; i < 2 * x + 4 * w; i++)
        all[i] *= (float)(1 / sqrt((double)l->d_in)); /* q, k and v keep the spread of x */
    *t = (struct attn_self_attention_tensors){.size = sizeof *t, .y = all, .x = all + x};
    t->wq = all + 2 * x;
    t->wk = t->wq + w;
    t->wv = t->wk + w;
    t->wo = t->wv + w;
    return true;
}

/* Seconds of the parts, `rounds` of them; the first call is not kept. */
static void measure(const struct layer_call *call, const struct attn_self_attention_tensors *t,
                    size_t rounds, double *times[PARTS])
{
    static void (*const parts[PARTS])(const struct attn_self_attention_plan *,
                                      const struct attn_self_attention_tensors *) = {
        attn_self_attention_project, attn_self_attention_attend, attn_self_attention_output};
    attn_self_attention_execute(&call->plan, t);
    for (size_t r = 0; r < rounds; r++)
        for (size_t p = 0; p < PARTS; p++) {
            const double start = clock_now();
            parts[p](&call->plan, t);
            times[p][r] = clock_now() - start;
        }
}

static json_t *time_row(const json_t *s, const struct layer_call *call, double *times[PARTS],
                        size_t rounds, double *shares)
{
    double lo = NAN, hi = NAN;
    for (size_t r = 0; r < rounds; r++)
        shares[r] = times[1][r] / (times[0][r] + times[1][r] + times[2][r]);
    stats_sort(shares, rounds);
    stats_median_ci95(shares, rounds, &lo, &hi);
    const double interval[] = {lo, hi};
    json_t *params = json_copy((json_t *)s);
    const struct attn_kernel *kernel = call->plan.attention.kernel;
    json_object_set_new(params, "kernel", json_string(kernel->name));
    json_object_set_new(params, "isa", json_string(attn_isa_name(kernel->isa)));
    json_object_set_new(params, "threads", json_integer(call->plan.threads));
    return experiment_row(params, json_pack("{s:f, s:f, s:f, s:f, s:o}", "project_s",
                                            stats_median_of(times[0], rounds), "attend_s",
                                            stats_median_of(times[1], rounds), "output_s",
                                            stats_median_of(times[2], rounds), "attention_share",
                                            stats_median(shares, rounds), "ci95",
                                            experiment_numbers(interval, 2)));
}

static json_t *compute_time(const json_t *s, struct experiment_work *work)
{
    const size_t rounds = (size_t)json_integer_value(json_object_get(s, "rounds"));
    const size_t width = (size_t)json_integer_value(json_object_get(s, "d_model"));
    const struct attn_self_attention layer = {
        .size = sizeof layer,
        .batch = 1,
        .len = (size_t)json_integer_value(json_object_get(s, "s")),
        .d_in = width,
        .heads = width / HEAD_DIM,
        .qk_dim = HEAD_DIM,
        .v_dim = HEAD_DIM,
        .d_out = width,
    };
    struct attn_self_attention_tensors tensors;
    struct layer_call call;
    double *times[PARTS], *memory = calloc((PARTS + 1) * rounds, sizeof *memory);
    json_t *rows = NULL;
    if (!memory ||
        !draw(&layer, (uint64_t)json_integer_value(json_object_get(s, "seed")), &tensors)) {
        snprintf(work->message, sizeof work->message, "out of memory");
        free(memory);
        return NULL;
    }
    for (size_t p = 0; p < PARTS; p++)
        times[p] = memory + p * rounds;
    if (layer_call_open(&call, &layer, "flash", work->threads, work->message,
                        sizeof work->message)) {
        measure(&call, &tensors, rounds, times);
        rows = json_pack("[o]", time_row(s, &call, times, rounds, memory + PARTS * rounds));
        layer_call_close(&call);
    }
    free(tensors.y);
    free(memory);
    return rows;
}

static json_t *compute(const json_t *s, struct experiment_work *work)
{
    const bool real = strcmp(experiment_text(s, "part"), "real") == 0;
    return real ? layer_real_rows(work) : compute_time(s, work);
}

/* ---- the report ------------------------------------------------------------------------------ */

static bool print_real(const json_t *rows)
{
    static const struct table_column columns[] = {
        {"kernel", 0, true}, {"tokens", 0, false}, {"largest difference", 0, false}, {"", 0, true}};
    struct grid grid = {.table.columns = columns, .table.column_count = 4};
    bool right = true;
    const json_t *row;
    size_t i;
    json_array_foreach (rows, i, row) {
        const json_t *params = json_object_get(row, "params");
        const double difference = experiment_number(json_object_get(row, "values"), "difference");
        if (strcmp(experiment_text(params, "part"), "real") != 0)
            continue;
        const bool same = difference <= MATCH;
        right &= same;
        grid_row(&grid);
        grid_text(&grid, "%s", experiment_text(params, "kernel"));
        grid_number(&grid, "%.0f", experiment_number(params, "s"));
        grid_number(&grid, "%.2g", difference);
        grid_text(&grid, "%s", same ? "ok" : "DIFFERS");
        grid_style(&grid, same ? TABLE_PLAIN : TABLE_BAD);
    }
    grid_print(&grid, "a layer of all-MiniLM-L6-v2 from its file, against the model's output");
    return right;
}

static void print_times(const json_t *rows)
{
    static const struct table_column columns[] = {
        {"d_model", 0, false},      {"S", 0, false},      {"Q K V", 0, false},
        {"attention", 0, false},    {"output", 0, false}, {"attention's share", 0, false},
        {"95 % interval", 0, false}};
    struct grid grid = {.table.columns = columns, .table.column_count = 7};
    double half = NAN, widest = 0;
    const json_t *row;
    size_t i;
    json_array_foreach (rows, i, row) {
        const json_t *params = json_object_get(row, "params");
        const json_t *values = json_object_get(row, "values");
        const double share = experiment_number(values, "attention_share");
        const double width = experiment_number(params, "d_model");
        if (strcmp(experiment_text(params, "part"), "time") != 0)
            continue;
        grid_row(&grid);
        grid_number(&grid, "%.0f", width);
        grid_number(&grid, "%.0f", experiment_number(params, "s"));
        grid_number(&grid, "%.3f ms", 1e3 * experiment_number(values, "project_s"));
        grid_number(&grid, "%.3f ms", 1e3 * experiment_number(values, "attend_s"));
        grid_number(&grid, "%.3f ms", 1e3 * experiment_number(values, "output_s"));
        grid_number(&grid, "%.1f%%", 100 * share);
        grid_range(&grid, "%.3f", experiment_at_number(values, "ci95", 0),
                   experiment_at_number(values, "ci95", 1));
        if (width > widest) {
            widest = width;
            half = NAN;
        }
        if (share >= 0.5 && isnan(half))
            half = experiment_number(params, "s");
    }
    grid_print(&grid, "time of a layer's parts, heads of 64");
    if (isfinite(half))
        report_sentence("At d_model = %.0f attention takes more than half of the layer's time from "
                        "S = %.0f on; below, projections do.",
                        widest, half);
    else if (widest > 0)
        report_sentence("At d_model = %.0f projections take more than half of the layer's time at "
                        "every S measured.",
                        widest);
}

static bool report(const json_t *rows)
{
    const bool right = print_real(rows);
    print_times(rows);
    return right;
}

const struct experiment experiment_layer = {
    .name = "layer",
    .question = "How much of a self-attention layer is attention?",
    .method =
        "A layer of d_model = heads x 64 with an output projection: projections by CBLAS,\n"
        "attention by flash, each part timed in every round; medians, and the share of attention\n"
        "with its exact 95 % interval.  And a real layer: X, weights and biases from its\n"
        "safetensors file, by every kernel, against the output that the model computed.",
    .source = "Vaswani et al. 2017, arXiv:1706.03762, table 1; tests/data/README.md",
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = report,
};
