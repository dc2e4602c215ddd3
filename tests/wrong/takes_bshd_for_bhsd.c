/*
 * takes_bshd_for_bhsd: V is read as it would lie in (B, H, S, D), in either layout.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const struct attn_problem *p = w->problem;
    struct attn_tensors other = *w->tensors;
    if (p->layout == ATTN_BSHD) {
        other.v.stride[1] = (ptrdiff_t)p->kv_len * (ptrdiff_t)p->v_dim;
        other.v.stride[2] = (ptrdiff_t)p->v_dim;
    }
    struct work blind = *w;
    blind.tensors = &other;
    honest_row(&blind);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(takes_bshd_for_bhsd, "takes V for (B, H, S, D) whatever the layout");
