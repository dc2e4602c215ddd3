/*
 * error_growth: how far each kernel is from float64, over the number of keys.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error_growth.h"
#include "experiments/experiment.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/list.h"
#include "base/number.h"
#include "base/random.h"
#include "reference.h"

#define STREAM 8000

static const char *const dtypes[] = {"f32", "bf16", "f16", NULL};
static const char *const inputs[] = {"normal", "sink", NULL};

static const struct parameter parameters[] = {
    {"s", "LIST", "16..65536", "16,128,1024,8192", "keys that a query sees", PARAMETER_COUNTS, 1,
     1 << 20, NULL},
    {"d", "N", "64", NULL, "dimension", PARAMETER_COUNT, 1, 1024, NULL},
    {"rows", "N", "64", "16", "queries", PARAMETER_COUNT, 1, 65536, NULL},
    {"inputs", "LIST", "normal,sink", NULL,
     "N(0, 1); the same with one key that outweighs all others", PARAMETER_WORDS, 0, 0, inputs},
    {"dtypes", "LIST", "f32,bf16,f16", NULL, "types of operands and results", PARAMETER_WORDS, 0, 0,
     dtypes},
    {0},
};

/* A step for each kernel. */
static void plan_kernels(const json_t *asked, json_t *input, json_t *dtype, json_t *steps)
{
    for (const char *const *name = kernel_call_names(); *name; name++) {
        json_t *s = json_copy((json_t *)asked);
        json_object_del(s, "inputs");
        json_object_del(s, "dtypes");
        json_object_set_new(s, "kernel", json_string(*name));
        json_object_set(s, "input", input);
        json_object_set(s, "dtype", dtype);
        json_array_append_new(steps, s);
    }
}

static json_t *plan(const json_t *asked, char *message, size_t message_size)
{
    json_t *input, *dtype;
    size_t i, k;
    json_t *steps = json_array();
    (void)message;
    (void)message_size;
    json_array_foreach (json_object_get(asked, "inputs"), i, input)
        json_array_foreach (json_object_get(asked, "dtypes"), k, dtype)
            plan_kernels(asked, input, dtype, steps);
    return steps;
}

static struct problem_case case_of(const json_t *s, size_t keys)
{
    const bool sink = strcmp(experiment_text(s, "input"), "sink") == 0;
    struct problem_case c = {.name = "growth", .input = {.kind = sink ? INPUT_SINK : INPUT_NORMAL}};
    const uint64_t seed = (uint64_t)json_integer_value(json_object_get(s, "seed"));
    attn_problem_init(&c.problem);
    attn_dtype_parse(experiment_text(s, "dtype"), &c.problem.dtype);
    c.problem.kv_dtype = c.problem.dtype;
    c.problem.q_len = (size_t)json_integer_value(json_object_get(s, "rows"));
    c.problem.kv_len = keys;
    c.problem.qk_dim = c.problem.v_dim = (size_t)json_integer_value(json_object_get(s, "d"));
    c.input.seed = random_key(seed, STREAM + keys);
    return c;
}

/* Errors of one row, element by element, in an order that threads do not change. */
static void judge_row(const struct kernel_call *call, size_t i, void *workspace, double *o,
                      struct error_growth *errors)
{
    const struct attn_problem *p = &call->plan.problem;
    const struct attn_caps *caps = &call->plan.kernel->caps;
    struct attn_reference_row row = {.size = sizeof row, .o = o, .bound = o + p->v_dim};
    attn_reference(p, &call->set.tensors, 0, 0, i, attn_compute(call->plan.kernel, p),
                   caps->bound_factor, workspace, &row);
    for (size_t d = 0; d < p->v_dim; d++) {
        const double e = tensors_get(&call->set.tensors.o, 0, 0, i, d) - row.o[d];
        errors->n++;
        errors->sum += e;
        errors->squares += e * e;
        errors->output2 += row.o[d] * row.o[d];
        errors->bound2 += row.bound[d] * row.bound[d];
        errors->largest = fabs(e) <= errors->largest ? errors->largest : fabs(e);
        const double share = fabs(e) / row.bound[d];
        errors->over_bound = share <= errors->over_bound ? errors->over_bound : share;
    }
}

bool error_growth_judge(const struct kernel_call *call, int threads, struct error_growth *errors)
{
    const struct attn_problem *p = &call->plan.problem;
    struct error_growth *rows = calloc(p->q_len, sizeof *rows);
    bool allocated = rows;
#pragma omp parallel num_threads(threads)
    {
        double *o = calloc(2 * p->v_dim, sizeof *o);
        void *workspace = malloc(attn_reference_workspace(p));
        if (!o || !workspace) {
#pragma omp atomic write
            allocated = false;
        }
#pragma omp for schedule(dynamic, 1)
        for (size_t i = 0; i < p->q_len; i++)
            if (rows && o && workspace)
                judge_row(call, i, workspace, o, &rows[i]);
        free(workspace);
        free(o);
    }
    *errors = (struct error_growth){0};
    for (size_t i = 0; allocated && i < p->q_len; i++) {
        errors->n += rows[i].n;
        errors->sum += rows[i].sum;
        errors->squares += rows[i].squares;
        errors->output2 += rows[i].output2;
        errors->bound2 += rows[i].bound2;
        errors->largest = fmax(errors->largest, rows[i].largest);
        errors->over_bound = fmax(errors->over_bound, rows[i].over_bound);
    }
    free(rows);
    return allocated;
}

static json_t *row_of(const json_t *s, size_t keys, const struct attn_kernel *kernel,
                      const struct error_growth *e)
{
    json_t *params = json_copy((json_t *)s);
    const double rms = sqrt(e->squares / e->n), mean = e->sum / e->n;
    json_object_set_new(params, "s", json_integer((json_int_t)keys));
    json_object_set_new(params, "isa", json_string(attn_isa_name(kernel->isa)));
    return experiment_row(
        params, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "max", number_json(e->largest),
                          "rms", number_json(rms), "mean", number_json(mean), "mean_se",
                          number_json(sqrt((e->squares / e->n - mean * mean) / e->n)), "output_rms",
                          number_json(sqrt(e->output2 / e->n)), "bound_rms",
                          number_json(sqrt(e->bound2 / e->n)), "error_over_bound",
                          number_json(e->over_bound)));
}

static bool one_length(const json_t *s, size_t keys, json_t *rows, struct experiment_work *work)
{
    const struct problem_case c = case_of(s, keys);
    const size_t size = sizeof work->message;
    struct error_growth errors;
    struct kernel_call call;
    const struct attn_kernel *kernel =
        kernel_call_find(experiment_text(s, "kernel"), &c.problem, work);
    if (!kernel) /* does not take the type: a result, and the table has a gap */
        return true;
    if (!kernel_call_open(&call, kernel, &c.problem, work->threads, work))
        return false;
    bool right = tensors_fill(&call.set, &c, 0, work->message, size);
    if (right) {
        kernel_call_run(&call);
        right = error_growth_judge(&call, work->threads, &errors);
        if (!right)
            snprintf(work->message, size, "out of memory");
    }
    if (right)
        json_array_append_new(rows, row_of(s, keys, kernel, &errors));
    kernel_call_close(&call);
    return right;
}

static json_t *compute(const json_t *s, struct experiment_work *work)
{
    json_t *rows = json_array();
    const json_t *keys;
    size_t i;
    json_array_foreach (json_object_get(s, "s"), i, keys)
        if (!one_length(s, (size_t)json_integer_value(keys), rows, work)) {
            json_decref(rows);
            return NULL;
        }
    return rows;
}

const struct experiment experiment_error_growth = {
    .name = "error-growth",
    .question = "How does the rounding error of each kernel grow with the number of keys?",
    .method =
        "N(0, 1) queries, keys and values in each storage type, and a sink: a first key that "
        "scores\n"
        "15 above the rest.  Every element of every kernel's output against the float64 attention "
        "of\n"
        "the same stored operands: largest, root mean square and signed mean error, beside the\n"
        "derived bound that every check uses.  A mean beyond twice its standard error would be a\n"
        "bias.  Behind a sink the bound grows as the keys, not as their root: each addition may "
        "round\n"
        "by half a unit of the whole sum, and like terms round alike.",
    .source =
        "Higham 2002, Accuracy and Stability of Numerical Algorithms, chapter 4; Golden et al.\n"
        "2024, arXiv:2405.02803; kernels/reference.c (the bound)",
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = error_growth_report,
};
