/*
 * last_page_read_whole: sees the rest of the last page of a sequence, too.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const struct attn_problem *p = w->problem;
    const size_t page = p->page_size, keys = w->sequence.kv_len;
    const bool terms = p->mask & (ATTN_MASK_BIAS | ATTN_MASK_BOOL) || p->kv_dtype == ATTN_I8;
    if (p->options & ATTN_OPTION_PAGED && w->seen.hi == (ptrdiff_t)keys &&
        w->seen.lo < w->seen.hi) {
        size_t whole = (keys + page - 1) / page * page;
        whole = terms && whole > p->kv_len ? p->kv_len : whole; /* they have no more columns */
        for (size_t j = p->kv_len; j < whole; j++)
            w->shown[j] = true;
        w->seen.hi = (ptrdiff_t)whole;
    }
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(last_page_read_whole, "sees the whole last page of a sequence");
