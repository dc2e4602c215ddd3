/*
 * differs_by_threads: splits the keys by the number of threads and adds the parts' sums.
 */
#include "wrong.h"

static int threads;

static void row(struct work *w)
{
    sum_in_parts(w, (size_t)threads);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    threads = plan->threads;
    each_row(plan, tensors, row);
}

WRONG_KERNEL(differs_by_threads,
             "splits the keys by the number of threads and adds the parts' sums");
