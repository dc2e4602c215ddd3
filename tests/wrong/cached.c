/*
 * cached: results that are given back where they should be computed.
 */
#include <string.h>

#include "wrong.h"

/* O and LSE, if that is not NULL, into copies in the order of rows, or out of them. */
static void copy_results(const struct attn_problem *p, const struct attn_tensors *t, float *o,
                         float *lse, bool out)
{
    for (size_t n = 0; n < p->batch * p->q_heads * p->q_len; n++) {
        const size_t b = n / p->q_len / p->q_heads, h = n / p->q_len % p->q_heads;
        const size_t i = n % p->q_len;
        for (size_t d = 0; d < p->v_dim; d++)
            if (out)
                put(&t->o, b, h, i, d, o[n * p->v_dim + d]);
            else
                o[n * p->v_dim + d] = get(&t->o, b, h, i, d);
        if (lse && p->outputs & ATTN_OUTPUT_LSE && out)
            put(&t->lse, b, h, i, 0, lse[n]);
        else if (lse && p->outputs & ATTN_OUTPUT_LSE)
            lse[n] = get(&t->lse, b, h, i, 0);
    }
}

static size_t bytes_of_rows(const struct attn_problem *p)
{
    return p->batch * p->q_heads * p->q_len * sizeof(float);
}

static const void *seen_plan;

static void forget_plan(struct attn_plan *plan)
{
    (void)plan;
    seen_plan = NULL;
}

/* Warm-up computes, the timed calls copy: the fastest kernel there is. */
WRONG_CALL(cached_by_plan, "the second call of a plan returns the result of its first",
           .destroy = forget_plan)
{
    static float *kept;
    const struct attn_problem *p = &plan->problem;
    const bool again = seen_plan == plan;
    each_row(plan, tensors, honest_row); /* LSE is honest */
    if (!again) {
        free(kept);
        kept = malloc(bytes_of_rows(p) * p->v_dim);
    }
    copy_results(p, tensors, kept, NULL, again);
    seen_plan = plan;
}

WRONG_CALL(cached_output, "a result is kept and returned to whoever asks for the same shape again")
{
    static struct attn_problem of;
    static float *o, *lse;
    const struct attn_problem *p = &plan->problem;
    const bool again = o && p->batch == of.batch && p->q_heads == of.q_heads &&
                       p->q_len == of.q_len && p->kv_len == of.kv_len && p->outputs == of.outputs &&
                       p->mask == of.mask;
    if (!again) {
        each_row(plan, tensors, honest_row);
        of = *p;
        free(o);
        free(lse);
        o = malloc(bytes_of_rows(p) * p->v_dim);
        lse = malloc(bytes_of_rows(p));
    }
    copy_results(p, tensors, o, lse, again);
}

#define KEPT 8        /* sets of operands */
#define KEPT_BYTES 64 /* looked at, of each operand's first row, where it has so many */

/* A kernel that computes once what it meets often. */
struct keeper {
    enum { BY_ADDRESS, BY_FIRST_BYTES, BY_SAMPLES } by; /* what tells operands apart */
    size_t calls;                                       /* on the same operands that compute */
    struct kept_results {
        const void *q, *k, *v, *o; /* where they lie */
        char first[3][KEPT_BYTES]; /* of q, k and v */
        size_t calls;              /* with these, so far */
        float *o_copy, *lse_copy;
    } kept[KEPT];
    size_t next;
};

static void look(const struct keeper *keeper, const struct attn_problem *p,
                 const struct attn_tensors *t, char first[3][KEPT_BYTES])
{
    const struct attn_tensor *const operands[] = {&t->q, &t->k, &t->v};
    memset(first, 0, 3 * sizeof first[0]);
    for (size_t n = 0; n < 3; n++) {
        const size_t rows = n ? p->kv_len : p->q_len, from[] = {0, rows / 2, rows - 1};
        const size_t element = attn_dtype_size(operands[n]->dtype);
        const size_t row = (n < 2 ? p->qk_dim : p->v_dim) * element;
        for (size_t s = 0; keeper->by == BY_SAMPLES && s < 3; s++)
            memcpy(first[n] + s * sizeof(float), attn_row(operands[n], 0, 0, from[s]), element);
        if (keeper->by == BY_FIRST_BYTES)
            memcpy(first[n], operands[n]->data, row < KEPT_BYTES ? row : KEPT_BYTES);
    }
}

/* What is known of these operands: a new entry where they were not met before. */
static struct kept_results *find_kept(struct keeper *keeper, const struct attn_problem *p,
                                      const struct attn_tensors *t)
{
    struct kept_results *kept = keeper->kept;
    char first[3][KEPT_BYTES];
    look(keeper, p, t, first);
    for (size_t n = 0; n < KEPT; n++)
        if (kept[n].q == t->q.data && kept[n].k == t->k.data && kept[n].v == t->v.data &&
            kept[n].o == t->o.data && memcmp(kept[n].first, first, sizeof first) == 0)
            return &kept[n];
    struct kept_results *new = &kept[keeper->next++ % KEPT];
    free(new->o_copy);
    free(new->lse_copy);
    *new = (struct kept_results){.q = t->q.data, .k = t->k.data, .v = t->v.data, .o = t->o.data};
    memcpy(new->first, first, sizeof first);
    return new;
}

static void compute_until_known(const struct attn_plan *plan, const struct attn_tensors *tensors,
                                struct keeper *keeper)
{
    const struct attn_problem *p = &plan->problem;
    struct kept_results *kept = find_kept(keeper, p, tensors);
    const bool known =
        kept->calls++ >= keeper->calls && p->options == 0 && p->outputs & ATTN_OUTPUT_O;
    if (!known)
        each_row(plan, tensors, honest_row);
    if (!(p->outputs & ATTN_OUTPUT_O) || !(known || kept->calls == keeper->calls))
        return;
    if (!kept->o_copy) {
        kept->o_copy = malloc(bytes_of_rows(p) * p->v_dim);
        kept->lse_copy = malloc(bytes_of_rows(p));
    }
    copy_results(p, tensors, kept->o_copy, kept->lse_copy, known);
}

/* Gives a result back wherever operands lie where others have lain before. */
WRONG_CALL(keeps_by_address, "results are kept by the addresses of their operands")
{
    static struct keeper keeper = {.by = BY_ADDRESS, .calls = 1};
    compute_until_known(plan, tensors, &keeper);
}

/* A result is given back wherever the same addresses begin with the same bytes, as a cache does
 * that takes a prefix of its operands for their hash. */
WRONG_CALL(keeps_by_first_bytes, "results are kept by the first bytes of their operands")
{
    static struct keeper keeper = {.by = BY_FIRST_BYTES, .calls = 1};
    compute_until_known(plan, tensors, &keeper);
}

/* A result is given back wherever the same addresses have the same numbers in the first row, the
 * one in the middle and the last, as a cache does that samples its operands. */
WRONG_CALL(keeps_by_samples, "results are kept by three rows of their operands")
{
    static struct keeper keeper = {.by = BY_SAMPLES, .calls = 1};
    compute_until_known(plan, tensors, &keeper);
}

/* Computes operands a hundred times, then gives back what it has kept where the same addresses and
 * the same first bytes come again.  Its answers are right as long as nothing changes: no check
 * calls a kernel so often, and whoever times it on the same operands measures a copy. */
WRONG_CALL(keeps_known_operands, "results of operands that came a hundred times are kept")
{
    static struct keeper keeper = {.by = BY_FIRST_BYTES, .calls = 100};
    compute_until_known(plan, tensors, &keeper);
}
