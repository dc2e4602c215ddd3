/*
 * memory: what each kernel needs beside its operands, over the number of keys.
 *
 * Each length runs in a worker of its own, so that its peak resident set starts small.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiment.h"
#include "experiments/shared/fit.h"
#include "experiments/shared/grid.h"
#include "experiments/shared/kernel_call.h"
#include "list.h"
#include "results/journal.h"
#include "system/machine.h"
#include "results/report_experiment.h"
#include "base/units.h"

#define MOST_LENGTHS 32

static const struct option parameters[] = {
    {"s", "LIST", "256..8192", "256..2048", "queries, and keys that they see",
     .kind = OPTION_COUNTS, .lo = 1, .hi = 1 << 20},
    {"d", "N", "64", NULL, "dimension", .kind = OPTION_COUNT, .lo = 1, .hi = 1024},
    {0},
};

static void plan(const json_t *asked, json_t *steps)
{
    const json_t *s;
    size_t i;
    for (const char *const *name = kernel_call_names(); *name; name++)
        for (int weights = 0; weights < 2; weights++)
            json_array_foreach (json_object_get(asked, "s"), i, s)
                json_array_append_new(steps, json_pack("{s:s, s:s, s:O, s:O}", "kernel", *name,
                                                       "outputs", weights ? "o+weights" : "o", "s",
                                                       s, "d", json_object_get(asked, "d")));
}

/* Bytes of operands and results. */
static double operand_bytes(const struct attn_problem *p)
{
    const double rows = (double)p->q_len * (double)(p->qk_dim + p->v_dim);
    const double keys = (double)p->kv_len * (double)(p->qk_dim + p->v_dim);
    const bool weights = p->outputs & ATTN_OUTPUT_WEIGHTS;
    return sizeof(float) * (rows + keys + (weights ? (double)p->q_len * (double)p->kv_len : 0));
}

static double peak(const struct experiment_work *work)
{
    struct machine_usage usage;
    machine_usage(work->machine, &usage);
    return (double)usage.peak_rss_bytes;
}

static bool compute(const json_t *s, json_t *rows, struct experiment_work *work)
{
    struct problem_case c = {.name = "memory", .input = {.kind = INPUT_NORMAL, .seed = 1}};
    struct attn_problem *p = &c.problem;
    struct kernel_call call;
    attn_problem_init(p);
    p->q_len = p->kv_len = experiment_count(s, "s");
    p->qk_dim = p->v_dim = experiment_count(s, "d");
    if (experiment_is(s, "outputs", "o+weights"))
        p->outputs |= ATTN_OUTPUT_WEIGHTS;
    const struct attn_kernel *kernel = kernel_call_find(experiment_text(s, "kernel"), p, work);
    if (!kernel) /* does not return weights: no row */
        return true;
    const double before = peak(work);
    if (!kernel_call_case(&call, kernel, &c, 1, work))
        return false;
    kernel_call_run(&call);
    const double after = peak(work), workspace = (double)call.plan.workspace_bytes;
    kernel_call_close(&call);
    json_t *params = json_copy((json_t *)s);
    json_object_set_new(params, "isa", json_string(attn_isa_name(kernel->isa)));
    experiment_add(
        rows, params,
        experiment_values((struct experiment_value[]){{"workspace_bytes", workspace},
                                                      {"operand_bytes", operand_bytes(p)},
                                                      {"peak_rss_bytes", after},
                                                      {"grown_bytes", after - before},
                                                      {0}}));
    return true;
}

/* ---- the report ------------------------------------------------------------------------------ */

/* The rows of a kernel with these outputs. */
struct curve {
    double s[MOST_LENGTHS], workspace[MOST_LENGTHS], total[MOST_LENGTHS];
    size_t n;
};

static void collect(const json_t *rows, const json_t *like, struct curve *curve)
{
    const json_t *row;
    size_t i;
    *curve = (struct curve){.n = 0};
    json_array_foreach (rows, i, row) {
        const json_t *params = json_object_get(row, "params");
        const json_t *values = json_object_get(row, "values");
        if (!json_equal(json_object_get(params, "kernel"), json_object_get(like, "kernel")) ||
            !json_equal(json_object_get(params, "outputs"), json_object_get(like, "outputs")) ||
            curve->n == MOST_LENGTHS)
            continue;
        curve->s[curve->n] = experiment_number(params, "s");
        curve->workspace[curve->n] = experiment_number(values, "workspace_bytes");
        curve->total[curve->n++] = experiment_number(values, "workspace_bytes") +
                                   experiment_number(values, "operand_bytes");
    }
}

static void exponent(struct grid *grid, struct fit fit)
{
    if (isfinite(fit.exponent))
        grid_text(grid, "%.2f (%.2f .. %.2f)", fit.exponent, fit.lo, fit.hi);
    else
        grid_text(grid, "%s", "");
}

static struct fit print_curve(struct grid *grid, const json_t *params, const json_t *values,
                              const struct curve *curve)
{
    char text[UNITS_TEXT];
    const struct fit total = fit_power(curve->s, curve->total, curve->n);
    grid_row(grid);
    grid_text(grid, "%s", experiment_text(params, "kernel"));
    grid_text(grid, "%s", experiment_text(params, "outputs"));
    grid_number(grid, "%.0f", experiment_number(params, "s"));
    units_bytes(experiment_number(values, "workspace_bytes"), text);
    grid_text(grid, "%s", text);
    units_bytes(experiment_number(values, "operand_bytes"), text);
    grid_text(grid, "%s", text);
    units_bytes(experiment_number(values, "grown_bytes"), text);
    grid_text(grid, "%s", text);
    exponent(grid, fit_power(curve->s, curve->workspace, curve->n));
    exponent(grid, total);
    return total;
}

static bool report(const json_t *rows)
{
    static const struct table_column columns[] = {
        {"kernel", 0, true},         {"outputs", 0, true},           {"S", 0, false},
        {"workspace", 0, false},     {"operands", 0, false},         {"resident set +", 1, false},
        {"workspace ~ S^", 0, true}, {"with operands ~ S^", 0, true}};
    struct grid grid = {.table.columns = columns, .table.column_count = 8};
    struct curve curve;
    struct fit linear = {0}, square = {0};
    const json_t *row;
    size_t i;
    json_array_foreach (rows, i, row) {
        const json_t *params = json_object_get(row, "params");
        collect(rows, params, &curve);
        if (experiment_number(params, "s") != curve.s[curve.n - 1])
            continue; /* one line a curve, at its largest S */
        const struct fit fit = print_curve(&grid, params, json_object_get(row, "values"), &curve);
        if (strcmp(experiment_text(params, "outputs"), "o") == 0)
            linear = fit.exponent > linear.exponent ? fit : linear;
        else
            square = fit.exponent > square.exponent ? fit : square;
    }
    grid_print(&grid, "memory at the largest S, and how it grows");
    if (square.exponent > 0)
        report_sentence("Keeping the weights costs memory that grows as S^%.2f; without them every "
                        "kernel stays at or below S^%.2f.",
                        square.exponent, linear.exponent);
    return true;
}

const struct experiment experiment_memory = {
    .name = "memory",
    .question = "How does memory grow with the sequence, with and without the weights?",
    .method =
        "For each kernel and S a process of its own: the workspace that the kernel asks for, its\n"
        "operands and results, and by how much the peak resident set grew in one call (which the\n"
        "program's own pages make larger).  Exponents by least squares of logarithms over S, with\n"
        "95 % intervals from Student's t.",
    .source = "Rabe and Staats 2021, arXiv:2112.05682; Dao et al. 2022, arXiv:2205.14135",
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = report,
};
