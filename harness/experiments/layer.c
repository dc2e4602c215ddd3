/*
 * layer: where the time of a self-attention layer goes, and a real one from its file.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/random.h"
#include "base/stats.h"
#include "experiment.h"
#include "experiments/shared/grid.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/shared/layer_call.h"
#include "experiments/shared/layer_file.h"
#include "list.h"
#include "results/report_experiment.h"

#define STREAM 13000
#define HEAD_DIM 64

static const char *const parts[] = {"real", "time", NULL};
static const char *const masks[] = {"none", "causal", NULL};

static const struct parameter parameters[] = {
    {"parts", "LIST", "real,time", NULL, "a layer of a file, and random ones", PARAMETER_WORDS, 0,
     0, parts},
    {"file", "PATH", "minilm-preamble.safetensors", NULL,
     "safetensors with PREFIXx, wq, wk, wv [, bq, bk, bv, wo, bo, o or y], or wq.weight, wq.bias "
     "and so "
     "on of torch.nn.Linear",
     PARAMETER_TEXT, 0, 0, NULL},
    {"prefix", "TEXT", "layer1.", NULL, "prefix of the file's tensors", PARAMETER_TEXT, 0, 0, NULL},
    {"file-heads", "N", "0", NULL, "heads of the file's layer; 0: as its o says", PARAMETER_COUNT,
     0, 65536, NULL},
    {"mask", "WORD", "none", NULL, "mask of the file's layer: none, causal", PARAMETER_WORD, 0, 0,
     masks},
    {"s", "LIST", "64..4096", "64,256,1024", "numbers of tokens", PARAMETER_COUNTS, 1, 1 << 20,
     NULL},
    {"heads", "LIST", "4,8,16", "4,8", "numbers of heads of 64; d_model is 64 times as many",
     PARAMETER_COUNTS, 1, 256, NULL},
    {"rounds", "N", "12", "6", "timings", PARAMETER_COUNT, 6, 1000, NULL},
    {0},
};

static void plan(const json_t *asked, json_t *steps)
{
    const json_t *heads;
    size_t i;
    if (experiment_wants(asked, "real"))
        json_array_append_new(steps, experiment_pick(json_pack("{s:s}", "part", "real"), asked,
                                                     "file prefix file-heads mask rounds"));
    if (!experiment_wants(asked, "time"))
        return;
    json_array_foreach (json_object_get(asked, "heads"), i, heads) {
        const json_int_t width = HEAD_DIM * json_integer_value(heads);
        json_t *base = json_pack("{s:s, s:I}", "part", "time", "d_model", width);
        experiment_steps(steps, experiment_pick(base, asked, "rounds seed"),
                         (struct experiment_axis[]){{"s", json_object_get(asked, "s"), NULL}, {0}});
    }
}

/* ---- time ------------------------------------------------------------------------------------ */

#define PARTS 3

/* Seconds of the parts in turns, into times[part * rounds + round], after one call; and attention's share of
 * each round. */
static void measure(const struct layer_call *call, const struct attn_self_attention_tensors *t,
                    size_t rounds, double *times, double *shares)
{
    static void (*const run[PARTS])(const struct attn_self_attention_plan *,
                                    const struct attn_self_attention_tensors *) = {
        attn_self_attention_project, attn_self_attention_attend, attn_self_attention_output};
    attn_self_attention_execute(&call->plan, t);
    for (size_t r = 0; r < rounds; r++)
        for (size_t p = 0; p < PARTS; p++) {
            const double start = clock_now();
            run[p](&call->plan, t);
            times[p * rounds + r] = clock_now() - start;
        }
    for (size_t r = 0; r < rounds; r++)
        shares[r] = times[rounds + r] / (times[r] + times[rounds + r] + times[2 * rounds + r]);
}

/* Median seconds of projections, attention and output projection, and the share of attention with its
 * interval; NULL if memory runs out. */
static json_t *times_of(const json_t *s, const struct layer_call *call,
                        const struct attn_self_attention_tensors *tensors,
                        struct experiment_work *work)
{
    const size_t rounds = experiment_count(s, "rounds");
    double *times = experiment_alloc(work, (PARTS + 1) * rounds, sizeof *times);
    double lo = NAN, hi = NAN;
    if (!times)
        return NULL;
    double *shares = times + PARTS * rounds;
    measure(call, tensors, rounds, times, shares);
    stats_sort(shares, rounds);
    stats_median_ci95(shares, rounds, &lo, &hi);
    json_t *values = experiment_values(
        (struct experiment_value[]){{"project_s", stats_median_of(times, rounds)},
                                    {"attend_s", stats_median_of(times + rounds, rounds)},
                                    {"output_s", stats_median_of(times + 2 * rounds, rounds)},
                                    {"attention_share", stats_median(shares, rounds)},
                                    {0}});
    json_object_set_new(values, "ci95", experiment_range(lo, hi));
    return values;
}

/* A layer with random weights, in memory of the step. */
static bool draw(const struct attn_self_attention *l, uint64_t seed,
                 struct attn_self_attention_tensors *t, struct experiment_work *work)
{
    const size_t x = l->len * l->d_in, w = l->d_in * l->d_in;
    float *all = experiment_alloc(work, 2 * x + 4 * w, sizeof *all);
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

/* The parameters of a row: those given, and what ran. */
static json_t *params_of(json_t *given, const struct layer_call *call)
{
    const struct attn_kernel *kernel = call->plan.attention.kernel;
    json_object_set_new(given, "kernel", json_string(kernel->name));
    json_object_set_new(given, "isa", json_string(attn_isa_name(kernel->isa)));
    json_object_set_new(given, "threads", json_integer(call->plan.threads));
    return given;
}

static bool compute_time(const json_t *s, json_t *rows, struct experiment_work *work)
{
    const size_t width = experiment_count(s, "d_model");
    struct attn_self_attention layer =
        layer_shape(experiment_count(s, "s"), width, width / HEAD_DIM, HEAD_DIM);
    struct attn_self_attention_tensors tensors;
    struct layer_call call;
    layer.d_out = width;
    if (!draw(&layer, experiment_count(s, "seed"), &tensors, work) ||
        !layer_call_open(&call, &layer, "flash", work))
        return false;
    json_t *values = times_of(s, &call, &tensors, work);
    if (values)
        experiment_add(rows, params_of(json_copy((json_t *)s), &call), values);
    layer_call_close(&call);
    return values;
}

/* ---- a layer that somebody trained ------------------------------------------------------------- */

/* One kernel: how far its output is from the file's, and where its time goes. */
static bool real_row(const json_t *s, const struct layer_file *file, const char *kernel, float *y,
                     json_t *rows, struct experiment_work *work)
{
    const struct attn_self_attention_tensors tensors = layer_file_tensors(file, y);
    const struct attn_self_attention *l = &file->layer;
    struct layer_call call;
    if (!layer_call_open(&call, l, kernel, work))
        return false;
    json_t *values = times_of(s, &call, &tensors, work);
    if (values) {
        json_t *params = json_pack("{s:I, s:I, s:I, s:I}", "batch", (json_int_t)l->batch, "s",
                                   (json_int_t)l->len, "d_model", (json_int_t)l->d_in, "heads",
                                   (json_int_t)l->heads);
        json_object_set_new(values, "difference", number_json(layer_file_difference(file, y)));
        json_object_set_new(values, "tolerance", number_json(layer_file_tolerance(file)));
        experiment_pick(params, s, "part file prefix mask");
        experiment_add(rows, params_of(params, &call), values);
    }
    layer_call_close(&call);
    return values;
}

static bool compute_real(const json_t *s, json_t *rows, struct experiment_work *work)
{
    struct layer_file file;
    if (!layer_file_open(&file, experiment_text(s, "file"), experiment_text(s, "prefix"),
                         experiment_count(s, "file-heads"), work))
        return false;
    if (experiment_is(s, "mask", "causal"))
        file.layer.mask = ATTN_MASK_CAUSAL;
    float *y = experiment_alloc(work, layer_file_outputs(&file), sizeof *y);
    bool right = y;
    for (const char *const *kernel = kernel_call_names(); right && *kernel; kernel++)
        right = real_row(s, &file, *kernel, y, rows, work);
    return right;
}

static bool compute(const json_t *s, json_t *rows, struct experiment_work *work)
{
    const bool real = experiment_is(s, "part", "real");
    return real ? compute_real(s, rows, work) : compute_time(s, rows, work);
}

/* ---- the report ------------------------------------------------------------------------------ */

/* False where an output differs by more than rounding explains. */
static bool report_real(const json_t *rows)
{
    static const struct grid_column columns[] = {
        {"kernel", "kernel", NULL, 0},        {"tokens", "s", "%.0f", 0},
        {"d_model", "d_model", "%.0f", 0},    {"difference", "difference", "%.2g", 0},
        {"allowed", NULL, "%s", 1},           {"", NULL, NULL, 0},
        {"attention", NULL, "%s", 0},         {"attention's share", "attention_share", "%.1f%%", 0},
        {"95 % interval", "ci95", "%.3f", 1}, {0},
    };
    struct experiment_part part = {.rows = rows, .name = "real"};
    char heading[TABLE_CELL * 2] = "";
    bool right = true;
    struct grid grid;
    grid_open(&grid, columns);
    while (experiment_part_next(&part)) {
        const double difference = experiment_number(part.values, "difference");
        const double tolerance = experiment_number(part.values, "tolerance");
        const bool known = isfinite(difference), same = !known || difference <= tolerance;
        char allowed[TABLE_CELL] = "", time[TABLE_CELL];
        right &= same;
        snprintf(heading, sizeof heading, "layer %s of %s, beside the output in the file",
                 experiment_text(part.params, "prefix"), experiment_text(part.params, "file"));
        if (known)
            snprintf(allowed, sizeof allowed, "%.2g", tolerance);
        snprintf(time, sizeof time, "%.1f us", 1e6 * experiment_number(part.values, "attend_s"));
        grid_add(&grid, &part, allowed, !known ? "no output" : same ? "ok" : "DIFFERS", time);
        grid_style(&grid, same ? TABLE_PLAIN : TABLE_BAD);
    }
    grid_print(&grid, heading);
    return right;
}

/* Returns the widest d_model, and *half receives the S from which attention takes half of its time. */
static double print_times(const json_t *rows, double *half)
{
    static const struct grid_column columns[] = {
        {"d_model", "d_model", "%.0f", 0},
        {"S", "s", "%.0f", 0},
        {"Q K V", NULL, "%s", 0},
        {"attention", NULL, "%s", 0},
        {"output", NULL, "%s", 0},
        {"attention's share", "attention_share", "%.1f%%", 0},
        {"95 % interval", "ci95", "%.3f", 0},
        {0},
    };
    static const char *const keys[] = {"project_s", "attend_s", "output_s"};
    struct experiment_part part = {.rows = rows, .name = "time"};
    double widest = 0;
    struct grid grid;
    grid_open(&grid, columns);
    while (experiment_part_next(&part)) {
        const double width = experiment_number(part.params, "d_model");
        char ms[PARTS][TABLE_CELL];
        for (size_t p = 0; p < PARTS; p++)
            snprintf(ms[p], sizeof *ms, "%.3f ms", 1e3 * experiment_number(part.values, keys[p]));
        grid_add(&grid, &part, ms[0], ms[1], ms[2]);
        if (width > widest)
            *half = NAN;
        widest = fmax(widest, width);
        if (experiment_number(part.values, "attention_share") >= 0.5 && isnan(*half))
            *half = experiment_number(part.params, "s");
    }
    grid_print(&grid, "time of a layer's parts, heads of 64");
    return widest;
}

static bool report(const json_t *rows)
{
    const bool right = report_real(rows);
    double half = NAN;
    const double widest = print_times(rows, &half);
    if (isfinite(half))
        report_sentence("At d_model = %.0f attention takes more than half of the layer's time from "
                        "S = %.0f on; below, projections do.",
                        widest, half);
    else if (widest > 0)
        report_sentence("At d_model = %.0f projections take more than half of the layer's time at "
                        "every S measured.",
                        widest);
    return right;
}

const struct experiment experiment_layer = {
    .name = "layer",
    .question = "How much of a self-attention layer is attention?",
    .method =
        "A layer of d_model = heads x 64 with an output projection: projections by CBLAS,\n"
        "attention by flash, each part timed in every round; medians, and the share of attention\n"
        "with its exact 95 % interval.  And a layer from a safetensors file, by default one of\n"
        "all-MiniLM-L6-v2: X, weights and biases as the file has them, by every kernel, against\n"
        "the output in the file; fails where one differs by more than rounding explains.",
    .source = "Vaswani et al. 2017, arXiv:1706.03762, table 1; tests/data/README.md",
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = report,
};
