/*
 * invariance: under which changes that mean nothing a kernel gives the same bits.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue.h"
#include "experiments/experiment.h"
#include "experiments/grid.h"
#include "experiments/kernel_call.h"
#include "experiments/list.h"
#include "journal.h"
#include "random.h"
#include "report_experiment.h"

#define STREAM 9000
#define REPEATS 3
#define MOST_THREADS 4

/* Sequences of several heads: a prefill with a causal mask, and a decode of a group of heads. */
static const struct {
    const char *name, *text;
} problems[] = {
    {"prefill", "b=3,hq=2,hkv=2,sq=150,skv=150,d=32,dv=32,mask=causal"},
    {"decode", "b=3,hq=4,hkv=1,sq=4,skv=1500,d=32,dv=32,mask=causal"},
};

static const char *const dtypes[] = {"f32", "bf16", "f16", NULL};

static const struct parameter parameters[] = {
    {"dtypes", "LIST", "f32,bf16", NULL, "of operands and results", PARAMETER_WORDS, 0, 0, dtypes},
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

/* ---- comparing ------------------------------------------------------------------------------- */

/* Where a smaller call's rows are in the whole one. */
struct place {
    size_t b, i;
};

/* How two results differ. */
struct change {
    size_t elements, differing;
    double largest;
    bool tried;
};

static void copy_operand(const struct attn_tensor *to, const struct attn_tensor *from,
                         const size_t shape[4], struct place at)
{
    for (size_t b = 0; b < shape[0]; b++)
        for (size_t h = 0; h < shape[1]; h++)
            for (size_t i = 0; i < shape[2]; i++)
                memcpy(attn_row(to, b, h, i), attn_row(from, at.b + b, h, at.i + i),
                       shape[3] * attn_dtype_size(to->dtype));
}

static void compare(const struct kernel_call *part, const struct kernel_call *whole,
                    struct place at, struct change *change)
{
    const struct attn_problem *p = &part->plan.problem;
    change->tried = true;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < p->q_len; i++)
                for (size_t d = 0; d < p->v_dim; d++) {
                    const double x = tensors_get(&part->set.tensors.o, b, h, i, d);
                    const double y = tensors_get(&whole->set.tensors.o, at.b + b, h, at.i + i, d);
                    change->elements++;
                    change->differing += !(x == y);
                    change->largest = fmax(change->largest, fabs(x - y));
                }
}

/* Runs a part of the whole problem by some kernel and compares; false fills work->message. */
static bool try_part(const struct kernel_call *whole, const struct attn_kernel *kernel,
                     const struct attn_problem *problem, struct place at, int threads,
                     struct change *change, struct experiment_work *work)
{
    struct kernel_call part;
    const struct attn_problem *p = problem;
    if (!kernel_call_open(&part, kernel, problem, threads, work->message, sizeof work->message))
        return false;
    const struct attn_tensors *to = &part.set.tensors, *from = &whole->set.tensors;
    const struct place keys = {at.b, 0};
    copy_operand(&to->q, &from->q, (size_t[]){p->batch, p->q_heads, p->q_len, p->qk_dim}, at);
    copy_operand(&to->k, &from->k, (size_t[]){p->batch, p->kv_heads, p->kv_len, p->qk_dim}, keys);
    copy_operand(&to->v, &from->v, (size_t[]){p->batch, p->kv_heads, p->kv_len, p->v_dim}, keys);
    kernel_call_run(&part);
    compare(&part, whole, at, change);
    kernel_call_close(&part);
    return true;
}

/* ---- the changes ----------------------------------------------------------------------------- */

typedef bool try_change(const struct kernel_call *whole, struct change *change,
                        struct experiment_work *work);

static bool try_threads(const struct kernel_call *whole, struct change *change,
                        struct experiment_work *work)
{
    for (int threads = 2; threads <= MOST_THREADS; threads++)
        if (!try_part(whole, whole->plan.kernel, &whole->plan.problem, (struct place){0}, threads,
                      change, work))
            return false;
    return true;
}

static bool try_repeats(const struct kernel_call *whole, struct change *change,
                        struct experiment_work *work)
{
    for (int i = 0; i < REPEATS; i++)
        if (!try_part(whole, whole->plan.kernel, &whole->plan.problem, (struct place){0},
                      work->threads, change, work))
            return false;
    return true;
}

/* Each sequence alone. */
static bool try_batch(const struct kernel_call *whole, struct change *change,
                      struct experiment_work *work)
{
    struct attn_problem alone = whole->plan.problem;
    alone.batch = 1;
    for (size_t b = 0; b < whole->plan.problem.batch; b++)
        if (!try_part(whole, whole->plan.kernel, &alone, (struct place){b, 0}, 1, change, work))
            return false;
    return true;
}

/* The last queries alone, as a prefill in chunks has them: as many as a tile, and fewer. */
static bool try_split(const struct kernel_call *whole, struct change *change,
                      struct experiment_work *work)
{
    static const size_t chunks[] = {1, 3, 64};
    struct attn_problem chunk = whole->plan.problem;
    for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
        chunk.q_len = chunks[c];
        if (chunk.q_len < whole->plan.problem.q_len &&
            !try_part(whole, whole->plan.kernel, &chunk,
                      (struct place){0, whole->plan.problem.q_len - chunk.q_len}, 1, change, work))
            return false;
    }
    return true;
}

static bool try_isa(const struct kernel_call *whole, struct change *change,
                    struct experiment_work *work)
{
    const struct attn_kernel *mine = whole->plan.kernel, *other;
    const char *why;
    for (size_t i = 0; (other = catalogue_at(i)); i++)
        if (other != mine && strcmp(other->name, mine->name) == 0 &&
            attn_isa_available(other->isa) && attn_supports(other, &whole->plan.problem, &why) &&
            !try_part(whole, other, &whole->plan.problem, (struct place){0}, 1, change, work))
            return false;
    return true;
}

static const struct {
    const char *name;
    try_change *run;
} changes[] = {
    {"threads", try_threads}, {"repeats", try_repeats}, {"batch position", try_batch},
    {"chunks", try_split},    {"ISA", try_isa},
};
#define CHANGES (sizeof changes / sizeof *changes)

/* ---- the experiment -------------------------------------------------------------------------- */

static json_t *row_of(const json_t *s, const struct attn_kernel *kernel, size_t change,
                      const struct change *c)
{
    json_t *params = json_copy((json_t *)s);
    json_object_set_new(params, "isa", json_string(attn_isa_name(kernel->isa)));
    json_object_set_new(params, "change", json_string(changes[change].name));
    return experiment_row(params, json_pack("{s:b, s:f, s:o}", "equal", (int)(c->differing == 0),
                                            "differing", (double)c->differing / (double)c->elements,
                                            "largest", journal_number(c->largest)));
}

/* The whole problem on one thread, then each change of it. */
static bool try_all(const json_t *s, const struct attn_kernel *kernel, const struct problem_case *c,
                    json_t *rows, struct experiment_work *work)
{
    struct kernel_call whole;
    if (!kernel_call_open(&whole, kernel, &c->problem, 1, work->message, sizeof work->message))
        return false;
    bool right = tensors_fill(&whole.set, c, 0, work->message, sizeof work->message);
    if (right)
        kernel_call_run(&whole);
    for (size_t i = 0; right && i < CHANGES; i++) {
        struct change change = {0};
        right = changes[i].run(&whole, &change, work);
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
        right ? kernel_call_find(experiment_text(s, "kernel"), &c.problem, work->message,
                                 sizeof work->message)
              : NULL;
    if (kernel) /* one that does not take the type is no row */
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

/* One line for the cell that begins at row `first`; the number of changes that do not matter. */
static size_t print_cell(struct grid *grid, const json_t *rows, size_t first)
{
    const json_t *mine = json_object_get(json_array_get(rows, first), "params"), *row;
    size_t i, equal = 0;
    grid_row(grid);
    grid_text(grid, "%s", experiment_text(mine, "dtype"));
    grid_text(grid, "%s", experiment_text(mine, "kernel"));
    grid_text(grid, "%s", experiment_text(mine, "problem"));
    for (size_t c = 0; c < CHANGES; c++) {
        const char *text = "";
        char difference[32];
        json_array_foreach (rows, i, row) {
            const json_t *params = json_object_get(row, "params");
            const json_t *values = json_object_get(row, "values");
            if (!same_cell(params, mine) ||
                strcmp(experiment_text(params, "change"), changes[c].name) != 0)
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
    struct grid grid = {.table.columns = columns, .table.column_count = 3 + CHANGES};
    const json_t *row;
    size_t i, equal = 0;
    json_array_foreach (rows, i, row) {
        const json_t *params = json_object_get(row, "params");
        const json_t *before = i ? json_object_get(json_array_get(rows, i - 1), "params") : NULL;
        if (!before || !same_cell(params, before))
            equal += print_cell(&grid, rows, i);
    }
    grid_print(&grid, "same bits, or the largest difference");
    report_sentence("%zu of %zu changes that mean nothing change no bit.", equal,
                    json_array_size(rows));
    return true;
}

const struct experiment experiment_invariance = {
    .name = "invariance",
    .question = "Which changes that mean nothing change the bits of the output?",
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
