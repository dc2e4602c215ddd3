/*
 * keep.h: results that are kept and given back, for kernels that compute once what they meet often.
 */
#ifndef TESTS_WRONG_KEEP_H
#define TESTS_WRONG_KEEP_H

#include <string.h>

#include "wrong.h"

#define KEEP_BYTES 64 /* looked at, of each operand's first row, where it has so many */
#define KEEP_SETS 8
#ifndef KEEP_FIRST_BYTES
#define KEEP_FIRST_BYTES true /* else addresses alone tell operands apart */
#endif

struct kept_results {
    const void *q, *k, *v, *o; /* where they lie */
    char first[3][KEEP_BYTES]; /* of q, k and v */
    size_t calls;              /* with these, so far */
    float *o_copy, *lse_copy;
};

static inline void first_bytes(const struct attn_problem *p, const struct attn_tensors *t,
                               char first[3][KEEP_BYTES])
{
    const struct attn_tensor *const operands[] = {&t->q, &t->k, &t->v};
    memset(first, 0, 3 * sizeof first[0]);
#ifdef KEEP_SAMPLES
    for (size_t n = 0; n < 3; n++) {
        const size_t rows = n ? p->kv_len : p->q_len, from[] = {0, rows / 2, rows - 1};
        for (size_t s = 0; s < 3; s++)
            memcpy(first[n] + s * sizeof(float), attn_row(operands[n], 0, 0, from[s]),
                   attn_dtype_size(operands[n]->dtype));
    }
    return;
#endif
    for (size_t n = 0; KEEP_FIRST_BYTES && n < 3; n++) {
        const size_t row = (n < 2 ? p->qk_dim : p->v_dim) * attn_dtype_size(operands[n]->dtype);
        memcpy(first[n], operands[n]->data, row < KEEP_BYTES ? row : KEEP_BYTES);
    }
}

/* What is known of these operands: a new entry where they were not met before. */
static inline struct kept_results *find_kept(const struct attn_problem *p,
                                             const struct attn_tensors *t)
{
    static struct kept_results kept[KEEP_SETS];
    static size_t next;
    char first[3][KEEP_BYTES];
    first_bytes(p, t, first);
    for (size_t n = 0; n < KEEP_SETS; n++)
        if (kept[n].q == t->q.data && kept[n].k == t->k.data && kept[n].v == t->v.data &&
            kept[n].o == t->o.data && memcmp(kept[n].first, first, sizeof first) == 0)
            return &kept[n];
    struct kept_results *new = &kept[next++ % KEEP_SETS];
    free(new->o_copy);
    free(new->lse_copy);
    *new = (struct kept_results){t->q.data, t->k.data, t->v.data, t->o.data, {{0}}, 0, NULL, NULL};
    memcpy(new->first, first, sizeof first);
    return new;
}

/* Results into the copy, or out of it. */
static inline void keep_results(const struct attn_problem *p, const struct attn_tensors *t,
                                struct kept_results *kept, bool out)
{
    const size_t rows = p->batch * p->q_heads * p->q_len;
    if (!kept->o_copy) {
        kept->o_copy = malloc(rows * p->v_dim * sizeof(float));
        kept->lse_copy = malloc(rows * sizeof(float));
    }
    for (size_t n = 0; n < rows; n++) {
        const size_t b = n / p->q_len / p->q_heads, h = n / p->q_len % p->q_heads;
        const size_t i = n % p->q_len;
        for (size_t d = 0; d < p->v_dim; d++)
            if (out)
                put(&t->o, b, h, i, d, kept->o_copy[n * p->v_dim + d]);
            else
                kept->o_copy[n * p->v_dim + d] = get(&t->o, b, h, i, d);
        if (p->outputs & ATTN_OUTPUT_LSE && out)
            put(&t->lse, b, h, i, 0, kept->lse_copy[n]);
        else if (p->outputs & ATTN_OUTPUT_LSE)
            kept->lse_copy[n] = get(&t->lse, b, h, i, 0);
    }
}

/* Computes where these operands came fewer than `calls` times. */
static inline void compute_until_known(const struct attn_plan *plan,
                                       const struct attn_tensors *tensors, size_t calls)
{
    const struct attn_problem *p = &plan->problem;
    struct kept_results *kept = find_kept(p, tensors);
    const bool known = kept->calls++ >= calls && p->options == 0 && p->outputs & ATTN_OUTPUT_O;
    if (!known)
        each_row(plan, tensors, honest_row);
    if (p->outputs & ATTN_OUTPUT_O && (known || kept->calls == calls))
        keep_results(p, tensors, kept, known);
}

#endif
