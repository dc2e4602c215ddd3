/*
 * cache: decoding token by token with the keys and values of earlier tokens kept, or everything recomputed.
 */
#include <math.h>

#include "base/random.h"
#include "check/phases.h"
#include "experiment.h"
#include "experiments/shared/kernel_call.h"
#include "results/report.h"

#define STREAM 11000

static const struct option parameters[] = {
    {"s", "N", "160", "24", "tokens of which every kernel computes each", .kind = OPTION_COUNT,
     .lo = 1, .hi = 4096},
    {"lengths", "LIST", "64,256,1024,4096,16384", NULL, "tokens whose work is counted",
     .kind = OPTION_COUNTS, .lo = 1, .hi = 1 << 20},
    {"dtypes", "LIST", "f32,bf16", NULL, "types of operands and results", .kind = OPTION_WORDS,
     .words = experiment_dtypes},
    {0},
};

static void plan(const json_t *asked, json_t *steps)
{
    json_t *work = json_pack("{s:s}", "part", "work");
    json_t *bits = json_pack("{s:s}", "part", "bits");
    experiment_steps(steps, work, asked, "length=lengths", NULL);
    experiment_pick(bits, asked, "s seed");
    experiment_steps(steps, bits, asked, "dtype=dtypes kernel", kernel_call_names());
}

/* Two heads; the queries are the last tokens. */
static struct attn_problem problem_of(enum attn_dtype dtype, size_t queries, size_t tokens)
{
    struct attn_problem p;
    attn_problem_init(&p);
    p.q_heads = p.kv_heads = 2;
    p.q_len = queries;
    p.kv_len = tokens;
    p.qk_dim = p.v_dim = 64;
    p.dtype = p.kv_dtype = dtype;
    p.mask = ATTN_MASK_CAUSAL;
    return p;
}

/* ---- work ------------------------------------------------------------------------------------ */

/* Adds rows of the work of attention over all tokens, one after the other. */
static void add_work(const json_t *s, json_t *rows)
{
    double flops[2] = {0}, bytes[2] = {0};
    for (size_t t = 1; t <= experiment_count(s, "length"); t++)
        for (int again = 0; again < 2; again++) {
            const struct attn_problem p = problem_of(ATTN_F32, again ? t : 1, t);
            flops[again] += attn_useful_flops(&p);
            bytes[again] += attn_compulsory_bytes(&p);
        }
    experiment_add(rows, json_copy((json_t *)s),
                   json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "flops", flops[0], "bytes", bytes[0],
                             "flops_again", flops[1], "bytes_again", bytes[1], "times_flops",
                             flops[1] / flops[0], "times_bytes", bytes[1] / bytes[0]));
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* Runs the problem on the first keys of a text, with its last tokens as queries. */
static bool run_on(struct kernel_call *call, const struct attn_kernel *kernel,
                   const struct attn_problem *p, const struct kernel_call *text,
                   struct experiment_work *work)
{
    const struct attn_tensors from = invariant_part(&text->set.tensors, 0, p->kv_len - p->q_len);
    if (!kernel_call_open(call, kernel, p, 1, work))
        return false;
    invariant_part_copy(p, &call->set.tensors, &from);
    kernel_call_run(call);
    return true;
}

/* The largest difference between the last token's output with a cache and with all tokens recomputed, 0 if
 * every bit is the same; false fills the message. */
static bool compare_token(const struct attn_kernel *kernel, size_t tokens,
                          const struct kernel_call *text, double *largest,
                          struct experiment_work *work)
{
    const enum attn_dtype dtype = text->plan.problem.dtype;
    const struct attn_problem one = problem_of(dtype, 1, tokens);
    const struct attn_problem all = problem_of(dtype, tokens, tokens);
    struct kernel_call cached, again;
    if (!run_on(&cached, kernel, &one, text, work))
        return false;
    const bool right = run_on(&again, kernel, &all, text, work);
    *largest = 0;
    for (size_t h = 0; right && h < one.q_heads; h++)
        for (size_t d = 0; d < one.v_dim; d++)
            *largest = fmax(*largest, fabs(tensors_get(&cached.set.tensors.o, 0, h, 0, d) -
                                           tensors_get(&again.set.tensors.o, 0, h, tokens - 1, d)));
    if (right)
        kernel_call_close(&again);
    kernel_call_close(&cached);
    return right;
}

static bool add_bits(const json_t *s, json_t *rows, struct experiment_work *work)
{
    const size_t tokens = experiment_count(s, "s");
    const enum attn_dtype dtype = experiment_dtype(s);
    struct problem_case c = {.name = "cache", .input = {.kind = INPUT_NORMAL}};
    struct kernel_call text;
    size_t same = 0;
    double largest = 0, difference;
    c.input.seed = random_key(experiment_count(s, "seed"), STREAM) & INT64_MAX;
    c.problem = problem_of(dtype, tokens, tokens);
    const struct attn_problem least = problem_of(dtype, 1, 1);
    const struct attn_kernel *kernel = kernel_call_find(member_text(s, "kernel"), &least, work);
    if (!kernel) /* it does not take the type */
        return true;
    if (!kernel_call_case(&text, kernel, &c, 1, work))
        return false;
    bool right = true;
    for (size_t t = 1; right && t <= tokens; t++) {
        right = compare_token(kernel, t, &text, &difference, work);
        same += right && difference == 0;
        largest = right ? fmax(largest, difference) : largest;
    }
    kernel_call_close(&text);
    if (right)
        experiment_add(rows, kernel_call_params(s, kernel),
                       json_pack("{s:b, s:I, s:o}", "equal", same == tokens, "same",
                                 (json_int_t)same, "largest", number_json(largest)));
    return right;
}

/* ---- the experiment -------------------------------------------------------------------------- */

static bool compute(const json_t *s, json_t *rows, struct experiment_work *work)
{
    if (!experiment_is(s, "part", "work"))
        return add_bits(s, rows, work);
    add_work(s, rows);
    return true;
}

static bool report(const json_t *rows)
{
    const size_t equal = experiment_where(rows, "part=bits equal=true");
    const struct experiment_extent times = experiment_extent(rows, "part=work", "times_flops");
    experiment_list(rows, "part=work", "length flops bytes flops_again bytes_again times_flops",
                    "attention of all tokens, with a cache and computed again for each");
    experiment_list(rows, "part=bits", "dtype kernel s same largest",
                    "tokens whose output has the same bits either way, and the largest difference");
    report_sentence(
        "%zu of %zu kernels and types give every token the same bits either way; without a "
        "cache attention takes up to %.0f times the operations.",
        equal, experiment_where(rows, "part=bits"), times.most);
    return true;
}

const struct calculation calculation_cache = {
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = report,
};
