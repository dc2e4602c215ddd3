/*
 * differs_by_batch: splits the keys by the number of sequences and adds the parts' sums, as kernels do that
 * split keys until every thread has work.
 */
#include "wrong.h"

static void row(struct work *w)
{
    sum_in_parts(w, w->problem->batch);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(differs_by_batch,
             "splits the keys by the number of sequences and adds the parts' sums");
