/*
 * invariance: under which changes that should not matter a kernel gives the same bits.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/experiment.h"
#include "experiments/shared/grid.h"
#include "invariance.h"
#include "experiments/list.h"
#include "base/number.h"
#include "base/random.h"
#include "results/report_experiment.h"

#define STREAM 9000

/* Sequences of several heads: a prefill with a causal mask, and a decode of a group of heads. */
static const struct {
    const char *name, *text;
} problems[] = {
    {"prefill", "b=3,hq=2,hkv=2,sq=150,skv=150,d=32,dv=32,mask=causal"},
    {"decode", "b=3,hq=4,hkv=1,sq=4,skv=1500,d=32,dv=32,mask=causal"},
};

static const char *const dtypes[] = {"f32", "bf16", "f16", NULL};

static const struct parameter parameters[] = {
    {"dtypes", "LIST", "f32,bf16", NULL, "types of operands and results", PARAMETER_WORDS, 0, 0,
     dtypes},
    {0},
};

static json_t *plan(const json_t *asked, char *message, size_t message_size)
{
    const json_t *dtype;
    size_t i;
    json_t *steps = json_array();
    (void)message;
    (void)message_size;
    json_array_foreach (json_object_get(asked, "dtypes"), i, dtype)
        for (const char *const *name = kernel_call_names(); *name; name++)
            for (size_t p = 0; p < sizeof problems / sizeof *problems; p++)
                json_array_append_new(steps, json_pack("{s:s, s:O, s:s, s:s, s:O}", "kernel", *name,
                                                       "dtype", dtype, "problem", problems[p].name,
                                                       "text", problems[p].text, "seed",
                                                       json_object_get(asked, "seed")));
    return steps;
}

/* ---- the experiment -------------------------------------------------------------------------- */

static json_t *row_of(const json_t *s, const struct attn_kernel *kernel, size_t change,
                      const struct invariance_change *c)
{
    json_t *params = json_copy((json_t *)s);
    json_object_set_new(params, "isa", json_string(attn_isa_name(kernel->isa)));
    json_object_set_new(params, "change", json_string(invariance_change_name(change)));
    return experiment_row(params, json_pack("{s:b, s:f, s:o}", "equal", (int)(c->differing == 0),
                                            "differing", (double)c->differing / (double)c->elements,
                                            "largest", number_json(c->largest)));
}

/* The whole problem on one thread, then each change of it. */
static bool try_all(const json_t *s, const struct attn_kernel *kernel, const struct problem_case *c,
                    json_t *rows, struct experiment_work *work)
{
    struct kernel_call whole;
    if (!kernel_call_open(&whole, kernel, &c->problem, 1, work))
        return false;
    bool right = tensors_fill(&whole.set, c, 0, work->message, sizeof work->message);
    if (right)
        kernel_call_run(&whole);
    for (size_t i = 0; right && i < INVARIANCE_CHANGES; i++) {
        struct invariance_change change;
        right = invariance_try(i, &whole, &change, work);
        if (right && change.tried)
            json_array_append_new(rows, row_of(s, kernel, i, &change));
    }
    kernel_call_close(&whole);
    return right;
}

static json_t *compute(const json_t *s, struct experiment_work *work)
{
    struct problem_case c = {.name = "invariance", .input = {.kind = INPUT_NORMAL}};
    struct parse_error error;
    json_t *rows = json_array();
    c.input.seed =
        random_key((uint64_t)json_integer_value(json_object_get(s, "seed")), STREAM) & INT64_MAX;
    bool right = parse_problem(experiment_text(s, "text"), &c.problem, &error);
    if (!right)
        snprintf(work->message, sizeof work->message, "%s", error.message);
    attn_dtype_parse(experiment_text(s, "dtype"), &c.problem.dtype);
    c.problem.kv_dtype = c.problem.dtype;
    const struct attn_kernel *kernel =
        right ? kernel_call_find(experiment_text(s, "kernel"), &c.problem, work) : NULL;
    if (kernel) /* one that does not take the type has no row */
        right = try_all(s, kernel, &c, rows, work);
    if (right)
        return rows;
    json_decref(rows);
    return NULL;
}

/* ---- the report ------------------------------------------------------------------------------ */

/* Whether a row is of the same kernel, type and problem. */
static bool same_cell(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"kernel", "dtype", "problem"};
    bool same = true;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        same &= json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i]));
    return same;
}

/* One line for the cell that begins at row `first`; returns how many changes keep all bits. */
static size_t print_cell(struct grid *grid, const json_t *rows, size_t first)
{
    const json_t *mine = json_object_get(json_array_get(rows, first), "params"), *row;
    size_t i, equal = 0;
    grid_row(grid);
    grid_text(grid, "%s", experiment_text(mine, "dtype"));
    grid_text(grid, "%s", experiment_text(mine, "kernel"));
    grid_text(grid, "%s", experiment_text(mine, "problem"));
    for (size_t c = 0; c < INVARIANCE_CHANGES; c++) {
        const char *text = "";
        char difference[32];
        json_array_foreach (rows, i, row) {
            const json_t *params = json_object_get(row, "params");
            const json_t *values = json_object_get(row, "values");
            if (!same_cell(params, mine) ||
                strcmp(experiment_text(params, "change"), invariance_change_name(c)) != 0)
                continue;
            snprintf(difference, sizeof difference, "%.1e", experiment_number(values, "largest"));
            const bool same = json_is_true(json_object_get(values, "equal"));
            text = same ? "same bits" : difference;
            equal += same;
        }
        grid_text(grid, "%s", text);
    }
    return equal;
}

static bool report(const json_t *rows)
{
    static const struct table_column columns[] = {{"type", 0, true},    {"kernel", 0, true},
                                                  {"problem", 0, true}, {"threads", 0, true},
                                                  {"repeats", 0, true}, {"batch position", 0, true},
                                                  {"chunks", 0, true},  {"ISA", 0, true}};
    struct grid grid = {.table.columns = columns, .table.column_count = 3 + INVARIANCE_CHANGES};
    const json_t *row;
    size_t i, equal = 0;
    json_array_foreach (rows, i, row) {
        const json_t *params = json_object_get(row, "params");
        const json_t *before = i ? json_object_get(json_array_get(rows, i - 1), "params") : NULL;
        if (!before || !same_cell(params, before))
            equal += print_cell(&grid, rows, i);
    }
    grid_print(&grid, "same bits, or the largest difference");
    report_sentence("%zu of %zu changes that should not matter keep every bit.", equal,
                    json_array_size(rows));
    return true;
}

const struct experiment experiment_invariance = {
    .name = "invariance",
    .question = "Which changes that should not matter change the bits of the output?",
    .method =
        "One problem on one thread, compared element by element with the same on 2 to 4 threads,\n"
        "repeated, with each sequence alone instead of in a batch, with the last queries alone (a\n"
        "prefill in chunks of 1, 3 and 64), and by the kernel's variants for other instruction\n"
        "sets.  A prefill and a decode.",
    .source = "He and Thinking Machines Lab 2025, Defeating Nondeterminism in LLM Inference",
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = report,
};
