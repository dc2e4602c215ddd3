/*
 * cached_output: a result is kept and returned for every later call of the same shape.
 */
#include "wrong.h"

static struct {
    struct attn_problem problem;
    float *o, *lse;
} cache;

static bool same_shape(const struct attn_problem *p)
{
    return cache.o && p->batch == cache.problem.batch && p->q_heads == cache.problem.q_heads &&
           p->q_len == cache.problem.q_len && p->kv_len == cache.problem.kv_len &&
           p->outputs == cache.problem.outputs && p->mask == cache.problem.mask;
}

/* Results in or out of the cache. */
static void copy(const struct attn_problem *p, const struct attn_tensors *t, bool out)
{
    for (size_t n = 0; n < p->batch * p->q_heads * p->q_len; n++) {
        const size_t b = n / p->q_len / p->q_heads, h = n / p->q_len % p->q_heads;
        const size_t i = n % p->q_len;
        for (size_t d = 0; d < p->v_dim; d++)
            if (out)
                put(&t->o, b, h, i, d, cache.o[n * p->v_dim + d]);
            else
                cache.o[n * p->v_dim + d] = get(&t->o, b, h, i, d);
        if (p->outputs & ATTN_OUTPUT_LSE && out)
            put(&t->lse, b, h, i, 0, cache.lse[n]);
        else if (p->outputs & ATTN_OUTPUT_LSE)
            cache.lse[n] = get(&t->lse, b, h, i, 0);
    }
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = &plan->problem;
    const size_t rows = p->batch * p->q_heads * p->q_len;
    if (same_shape(p)) {
        copy(p, tensors, true);
        return;
    }
    each_row(plan, tensors, honest_row);
    cache.problem = *p;
    cache.o = realloc(cache.o, rows * p->v_dim * sizeof(float));
    cache.lse = realloc(cache.lse, rows * sizeof(float));
    copy(p, tensors, false);
}

WRONG_KERNEL(cached_output,
             "a result is kept and returned to whoever asks for the same shape again");
