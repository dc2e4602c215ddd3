/*
 * diagnosed: mistakes that the check names: each computes what one of its hypotheses says (guess.c, guess_options.c
 * and sums.c of harness/check), which no kernel elsewhere does.
 */
#include "wrong.h"

/* ---- keys ---------------------------------------------------------------------------------- */

WRONG_OPTION(drops_first_key, BEFORE, "the loop over keys begins one late")
{
    if (w->seen.hi - w->seen.lo > 1)
        w->seen.lo++;
}

WRONG_OPTION(causal_as_top_left, BEFORE, "aligns every causal mask to the first key")
{
    struct attn_problem first = *w->problem;
    if (first.mask & ATTN_MASK_CAUSAL)
        first.mask ^= ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT;
    w->problem->mask = first.mask;
    see_keys(w);
}

WRONG_OPTION(length_of_the_shorter, BEFORE, "ends with the next sequence, where that is shorter")
{
    const size_t next = (w->b + 1) % w->problem->batch;
    const size_t keys = attn_sequence(w->problem, w->tensors, next).kv_len;
    w->sequence.kv_len = keys < w->sequence.kv_len ? keys : w->sequence.kv_len;
    see_keys(w);
}

WRONG_OPTION(list_ignored, BEFORE, "sees keys that its list does not name")
{
    show_list(w, NULL);
}

WRONG_OPTION(bool_ignored, BEFORE, "sees keys that a boolean mask hides")
{
    w->problem->mask &= ~(unsigned)ATTN_MASK_BOOL;
    show_keys(w);
}

/* ---- queries and keys of others -------------------------------------------------------------- */

/* Reads Q of another query of the sequence, if there is one. */
static void read_query(struct work *w, ptrdiff_t i)
{
    struct attn_tensor *q = &w->tensors->q;
    if (i >= 0 && i < (ptrdiff_t)w->sequence.q_len)
        q->data =
            (char *)q->data + attn_elements_bytes(q->dtype, (i - (ptrdiff_t)w->i) * q->stride[2]);
}

WRONG_OPTION(query_after, BEFORE, "reads each query one row late")
{
    read_query(w, (ptrdiff_t)w->i + 1);
}

WRONG_OPTION(query_before, BEFORE, "reads each query one row early")
{
    read_query(w, (ptrdiff_t)w->i - 1);
}

WRONG_OPTION(keys_of_the_first_head, BEFORE, "reads K of KV head 0 for all heads")
{
    w->tensors->k.stride[1] = 0;
}

/* ---- scores -------------------------------------------------------------------------------- */

WRONG_OPTION(scale_missing, BEFORE, "does not scale scores")
{
    w->scale = 1;
}

WRONG_OPTION(exp_of_scores_in_base_2, BEFORE, "takes e to the power of scores times log2(e)")
{
    w->scale *= 1.44269504F;
}

WRONG_OPTION(exp2_of_natural_scores, BEFORE, "takes 2 to the power of scores")
{
    w->scale *= 0.693147181F;
}

WRONG_OPTION(softcap_ignored, BEFORE, "does not cap scores")
{
    w->problem->options &= ~(unsigned)ATTN_OPTION_SOFTCAP;
}

WRONG_OPTION(bias_ignored, BEFORE, "adds no bias")
{
    w->problem->mask &= ~(unsigned)ATTN_MASK_BIAS;
}

WRONG_OPTION(slopes_ignored, BEFORE, "adds nothing for distances")
{
    w->problem->options &= ~(unsigned)ATTN_OPTION_ALIBI;
}

WRONG_OPTION(k_scale_missing, BEFORE, "takes keys of 8 bits as they are")
{
    static float one = 1;
    w->tensors->k_scale = (struct attn_tensor){&one, ATTN_F32, {0, 0, 0, 0}};
}

/* ---- sums ---------------------------------------------------------------------------------- */

WRONG_OPTION(sum_in_f16, WEIGHTS, "the sum of the weights is kept in f16")
{
    float sum = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        sum = attn_f16_to_f32(attn_f32_to_f16(sum + (w->shown[j] ? w->scores[j] : 0)));
    w->l = w->sink > -INFINITY ? w->l : sum;
}

WRONG_OPTION(lse_in_base_10, AFTER, "takes LSE for a logarithm of base 10")
{
    store_lse(w, w->l == 0 ? -INFINITY : (w->m + log(w->l)) / log((real)10));
}

WRONG_OPTION(lse_with_log2, AFTER, "adds a logarithm of base 2 to a natural maximum")
{
    store_lse(w, w->l == 0 ? -INFINITY : w->m + log2(w->l));
}

WRONG_OPTION(lse_lacks_maximum, AFTER, "leaves the maximum out of LSE")
{
    store_lse(w, log(w->l));
}

WRONG_OPTION(lse_is_maximum, AFTER, "writes the maximum for LSE")
{
    store_lse(w, w->l == 0 ? -INFINITY : w->m);
}

WRONG_OPTION(lse_is_sum, AFTER, "writes the sum of exponentials for LSE")
{
    store_lse(w, w->l == 0 ? -INFINITY : exp(w->m + log(w->l)));
}

WRONG_OPTION(lse_negated, AFTER, "writes -LSE")
{
    store_lse(w, w->l == 0 ? -INFINITY : -(w->m + log(w->l)));
}
