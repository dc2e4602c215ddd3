/*
 * error_growth: each kernel's error against float64, by the number of keys.
 */
#include <math.h>

#include "base/random.h"
#include "experiment.h"
#include "parts.h"
#include "reference.h"
#include "results/report.h"

#define STREAM 8000

static const char *const inputs[] = {"normal", "sink", NULL};

static const struct option parameters[] = {
    {"s", "LIST", "16..65536*2", "16,128,1024,8192", "keys that a query sees",
     .kind = OPTION_COUNTS, .lo = 1, .hi = 1 << 20},
    {"d", "N", "64", NULL, "dimension", .kind = OPTION_COUNT, .lo = 1, .hi = 1024},
    {"rows", "N", "64", "16", "queries", .kind = OPTION_COUNT, .lo = 1, .hi = 65536},
    {"inputs", "LIST", "normal,sink", NULL,
     "N(0, 1); the same with one key that outweighs all others", .kind = OPTION_WORDS,
     .words = inputs},
    {"dtypes", "LIST", "f32,bf16,f16", NULL, "types of operands and results", .kind = OPTION_WORDS,
     .words = experiment_dtypes},
    {0},
};

static void plan(const json_t *asked, json_t *steps)
{
    experiment_steps(steps, experiment_pick(json_object(), asked, "s d rows seed"), asked,
                     "input=inputs dtype=dtypes kernel", kernel_call_names());
}

/* ---- errors ---------------------------------------------------------------------------------- */

struct judging {
    const struct kernel_call *call;
    struct error_growth *rows;
};

/* Errors of one row's elements; scratch holds an output, its bound and the reference's workspace. */
static void judge_row(void *context, size_t i, void *scratch)
{
    const struct judging *judging = context;
    const struct kernel_call *call = judging->call;
    const struct attn_problem *p = &call->plan.problem;
    struct error_growth *errors = &judging->rows[i];
    double *o = scratch, *workspace = o + 2 * p->v_dim;
    struct attn_reference_row row = {.size = sizeof row, .o = o, .bound = o + p->v_dim};
    attn_reference(p, &call->set.tensors, 0, 0, i, attn_compute(call->plan.kernel, p),
                   call->plan.kernel->caps.bound_factor, workspace, &row);
    for (size_t d = 0; d < p->v_dim; d++) {
        const double e = tensors_get(&call->set.tensors.o, 0, 0, i, d) - row.o[d];
        errors->n++;
        errors->sum += e;
        errors->squares += e * e;
        errors->output2 += row.o[d] * row.o[d];
        errors->bound2 += row.bound[d] * row.bound[d];
        errors->largest = experiment_larger(errors->largest, fabs(e));
        errors->over_bound = experiment_larger(errors->over_bound, fabs(e) / row.bound[d]);
    }
}

bool error_growth_judge(const struct kernel_call *call, struct experiment_work *work,
                        struct error_growth *errors)
{
    const struct attn_problem *p = &call->plan.problem;
    struct error_growth *rows = experiment_alloc(work, p->q_len, sizeof *rows);
    const size_t scratch = 2 * p->v_dim * sizeof(double) + attn_reference_workspace(p);
    *errors = (struct error_growth){0};
    if (!rows || !experiment_blocks(p->q_len, work->threads, scratch, judge_row,
                                    &(struct judging){call, rows}))
        return false;
    for (size_t i = 0; i < p->q_len; i++) {
        errors->n += rows[i].n;
        errors->sum += rows[i].sum;
        errors->squares += rows[i].squares;
        errors->output2 += rows[i].output2;
        errors->bound2 += rows[i].bound2;
        errors->largest = fmax(errors->largest, rows[i].largest);
        errors->over_bound = fmax(errors->over_bound, rows[i].over_bound);
    }
    return true;
}

static json_t *values_of(const struct error_growth *e)
{
    const double mean = e->sum / e->n;
    return experiment_values((struct experiment_value[]){
        {"max", e->largest},
        {"rms", sqrt(e->squares / e->n)},
        {"mean", mean},
        {"mean_se", sqrt((e->squares / e->n - mean * mean) / e->n)},
        {"output_rms", sqrt(e->output2 / e->n)},
        {"bound_rms", sqrt(e->bound2 / e->n)},
        {"error_over_bound", e->over_bound},
        {0},
    });
}

static bool one_length(const json_t *s, size_t keys, json_t *rows, struct experiment_work *work)
{
    const bool sink = experiment_is(s, "input", "sink");
    struct problem_case c = {.name = "growth", .input = {.kind = sink ? INPUT_SINK : INPUT_NORMAL}};
    struct error_growth errors;
    struct kernel_call call;
    attn_problem_init(&c.problem);
    c.problem.dtype = c.problem.kv_dtype = experiment_dtype(s);
    c.problem.q_len = experiment_count(s, "rows");
    c.problem.kv_len = keys;
    c.problem.qk_dim = c.problem.v_dim = experiment_count(s, "d");
    c.input.seed = random_key(experiment_count(s, "seed"), STREAM + keys);
    const struct attn_kernel *kernel = kernel_call_find(member_text(s, "kernel"), &c.problem, work);
    if (!kernel) /* it does not take the type: no row */
        return true;
    if (!kernel_call_case(&call, kernel, &c, work->threads, work))
        return false;
    kernel_call_run(&call);
    const bool right = error_growth_judge(&call, work, &errors);
    if (right) {
        json_t *params = kernel_call_params(s, kernel);
        json_object_set_new(params, "s", json_integer((json_int_t)keys));
        experiment_add(rows, params, values_of(&errors));
    }
    kernel_call_close(&call);
    return right;
}

static bool compute(const json_t *s, json_t *rows, struct experiment_work *work)
{
    const json_t *keys;
    size_t i;
    bool right = true;
    json_array_foreach (json_object_get(s, "s"), i, keys)
        right = right && one_length(s, (size_t)json_integer_value(keys), rows, work);
    return right;
}

/* ---- the report ------------------------------------------------------------------------------ */

/* Slope of log(rms error / rms output) over log(s) for f32 and N(0, 1), by least squares over all kernels. */
static double slope(const json_t *rows)
{
    struct experiment_part part = {.rows = rows, .where = "dtype=f32 input=normal"};
    double n = 0, x1 = 0, y1 = 0, xx = 0, xy = 0;
    while (experiment_part_next(&part)) {
        const double x = log(member_number(part.params, "s"));
        const double y =
            log(member_number(part.values, "rms") / member_number(part.values, "output_rms"));
        if (!isfinite(y))
            continue;
        n++;
        x1 += x;
        y1 += y;
        xx += x * x;
        xy += x * y;
    }
    return (n * xy - x1 * y1) / (n * xx - x1 * x1);
}

/* Prints how errors grow on normal inputs, and whether their mean differs from 0. */
static void report_normal(const json_t *rows)
{
    struct experiment_part part = {.rows = rows, .where = "input=normal"};
    size_t biased = 0, count = 0;
    while (experiment_part_next(&part)) {
        count++;
        biased +=
            fabs(member_number(part.values, "mean")) > 3 * member_number(part.values, "mean_se");
    }
    if (count)
        report_sentence("In f32 the error relative to the output grows as the keys to the power of "
                        "%.2f, and the mean lies beyond 3 standard errors in %zu of %zu rows.",
                        slope(rows), biased, count);
}

/* Prints which kernels come nearest to their bound with a sink among the most keys in f32, and which stay
 * farthest from it. */
static void report_sink(const json_t *rows)
{
    struct experiment_part part = {.rows = rows, .where = "input=sink dtype=f32"};
    const char *worst_name = "", *best_name = "";
    double keys = 0, worst = -1, best = INFINITY;
    while (experiment_part_next(&part)) {
        const double s = member_number(part.params, "s");
        const double share = member_number(part.values, "error_over_bound");
        if (s < keys)
            continue;
        if (s > keys) {
            worst = -1;
            best = INFINITY;
        }
        keys = s;
        worst_name = share > worst ? member_text(part.params, "kernel") : worst_name;
        worst = fmax(worst, share);
        best_name = share < best ? member_text(part.params, "kernel") : best_name;
        best = fmin(best, share);
    }
    if (worst >= 0)
        report_sentence(
            "Behind a sink among %.0f keys in f32 %s comes to %.3g of its bound, %s, which "
            "sums in lanes and blocks, to %.3g.",
            keys, worst_name, worst, best_name, best);
}

static bool report(const json_t *rows)
{
    const struct experiment_extent share = experiment_extent(rows, NULL, "error_over_bound");
    const double worst = share.missing ? NAN : share.most;
    experiment_list(
        rows, NULL,
        "input dtype kernel s max rms output_rms mean? mean_se? bound_rms? error_over_bound",
        "errors against float64, over the number of keys");
    report_normal(rows);
    report_sink(rows);
    report_sentence("The largest error of all is %.3f of its bound.", worst);
    return worst <= 1;
}

const struct calculation calculation_error_growth = {
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = report,
};
