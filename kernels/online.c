/*
 * online: one pass over the keys, with a running maximum and sum.
 *
 * Softmax does not need its scores twice (Milakov and Gimelshein 2018, arXiv:1805.02867; for
 * attention Rabe and Staats 2021, arXiv:2112.05682).  After some keys a row is known by three
 * things: the maximum m of their scores x_j, the sum l of exp(x_j - m), and the output row
 * o = sum of exp(x_j - m) v_j.  More keys with a larger maximum m' change what was subtracted, and
 * exp(x - m') = exp(x - m) exp(m - m'): multiply l and o by exp(m - m'), then add the new terms.
 * At the end O = o / l and LSE = m + ln l.  Nothing of length Skv is ever stored.
 *
 * A `real` is a float, and a double where operands are (shared/real.h).
 *
 * Keys come KEYS at a time, so that the exponentials fill vectors and o is seldom rescaled.  They are
 * summed by themselves, then added: the error of a sum grows with the number of such blocks.  A sink is
 * a key whose value is 0: the row has seen it before all others.
 *
 *   memory    reads K and V once per query row (kernel tiled does better)
 *   parallel  over (batch, query head, query), the longest rows first; decode idles (see split_kv)
 *   scratch   one output row of v_dim numbers per thread; KEYS rows of K or V where they are copied
 *             (keys.h)
 *   instead   flash: the same idea for many queries at once
 */
#include <omp.h>

#include "shared/either.h"
#include "shared/query.h"
#include "shared/softmax.h"

enum {
    KEYS = 64, /* 4 vectors of 16: the scores of a step stay in L1, a rescale costs 1/64 of it */
    ROWS = 4   /* handed to a thread at once */
};

/* A row after some of its keys. */
struct running {
    real m;  /* maximum so far, -inf at first */
    real l;  /* sum of exp(x - m) */
    real *o; /* sum of exp(x - m) v */
};

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    return attn_threads_bytes(threads, problem->v_dim + query_copy_reals(problem, KEYS));
}

/* Lets the row see the scores of n more keys, which become their weights. */
static void absorb(struct running *row, real *scores, ptrdiff_t n, size_t v_dim)
{
    const real m = softmax_max(scores, n, row->m);
    if (m > row->m) {
        const real shrink = exp(row->m - m); /* 0 at first: e^-inf */
        row->l *= shrink;
        row_scale(row->o, row->o, shrink, v_dim);
        row->m = m;
    }
    row->l += softmax_exp(scores, n, softmax_shift(m));
}

static void row(const struct attn_problem *problem, const struct attn_tensors *t, size_t b,
                size_t h, size_t i, real *o)
{
    struct query query;
    if (!query_find(&query, problem, t, b, h, i))
        return;
    const real sink = softmax_sink(problem, t, h);
    struct running row = {.m = sink, .l = softmax_sink_exp(sink, sink), .o = o};
    real *copy = o + problem->v_dim;
    memset(o, 0, problem->v_dim * sizeof *o);

    for (ptrdiff_t j = query.seen.lo; j < query.seen.hi; j += KEYS) {
        const ptrdiff_t n = query.seen.hi - j < KEYS ? query.seen.hi - j : KEYS;
        real scores[KEYS];
        const bool hidden = query_scores(&query, j, n, copy, scores);
        absorb(&row, scores, n, problem->v_dim);
        query_weigh(&query, hidden, j, n, copy, scores, o);
    }
    if (problem->outputs & ATTN_OUTPUT_O)
        row_scale(query_row(&query, &t->o), o, softmax_inverse(row.l), problem->v_dim);
    if (problem->outputs & ATTN_OUTPUT_LSE)
        *query_row(&query, &t->lse) = softmax_log(row.m, row.l);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = &plan->problem;
#pragma omp parallel num_threads(plan->threads)
    {
        real *o = attn_thread_scratch(plan, omp_get_thread_num());
#pragma omp for collapse(3) schedule(dynamic, ROWS)
        for (size_t b = 0; b < p->batch; b++)
            for (size_t h = 0; h < p->q_heads; h++)
                for (size_t left = p->q_len; left > 0; left--)
                    row(p, tensors, b, h, left - 1, o);
    }
}

const struct attn_kernel ATTN_KERNEL = {
    .size = sizeof(struct attn_kernel),
    .name = "online",
    .summary = "streaming softmax: one pass over the keys, a running maximum and sum",
    .source = "Milakov and Gimelshein 2018, arXiv:1805.02867",
    .isa = ATTN_KERNEL_ISA,
    .caps.size = sizeof(struct attn_caps),
    .caps.dtypes = EITHER_DTYPES,
    .caps.kv_dtypes = ATTN_DTYPES_SCALED,
    .caps.masks = ATTN_MASKS_ALL,
    .caps.options = ATTN_OPTIONS_ALL | ATTN_OPTION_INDEX,
    .caps.outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE,
    .caps.forward = true,
    .caps.parallel = true,
    .caps.compute = ATTN_F32,
    .workspace_size = either_workspace_size,
    .execute = either_execute,
};
