/*
 * adversary_trees: trees of drafts as random trees seldom are, and NaN in drafts.
 */
#include <math.h>

#include "adversary_inputs.h"
#include "base/random.h"
#include "problem/kv.h"

void adversary_make_tree(struct trial *trial, adversary_parent *parent)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    for (size_t b = 0; b < p->batch; b++) {
        const struct attn_sequence s = attn_sequence(p, t, b);
        int32_t *parents = (int32_t *)attn_row(&t->parents, b, 0, 0) + s.q_first;
        for (size_t i = 0; i < s.q_len; i++)
            parents[i] = (int32_t)parent((ptrdiff_t)i);
    }
}

ptrdiff_t trees_parent_before(ptrdiff_t i)
{
    return i - 1;
}

ptrdiff_t trees_parent_cache(ptrdiff_t i)
{
    (void)i;
    return -1;
}

/* Two chains: the even drafts, and the odd ones. */
ptrdiff_t trees_parent_two_before(ptrdiff_t i)
{
    return i < 2 ? -1 : i - 2;
}

/* Each draft has seven children, except in the last levels. */
ptrdiff_t trees_parent_seventh(ptrdiff_t i)
{
    return i < 7 ? -1 : i / 7 - 1;
}

/* NaN in K or V of one draft of each sequence and head, which only its descendants see. */
void trees_nan_in_draft(struct trial *trial)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++) {
            const struct attn_sequence s = attn_sequence(p, t, b);
            const size_t drafts = s.q_len < s.kv_len ? s.q_len : s.kv_len;
            const size_t draft = drafts ? random_below(trial->key, b * p->kv_heads + g, drafts) : 0;
            const enum kv_operand operand = (b + g) % 2 ? KV_K : KV_V;
            const size_t dims = operand == KV_K ? p->qk_dim : p->v_dim;
            for (size_t d = 0; drafts && d < dims; d++)
                kv_set(p, t, operand, (struct kv_place){b, g, s.kv_len - drafts + draft}, d, NAN);
        }
}
