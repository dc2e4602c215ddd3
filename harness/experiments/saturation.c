/*
 * saturation: at which d and scale softmax stops passing gradients.
 */
#include <math.h>

#include "base/random.h"
#include "base/stats.h"
#include "experiment.h"
#include "experiments/shared/dots.h"
#include "experiments/shared/layer_heads.h"
#include "experiments/shared/softmax_facts.h"
#include "results/report.h"

enum { STREAM_Q = 5000, STREAM_K = 6000 };

/* A row is dead if its gradient is below this share of the median at scale 1/sqrt(d). */
#define DEAD 1e-3

static const struct option parameters[] = {
    {"d", "LIST", "1,4,16,64,256,1024,4096", "4,16,64,256,1024", "dimensions",
     .kind = OPTION_COUNTS, .lo = 1, .hi = 65536},
    {"keys", "N", "256", NULL, "keys that a query sees", .kind = OPTION_COUNT, .lo = 2,
     .hi = 65536},
    {"rows", "N", "256", "64", "queries", .kind = OPTION_COUNT, .lo = 1, .hi = 1e6},
    {"inputs", "LIST", "normal,uniform,rademacher,heavy", "normal", "distributions of q and k",
     .kind = OPTION_WORDS, .words = distribution_names},
    {0},
};

static void plan(const json_t *asked, json_t *steps)
{
    json_t *base = json_pack("{s:s}", "part", "random");
    experiment_steps(steps, experiment_pick(base, asked, "keys rows seed"), asked,
                     "input=inputs d=d", NULL);
    layer_heads_steps(steps, json_pack("{s:s}", "part", "real"));
}

/* ---- one head at all scales ------------------------------------------------------------------ */

static double median_gradient(const struct softmax_facts_row *rows, size_t n, double *gradients)
{
    for (size_t i = 0; i < n; i++)
        gradients[i] = rows[i].gradient;
    stats_sort(gradients, n);
    return stats_median(gradients, n);
}

/* Means over n rows at one scale; `root` is the median gradient at scale 1/sqrt(d). */
static json_t *values_of(const struct softmax_facts_row *rows, size_t n, double *gradients,
                         double root)
{
    const double count = (double)n, median = median_gradient(rows, n, gradients);
    struct softmax_facts_row sum = {0};
    size_t dead = 0;
    for (size_t i = 0; i < n; i++) {
        sum.entropy += rows[i].entropy;
        sum.largest += rows[i].largest;
        sum.jacobian += rows[i].jacobian;
        dead += rows[i].gradient < DEAD * root;
    }
    return experiment_values((struct experiment_value[]){
        {"entropy", sum.entropy / count},
        {"effective_keys", exp(sum.entropy / count)},
        {"largest", sum.largest / count},
        {"jacobian", sum.jacobian / count},
        {"gradient", median},
        {"gradient_p05", stats_quantile(gradients, n, 0.05)},
        {"gradient_p95", stats_quantile(gradients, n, 0.95)},
        {"dead", (double)dead / count},
        {0},
    });
}

/* Adds a row of results for each scale; steals `params`, which all of them share. */
static bool head_rows(const struct softmax_head *head, json_t *params, json_t *result,
                      struct experiment_work *work)
{
    const size_t n = head->rows;
    struct softmax_facts_row *rows = experiment_alloc(work, n * DOTS_SCALES, sizeof *rows);
    double *gradients = experiment_alloc(work, n, sizeof *gradients);
    bool right = rows && gradients;
    for (size_t s = 0; right && s < DOTS_SCALES; s++)
        right = softmax_facts_rows(head, pow((double)head->d, dots_scales[s].power), work->threads,
                                   rows + s * n);
    const double root = right ? median_gradient(rows + DOTS_SCALE_ROOT * n, n, gradients) : NAN;
    for (size_t s = 0; right && s < DOTS_SCALES; s++) {
        json_t *mine = json_copy(params);
        json_object_set_new(mine, "scale", json_string(dots_scales[s].name));
        experiment_add(result, mine, values_of(rows + s * n, n, gradients, root));
    }
    json_decref(params);
    return right;
}

static bool random_head(const json_t *s, json_t *result, struct experiment_work *work)
{
    const size_t seed = experiment_count(s, "seed"), d = experiment_count(s, "d");
    const size_t rows = experiment_count(s, "rows"), keys = experiment_count(s, "keys");
    const enum distribution input = distribution_find(member_text(s, "input"));
    float *q = experiment_alloc(work, rows * d, sizeof *q);
    float *k = experiment_alloc(work, keys * d, sizeof *k);
    if (!q || !k)
        return false;
    distribution_draw(input, q, rows * d, random_key(seed, STREAM_Q + d), 0);
    distribution_draw(input, k, keys * d, random_key(seed, STREAM_K + d), 0);
    return head_rows(&(struct softmax_head){q, k, rows, keys, d}, json_copy((json_t *)s), result,
                     work);
}

static bool compute(const json_t *s, json_t *result, struct experiment_work *work)
{
    struct layer_heads l;
    if (experiment_is(s, "part", "random"))
        return random_head(s, result, work);
    bool right = layer_heads_open(&l, member_text(s, "file"), member_text(s, "prefix"), work);
    for (size_t h = 0; right && h < l.heads; h++) {
        const size_t at = h * l.len * l.dim;
        const struct softmax_head head = {l.q + at, l.k + at, l.len, l.len, l.dim};
        right = head_rows(&head, layer_heads_params(s, &l, h, "keys"), result, work);
    }
    return right;
}

/* ---- the report ------------------------------------------------------------------------------ */

/* The smallest d at which most normal rows are dead at scale 1, NaN if there is none; *last: the largest
 * d. */
static double find_end(const json_t *rows, struct experiment_part *last)
{
    struct experiment_part part = {.rows = rows, .where = "input=normal scale=1"};
    double stops = NAN;
    while (experiment_part_next(&part)) {
        *last = part;
        if (isnan(stops) && member_number(part.values, "dead") > 0.5)
            stops = member_number(part.params, "d");
    }
    return stops;
}

static bool report(const json_t *rows)
{
    experiment_list(rows, "part=random",
                    "input d scale entropy effective_keys largest jacobian gradient dead",
                    "random queries and keys");
    experiment_list(rows, "part=real",
                    "prefix head scale entropy effective_keys largest jacobian gradient dead",
                    "heads of all-MiniLM-L6-v2");
    struct experiment_part last = {0};
    const double stops = find_end(rows, &last);
    const struct experiment_extent root =
        experiment_extent(rows, "input=normal scale=d^-1/2", "effective_keys");
    if (last.values)
        report_sentence("Without a scale %.1f keys are in use at d = %.0f and %.0f %% of the rows "
                        "are dead; with 1/sqrt(d) there are %.0f to %.0f at every d.",
                        member_number(last.values, "effective_keys"),
                        member_number(last.params, "d"), 100 * member_number(last.values, "dead"),
                        root.least, root.most);
    if (isfinite(stops))
        report_sentence("Learning stops at d = %.0f: from there on most rows pass less than a "
                        "thousandth of the gradient that they pass with 1/sqrt(d).",
                        stops);
    return true;
}

const struct calculation calculation_saturation = {
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = report,
};
