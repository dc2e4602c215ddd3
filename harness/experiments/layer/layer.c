/*
 * layer: where the time of a self-attention layer goes, and a real one from its file.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/experiment.h"
#include "experiments/shared/grid.h"
#include "experiments/shared/layer_call.h"
#include "real.h"
#include "time.h"
#include "experiments/list.h"
#include "base/random.h"
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

static json_t *real_step(const json_t *asked)
{
    json_t *s = json_pack("{s:s}", "part", "real");
    experiment_pick(s, asked, "file", "prefix", "file-heads", "mask", "rounds", NULL);
    return s;
}

static json_t *plan(const json_t *asked, char *message, size_t message_size)
{
    const json_t *s, *heads;
    size_t i, k;
    json_t *steps = json_array();
    (void)message;
    (void)message_size;
    if (experiment_wants(asked, "real"))
        json_array_append_new(steps, real_step(asked));
    if (!experiment_wants(asked, "time"))
        return steps;
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

static json_t *params_of(const json_t *s, const struct layer_call *call)
{
    json_t *params = json_copy((json_t *)s);
    const struct attn_kernel *kernel = call->plan.attention.kernel;
    json_object_set_new(params, "kernel", json_string(kernel->name));
    json_object_set_new(params, "isa", json_string(attn_isa_name(kernel->isa)));
    json_object_set_new(params, "threads", json_integer(call->plan.threads));
    return params;
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
    json_t *values = NULL, *rows = NULL;
    snprintf(work->message, sizeof work->message, "out of memory");
    if (!draw(&layer, (uint64_t)json_integer_value(json_object_get(s, "seed")), &tensors))
        return NULL;
    if (layer_call_open(&call, &layer, "flash", work)) {
        if ((values = layer_time(&call, &tensors, rounds)))
            rows = json_pack("[o]", experiment_row(params_of(s, &call), values));
        layer_call_close(&call);
    }
    free(tensors.y);
    return rows;
}

static json_t *compute(const json_t *s, struct experiment_work *work)
{
    const bool real = strcmp(experiment_text(s, "part"), "real") == 0;
    return real ? layer_real_rows(s, work) : compute_time(s, work);
}

/* ---- the report ------------------------------------------------------------------------------ */

static void print_times(const json_t *rows)
{
    static const struct table_column columns[] = {
        {"d_model", 0, false},      {"S", 0, false},      {"Q K V", 0, false},
        {"attention", 0, false},    {"output", 0, false}, {"attention's share", 0, false},
        {"95 % interval", 0, false}};
    struct grid grid = {.table.columns = columns, .table.column_count = 7};
    double half = NAN, widest = 0;
    struct experiment_part part = {.rows = rows, .name = "time"};
    while (experiment_part_next(&part)) {
        const json_t *params = part.params, *values = part.values;
        const double share = experiment_number(values, "attention_share");
        const double width = experiment_number(params, "d_model");
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
    const bool right = layer_real_report(rows);
    print_times(rows);
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
