/*
 * reads_far_away: goes on to the next block of keys where there is none, on one thread.
 */
#include "wrong.h"

/* The 89th row: query 18 of head 1 where there are 70 queries. */
static void row(struct work *w)
{
    const struct attn_problem *p = w->problem;
    const volatile float *k =
        attn_row(&w->tensors->k, p->batch - 1, p->kv_heads - 1, p->kv_len - 1);
    if (w->h == 1 && w->i == 18)
        (void)k[p->qk_dim + 1000000];
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    struct attn_plan serial = *plan;
    serial.threads = 1;
    each_row(&serial, tensors, row);
}

WRONG_KERNEL(reads_far_away,
             "goes on to the next block of keys where there is none, on one thread");
