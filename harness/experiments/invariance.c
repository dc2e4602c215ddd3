/*
 * invariance: whether a kernel's results keep every bit under changes that should not matter.
 */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "check/phases.h"
#include "experiment.h"
#include "experiments/shared/kernel_call.h"
#include "problem/catalogue.h"
#include "results/report.h"

#define STREAM 9000
#define REPEATS 3
#define MOST_THREADS 4

/* Batches of several heads: a causal prefill, and a decode with grouped heads. */
static const struct {
    const char *name, *text;
} problems[] = {
    {"prefill", "b=3,hq=2,hkv=2,sq=150,skv=150,d=32,dv=32,mask=causal"},
    {"decode", "b=3,hq=4,hkv=1,sq=4,skv=1500,d=32,dv=32,mask=causal"},
};

static const struct option parameters[] = {
    {"dtypes", "LIST", "f32,bf16", NULL, "types of operands and results", .kind = OPTION_WORDS,
     .words = experiment_dtypes},
    {0},
};

static void plan(const json_t *asked, json_t *steps)
{
    const json_t *dtype;
    size_t i;
    json_array_foreach (json_object_get(asked, "dtypes"), i, dtype)
        for (const char *const *name = kernel_call_names(); *name; name++)
            for (size_t p = 0; p < sizeof problems / sizeof *problems; p++)
                json_array_append_new(steps, json_pack("{s:s, s:O, s:s, s:s, s:O}", "kernel", *name,
                                                       "dtype", dtype, "problem", problems[p].name,
                                                       "text", problems[p].text, "seed",
                                                       json_object_get(asked, "seed")));
}

/* A change to a call on one thread, and how its results differ. */
struct change {
    const struct kernel_call *whole;
    struct experiment_work *work;
    size_t elements, differing;
    double largest;
    bool tried; /* false if it does not apply to the kernel */
};

/* ---- comparing ------------------------------------------------------------------------------- */

/* Compares a smaller call's results with the same rows of the whole call. */
static void compare(const struct kernel_call *part, const struct attn_tensors *whole,
                    struct change *change)
{
    const struct attn_problem *p = &part->plan.problem;
    change->tried = true;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < p->q_len; i++)
                for (size_t d = 0; d < p->v_dim; d++) {
                    const double x = tensors_get(&part->set.tensors.o, b, h, i, d);
                    const double y = tensors_get(&whole->o, b, h, i, d);
                    change->elements++;
                    change->differing += !(x == y);
                    change->largest = fmax(change->largest, fabs(x - y));
                }
}

/* Runs a part of the whole problem, from a sequence and a query on, and compares. */
static bool try_part(struct change *change, const struct attn_kernel *kernel,
                     const struct attn_problem *p, size_t b, size_t i, int threads)
{
    const struct attn_tensors whole = invariant_part(&change->whole->set.tensors, b, i);
    struct kernel_call part;
    if (!kernel_call_open(&part, kernel, p, threads, change->work))
        return false;
    invariant_part_copy(p, &part.set.tensors, &whole);
    kernel_call_run(&part);
    compare(&part, &whole, change);
    kernel_call_close(&part);
    return true;
}

/* ---- the changes: false fills the message ----------------------------------------------------- */

static bool try_threads(struct change *change)
{
    const struct attn_plan *whole = &change->whole->plan;
    bool right = true;
    for (int threads = 2; right && threads <= MOST_THREADS; threads++)
        right = try_part(change, whole->kernel, &whole->problem, 0, 0, threads);
    return right;
}

static bool try_repeats(struct change *change)
{
    const struct attn_plan *whole = &change->whole->plan;
    const int threads = change->work->threads;
    bool right = true;
    for (int i = 0; right && i < REPEATS; i++)
        right = try_part(change, whole->kernel, &whole->problem, 0, 0, threads);
    return right;
}

/* Each sequence alone. */
static bool try_batch(struct change *change)
{
    const struct attn_plan *whole = &change->whole->plan;
    struct attn_problem alone = whole->problem;
    bool right = true;
    alone.batch = 1;
    for (size_t b = 0; right && b < whole->problem.batch; b++)
        right = try_part(change, whole->kernel, &alone, b, 0, 1);
    return right;
}

/* The last queries alone, as in chunked prefill: as many as a tile has, and fewer. */
static bool try_split(struct change *change)
{
    static const size_t chunks[] = {1, 3, 64};
    const struct attn_plan *whole = &change->whole->plan;
    struct attn_problem chunk = whole->problem;
    bool right = true;
    for (size_t c = 0; right && c < sizeof chunks / sizeof *chunks; c++) {
        chunk.q_len = chunks[c];
        if (chunks[c] < whole->problem.q_len)
            right = try_part(change, whole->kernel, &chunk, 0, whole->problem.q_len - chunks[c], 1);
    }
    return right;
}

static bool try_isa(struct change *change)
{
    const struct attn_plan *whole = &change->whole->plan;
    const struct attn_kernel *other;
    const char *why;
    bool right = true;
    for (size_t i = 0; right && (other = catalogue_at(i)); i++)
        if (other != whole->kernel && strcmp(other->name, whole->kernel->name) == 0 &&
            attn_isa_available(other->isa) && attn_supports(other, &whole->problem, &why))
            right = try_part(change, other, &whole->problem, 0, 0, 1);
    return right;
}

static const struct {
    const char *name;
    bool (*run)(struct change *change);
} changes[] = {
    {"threads", try_threads}, {"repeats", try_repeats}, {"batch position", try_batch},
    {"chunks", try_split},    {"ISA", try_isa},
};
#define CHANGES (sizeof changes / sizeof *changes)

/* ---- the experiment -------------------------------------------------------------------------- */

static bool compute(const json_t *s, json_t *rows, struct experiment_work *work)
{
    struct problem_case c = {.name = "invariance", .input = {.kind = INPUT_NORMAL}};
    struct kernel_call whole;
    struct parse_error error;
    c.input.seed = random_key(experiment_count(s, "seed"), STREAM) & INT64_MAX;
    if (!parse_problem(member_text(s, "text"), &c.problem, &error))
        return experiment_fail(work, "%s", error.message);
    c.problem.dtype = c.problem.kv_dtype = experiment_dtype(s);
    struct attn_problem least = c.problem; /* the smallest part that is computed */
    least.q_len = 1;
    const struct attn_kernel *kernel = kernel_call_find(member_text(s, "kernel"), &least, work);
    if (!kernel) /* it does not take the type */
        return true;
    if (!kernel_call_case(&whole, kernel, &c, 1, work))
        return false;
    kernel_call_run(&whole);
    bool right = true;
    for (size_t i = 0; right && i < CHANGES; i++) {
        struct change change = {.whole = &whole, .work = work};
        right = changes[i].run(&change);
        if (!right || !change.tried)
            continue;
        json_t *params = kernel_call_params(s, kernel);
        json_object_set_new(params, "change", json_string(changes[i].name));
        experiment_add(rows, params,
                       json_pack("{s:b, s:f, s:o}", "equal", change.differing == 0, "differing",
                                 (double)change.differing / (double)change.elements, "largest",
                                 number_json(change.largest)));
    }
    kernel_call_close(&whole);
    return right;
}

/* ---- the report ------------------------------------------------------------------------------ */

static bool report(const json_t *rows)
{
    experiment_list(rows, "equal=false", "dtype kernel problem change differing largest",
                    "changes that change bits: the share of elements, and the largest difference");
    report_sentence("%zu of %zu changes that should not matter keep every bit.",
                    experiment_where(rows, "equal=true"), json_array_size(rows));
    return true;
}

const struct calculation calculation_invariance = {
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = report,
};
