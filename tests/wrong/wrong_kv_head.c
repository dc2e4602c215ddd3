/*
 * wrong_kv_head: query head h reads KV head h mod Hkv, right for MHA and MQA only.
 */
#include "wrong.h"

static void row(struct work *w)
{
    w->g = w->h % w->problem->kv_heads;
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(wrong_kv_head, "query head h reads KV head h mod Hkv, right for MHA and MQA only");
