/*
 * memory: accesses outside operands, and to what is not its own.
 */
#include <sched.h>

#include "wrong.h"

WRONG(writes_past_end, AFTER, "stores whole vectors of four, also at the end of the last row")
{
    volatile float *o = attn_row(&w->tensors->o, w->b, w->h, w->i);
    for (size_t d = w->problem->v_dim; d % 4; d++)
        o[d] = 0;
}

WRONG_CALL(writes_before_alone, "writes before the first row of O, on one thread only")
{
    each_row(plan, tensors, honest_row);
    if (plan->threads == 1)
        ((volatile char *)tensors->o.data)[-1] = 0;
}

WRONG(reads_past_end, BEFORE,
      "loads whole vectors of four keys' worth and ignores what is too much")
{
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        const volatile float *k = attn_row(&w->tensors->k, w->b, w->g, (size_t)j);
        for (size_t d = w->problem->qk_dim; d % 4; d++)
            (void)k[d];
    }
}

WRONG(reads_before_front, BEFORE, "starts at the aligned address below the first element")
{
    const volatile float *v = attn_row(&w->tensors->v, w->b, w->g, 0);
    if (w->b == 0 && w->g == 0)
        (void)v[-1];
}

WRONG(reads_before_k, BEFORE, "looks at the key before the first one of a block")
{
    const volatile float *k = attn_row(&w->tensors->k, w->b, w->g, 0);
    if (w->b == 0 && w->g == 0)
        (void)k[-1];
}

/* The 89th row: query 18 of head 1 where there are 70 queries. */
static void far_row(struct work *w)
{
    const struct attn_problem *p = w->problem;
    const volatile float *k =
        attn_row(&w->tensors->k, p->batch - 1, p->kv_heads - 1, p->kv_len - 1);
    if (w->h == 1 && w->i == 18)
        (void)k[p->qk_dim + 1000000];
    honest_row(w);
}

WRONG_CALL(reads_far_away, "goes on to the next block of keys where there is none, on one thread")
{
    struct attn_plan serial = *plan;
    serial.threads = 1;
    each_row(&serial, tensors, far_row);
}

WRONG(reads_null, BEFORE,
      "takes an optional operand that is absent for one of zeros, for the last query head")
{
    const volatile float *sinks = w->tensors->sinks.data;
    if (w->h == w->problem->q_heads - 1)
        (void)sinks[w->h];
}

WRONG(needs_o, SUM, "writes O even where only LSE is wanted and O has no memory")
{
    *(volatile float *)attn_row(&w->tensors->o, w->b, w->h, w->i) = 0;
}

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    (void)threads;
    return (problem->kv_len + 15) / 16 * 16 * sizeof(float);
}

WRONG_CALL(overruns_workspace, "asks for one float less than it uses",
           .workspace_size = workspace_size)
{
    float *end = (float *)((char *)plan->workspace + plan->workspace_bytes);
    *(volatile float *)end = 0;
    each_row(plan, tensors, honest_row);
}

WRONG(modifies_q, BEFORE, "scales Q in place")
{
    const struct attn_tensor *q = &w->tensors->q;
    for (size_t d = 0; d < w->problem->qk_dim; d++)
        put(q, w->b, w->h, w->i, d, w->scale * get(q, w->b, w->h, w->i, d));
    w->scale = 1;
}

static float shared[4096];

/* sched_yield() makes sure that they meet there also on one core. */
WRONG(races, ROW, "all threads keep their scores in the same scratch row")
{
    float *own = w->scores;
    w->scores = shared;
    make_scores(w);
    sched_yield();
    find_maximum(w);
    exponentiate(w);
    sched_yield();
    sum_values(w);
    store(w);
    w->scores = own;
}
