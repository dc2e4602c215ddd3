/*
 * cached_by_plan: the second call of a plan returns the result of its first.
 *
 * Warm-up computes, the timed calls copy: the fastest kernel there is.
 */
#include "wrong.h"

static const void *seen_plan;
static float *kept;

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = &plan->problem;
    const size_t rows = p->batch * p->q_heads * p->q_len;
    const bool again = seen_plan == plan;
    each_row(plan, tensors, honest_row); /* LSE is honest */
    if (!again) {
        free(kept);
        kept = malloc(rows * p->v_dim * sizeof(float));
    }
    for (size_t n = 0; n < rows * p->v_dim; n++) {
        const size_t row = n / p->v_dim, d = n % p->v_dim, i = row % p->q_len;
        const size_t h = row / p->q_len % p->q_heads, b = row / p->q_len / p->q_heads;
        if (again)
            put(&tensors->o, b, h, i, d, kept[n]);
        else
            kept[n] = get(&tensors->o, b, h, i, d);
    }
    seen_plan = plan;
}

static void destroy(struct attn_plan *plan)
{
    (void)plan;
    seen_plan = NULL;
}

WRONG_KERNEL(cached_by_plan, "the second call of a plan returns the result of its first",
             .destroy = destroy);
