/*
 * maximum_may_fall: each block's maximum replaces the running one, also when it is lower.
 *
 * The rescaling factor exp(m_old - m_new) then exceeds 1, which is right until it overflows, when
 * scores fall by more than 88 (a bug that a published kernel had).
 */
#include "wrong.h"

#define BLOCK 16

static void block(struct work *w, ptrdiff_t lo, ptrdiff_t hi)
{
    float m = -INFINITY;
    for (ptrdiff_t j = lo; j < hi; j++)
        m = fmaxf(m, w->scores[j]);
    const float factor = expf(w->m - m);
    w->l *= factor;
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] *= factor;
    for (ptrdiff_t j = lo; j < hi; j++) {
        const float p = expf(w->scores[j] - m);
        w->l += p;
        for (size_t d = 0; d < w->problem->v_dim; d++)
            w->o[d] += p * value(w, j, d);
    }
    w->m = m;
}

static void row(struct work *w)
{
    make_scores(w);
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] = 0;
    w->m = -INFINITY;
    w->l = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j += BLOCK)
        block(w, j, j + BLOCK < w->seen.hi ? j + BLOCK : w->seen.hi);
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] /= w->l != 0 ? w->l : 1;
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(maximum_may_fall,
             "each block's maximum replaces the running one, also when it is lower");
