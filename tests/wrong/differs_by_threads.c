/*
 * differs_by_threads: splits the keys by the number of threads and adds the parts' sums.
 */
#include "wrong.h"

static int threads;

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    const float m = w->m == -INFINITY ? 0 : w->m;
    w->l = 0;
    for (int t = 0; t < threads; t++) {
        float part = 0;
        for (ptrdiff_t j = w->seen.lo + t; j < w->seen.hi; j += threads)
            part += w->scores[j] = expf(w->scores[j] - m);
        w->l += part;
    }
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    threads = plan->threads;
    each_row(plan, tensors, row);
}

WRONG_KERNEL(differs_by_threads,
             "splits the keys by the number of threads and adds the parts' sums");
