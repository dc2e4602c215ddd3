/*
 * scores_from_the_first: keeps scores as differences from the first one, as kernels do whose running maximum
 * is folded into the product.
 *
 * Where the first lies far below, the others lose their low bits to it.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    float first = -INFINITY;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        first = first == -INFINITY ? w->scores[j] : first;
    if (isfinite(first)) {
        for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
            w->scores[j] -= first;
        w->sink -= first;
    }
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    w->m += isfinite(first) ? first : 0;
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(scores_from_the_first, "scores that are kept as differences from the first one");
