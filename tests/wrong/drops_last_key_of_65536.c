/*
 * drops_last_key_of_65536: a counter of 16 bits loses one key, at one length only.
 *
 * On random inputs the row moves by a 65536th.
 */
#include "wrong.h"

static void row(struct work *w)
{
    if (w->problem->kv_len == 65536)
        w->seen.hi--;
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(drops_last_key_of_65536, "a counter of 16 bits loses one key, at one length only");
