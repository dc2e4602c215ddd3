/*
 * places: which rows are computed, and which of K and V they read.
 */
#include <omp.h>
#include <string.h>

#include "wrong.h"

WRONG(drops_last_key, BEFORE, "the loop over keys ends one early")
{
    if (w->seen.hi - w->seen.lo > 1)
        w->seen.hi--;
}

/* On random inputs the row moves by a 65536th. */
WRONG(drops_last_key_of_65536, BEFORE, "a counter of 16 bits loses one key, at one length only")
{
    if (w->problem->kv_len == 65536)
        w->seen.hi--;
}

/* The last query of long sequences loses its last key, as where a counter has ten bits. */
WRONG(last_row_from_1024, BEFORE, "the last of 1024 queries or more does not see its last key")
{
    const struct attn_problem *p = w->problem;
    if (p->q_len >= 1024 && w->i + 1 == p->q_len && w->seen.hi > w->seen.lo + 1)
        w->seen.hi--;
}

/* Each thread has as many keys as the division by their number gives, and nobody those that are left.  On one
 * thread all is well. */
WRONG(drops_rest_of_keys, BEFORE, "shares keys among threads and drops what is left")
{
    w->seen.hi -= (w->seen.hi - w->seen.lo) % w->threads;
}

WRONG(drops_odd_dimension, BEFORE,
      "takes the elements of Q and K two at a time and forgets the last odd one")
{
    w->problem->qk_dim &= ~(size_t)1;
}

WRONG(leaves_last_row, ROW, "the last query of each head is never computed")
{
    if (w->i + 1 < w->problem->q_len || w->i == 0)
        honest_row(w);
}

/* With more threads than rows that is none each, and the last thread is forgotten, too. */
WRONG_CALL(rows_by_thread, "shares rows out by whole numbers, which is none with more threads")
{
    const struct attn_problem *p = &plan->problem;
    const size_t rows = p->batch * p->q_heads * p->q_len, threads = (size_t)plan->threads;
#pragma omp parallel num_threads(plan->threads)
    {
        const size_t t = (size_t)omp_get_thread_num(), each = rows / threads;
        const size_t end = t + 1 == threads && each ? rows : (t + 1) * each;
        for (size_t n = t * each; n < end; n++)
            one_row(plan, tensors, n / p->q_len / p->q_heads, n / p->q_len % p->q_heads,
                    n % p->q_len, honest_row);
    }
}

WRONG(wrong_kv_head, BEFORE, "query head h reads KV head h mod Hkv, right for MHA and MQA only")
{
    w->g = w->h % w->problem->kv_heads;
}

WRONG(first_sequence_only, BEFORE, "reads K and V of the first sequence for all of them")
{
    w->tensors->k.stride[0] = w->tensors->v.stride[0] = 0;
}

/* K is each sequence's own, V that of the first sequence. */
WRONG(values_of_first_sequence, BEFORE, "reads V of the first sequence for all of them")
{
    w->tensors->v.stride[0] = 0;
}

WRONG(dense_rows, BEFORE,
      "takes the rows of a head for neighbours in memory, as they are in (B, H, S, D)")
{
    if (w->problem->layout == ATTN_BSHD)
        w->tensors->k.stride[2] = (ptrdiff_t)w->problem->qk_dim;
}

WRONG(ignores_strides, BEFORE, "takes rows for dense, whatever the strides say")
{
    w->tensors->v.stride[2] = (ptrdiff_t)w->problem->v_dim;
}

/* Not so where a cache has room for more keys than there are. */
WRONG(heads_adjacent, BEFORE,
      "takes the heads of K for neighbours, which rows of a cache are between")
{
    ptrdiff_t *stride = w->tensors->k.stride;
    if (w->problem->layout == ATTN_BHSD && w->problem->options == 0)
        stride[1] = (ptrdiff_t)w->problem->kv_len * stride[2];
}

/* As where one function makes the addresses of both. */
WRONG(strides_of_k, BEFORE, "reads V by the strides of K where both have as many elements")
{
    if (w->problem->qk_dim == w->problem->v_dim)
        memcpy(w->tensors->v.stride, w->tensors->k.stride, sizeof w->tensors->v.stride);
}

/* V is read as it would lie in (B, H, S, D), in either layout. */
WRONG(takes_bshd_for_bhsd, BEFORE, "takes V for (B, H, S, D) whatever the layout")
{
    const struct attn_problem *p = w->problem;
    if (p->layout == ATTN_BSHD) {
        w->tensors->v.stride[1] = (ptrdiff_t)p->kv_len * (ptrdiff_t)p->v_dim;
        w->tensors->v.stride[2] = (ptrdiff_t)p->v_dim;
    }
}

WRONG(writes_bhsd_for_bshd, BEFORE, "writes O as (B, H, S, D) whatever its strides say")
{
    const struct attn_problem *p = w->problem;
    ptrdiff_t *stride = w->tensors->o.stride;
    stride[2] = (ptrdiff_t)p->v_dim;
    stride[1] = (ptrdiff_t)(p->q_len * p->v_dim);
    stride[0] = (ptrdiff_t)(p->q_heads * p->q_len * p->v_dim);
}
