/*
 * packed_reads_on: goes on behind the end of a packed sequence, into the keys of the next, as
 * if all were padded.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const unsigned cached = ATTN_OPTION_RAGGED | ATTN_OPTION_PAGED;
    const struct attn_problem *p = w->problem;
    const size_t left = w->tensors->kv_rows - w->sequence.kv_first;
    if (p->options & ATTN_OPTION_PACKED && !(p->options & cached)) {
        w->sequence.kv_len = left < p->kv_len ? left : p->kv_len;
        see_keys(w);
    }
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(packed_reads_on, "sees the keys of the next packed sequences");
