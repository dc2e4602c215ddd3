/*
 * rescale: how often an online softmax finds a new maximum.
 *
 * An online softmax keeps the maximum score of the keys seen so far.  A block with a higher score makes it
 * rescale its sum and output row.  A lazy one rescales only if the maximum grew by more than a threshold, and
 * lets weights exceed 1 until then.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "experiment.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/shared/layer_heads.h"
#include "parts.h"
#include "results/report.h"

#define STREAM 10000
#define LOG2_E 1.4426950408889634

static const char *const inputs[] = {"normal", "ascending", "descending", NULL};

static const struct option parameters[] = {
    {"s", "N", "4096", "1024", "keys of a random row", .kind = OPTION_COUNT, .lo = 2,
     .hi = 1 << 20},
    {"rows", "N", "200", "50", "random rows", .kind = OPTION_COUNT, .lo = 1, .hi = 1e6},
    {"blocks", "LIST", "1,16,64,128,256", NULL, "keys that are taken together",
     .kind = OPTION_COUNTS, .lo = 1, .hi = 65536},
    {"thresholds", "LIST", "0,1,4,8", NULL,
     "growth of the maximum, as a power of 2, that is tolerated", .kind = OPTION_NUMBERS, .lo = 0,
     .hi = 64},
    {"inputs", "LIST", "normal,ascending,descending", NULL,
     "N(0, 1) logits, or the same times 16 and sorted", .kind = OPTION_WORDS, .words = inputs},
    {0},
};

static void plan(const json_t *asked, json_t *steps)
{
    json_t *base = json_pack("{s:s}", "part", "count");
    experiment_pick(base, asked, "s rows blocks thresholds seed");
    experiment_steps(steps, json_copy(base), asked, "input=inputs", NULL);
    layer_heads_steps(steps, base);
}

/* ---- counting -------------------------------------------------------------------------------- */

size_t rescale_count(const float *x, size_t n, size_t block, double threshold)
{
    double m = -INFINITY;
    size_t count = 0;
    for (size_t j = 0; j < n; j += block) {
        double highest = -INFINITY;
        for (size_t k = j; k < n && k < j + block; k++)
            highest = fmax(highest, (double)x[k] * LOG2_E);
        if (highest > m + threshold || j == 0) {
            count += j > 0;
            m = highest;
        }
    }
    return count;
}

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void rescale_draw(const char *input, float *x, size_t n, uint64_t key)
{
    random_normal(x, n, key, 0);
    if (strcmp(input, "normal") == 0)
        return;
    qsort(x, n, sizeof *x, compare_floats);
    for (size_t j = 0; j < n; j++)
        x[j] *= 16;
    for (size_t j = 0; strcmp(input, "descending") == 0 && j < n / 2; j++) {
        const float last = x[n - 1 - j];
        x[n - 1 - j] = x[j];
        x[j] = last;
    }
}

/* Rows of logits. */
struct logits {
    size_t rows, keys;
    float *x;
};

static bool real_logits(const json_t *s, struct logits *l, struct experiment_work *work)
{
    struct layer_heads layer;
    if (!layer_heads_open(&layer, member_text(s, "file"), member_text(s, "prefix"), work))
        return false;
    l->rows = layer.heads * layer.len;
    l->keys = layer.len;
    l->x = experiment_alloc(work, l->rows * l->keys, sizeof *l->x);
    for (size_t r = 0; l->x && r < l->rows; r++)
        for (size_t j = 0; j < l->keys; j++) {
            const float *k = layer.k + (r / layer.len * layer.len + j) * layer.dim;
            l->x[r * l->keys + j] = (float)(kernel_call_dot(layer.q + r * layer.dim, k, layer.dim) /
                                            sqrt((double)layer.dim));
        }
    return l->x;
}

static bool random_logits(const json_t *s, struct logits *l, struct experiment_work *work)
{
    l->rows = experiment_count(s, "rows");
    l->keys = experiment_count(s, "s");
    l->x = experiment_alloc(work, l->rows * l->keys, sizeof *l->x);
    for (size_t r = 0; l->x && r < l->rows; r++)
        rescale_draw(member_text(s, "input"), l->x + r * l->keys, l->keys,
                     random_key(experiment_count(s, "seed"), STREAM + r));
    return l->x;
}

static void count_row(const json_t *s, const struct logits *l, size_t block, double threshold,
                      json_t *rows)
{
    const bool real = json_object_get(s, "file");
    const size_t chances = (l->keys + block - 1) / block - 1;
    size_t total = 0;
    for (size_t r = 0; r < l->rows; r++)
        total += rescale_count(l->x + r * l->keys, l->keys, block, threshold);
    const double mean = (double)total / (double)l->rows;
    json_t *params =
        json_pack("{s:s, s:s, s:I, s:I, s:I, s:f}", "part", "count", "input",
                  member_text(s, real ? "prefix" : "input"), "s", (json_int_t)l->keys, "rows",
                  (json_int_t)l->rows, "block", (json_int_t)block, "threshold", threshold);
    experiment_add(rows, real ? params : experiment_pick(params, s, "seed"),
                   experiment_values((struct experiment_value[]){
                       {"rescales", mean}, {"share", mean / (double)chances}, {0}}));
}

static bool compute(const json_t *s, json_t *rows, struct experiment_work *work)
{
    size_t b, t;
    const json_t *block, *threshold;
    struct logits l;
    const bool real = json_object_get(s, "file");
    if (!(real ? real_logits(s, &l, work) : random_logits(s, &l, work)))
        return false;
    json_array_foreach (json_object_get(s, "blocks"), b, block)
        json_array_foreach (json_object_get(s, "thresholds"), t, threshold)
            if ((size_t)json_integer_value(block) < l.keys)
                count_row(s, &l, (size_t)json_integer_value(block), json_number_value(threshold),
                          rows);
    return true;
}

/* ---- the report ------------------------------------------------------------------------------ */

static bool report(const json_t *rows)
{
    experiment_list(rows, "part=count", "input s block threshold rescales share",
                    "rescales per row, and their share of the blocks, by tolerated growth of the "
                    "maximum");
    const double often =
        experiment_extent(rows, "input=normal block=1 threshold=0", "rescales").first;
    const double blocks =
        experiment_extent(rows, "input=normal block=64 threshold=0", "rescales").first;
    const double lazy =
        experiment_extent(rows, "input=normal block=64 threshold=8", "rescales").first;
    if (isfinite(often) && isfinite(blocks) && isfinite(lazy))
        report_sentence("On random logits a row of keys taken one by one rescales %.1f times, in "
                        "blocks of 64 %.1f times, and with a lazy threshold of 2^8 %.2g times.",
                        often, blocks, lazy);
    return true;
}

const struct calculation calculation_rescale = {
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = report,
};
