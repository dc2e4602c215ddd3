/*
 * ragged: sequences of different lengths, packed without padding.
 *
 * Q and O hold the queries of all sequences one behind the other: cu_seqlens gives the first row of
 * each, stride[0] is 0.  K and V are packed likewise by cu_seqlens_kv.  q_len and kv_len of the
 * problem are the longest, which is what a plan must have workspace for.
 */
#include "sketches.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *t)
{
    const struct attn_problem *p = &plan->problem;
    const int32_t *q_first = t->cu_seqlens.data, *kv_first = t->cu_seqlens_kv.data;
    for (size_t b = 0; b < p->batch; b++) {
        const ptrdiff_t q_len = q_first[b + 1] - q_first[b], kv_len = kv_first[b + 1] - kv_first[b];
        for (size_t h = 0; h < p->q_heads; h++)
            for (ptrdiff_t i = 0; i < q_len; i++) {
                const size_t at = (size_t)(q_first[b] + i), g = attn_kv_head(p, h);
                const struct attn_range seen = attn_visible_in(p, i, q_len, kv_len);
                struct sketch_row row;
                sketch_start(&row, attn_row(&t->q, b, h, at), attn_row(&t->o, b, h, at), p->v_dim);
                for (ptrdiff_t j = seen.lo; j < seen.hi; j++) {
                    const size_t key = (size_t)(kv_first[b] + j);
                    sketch_see(&row, p, attn_row(&t->k, b, g, key), attn_row(&t->v, b, g, key));
                }
                sketch_finish(&row, p->v_dim);
            }
    }
}

const struct attn_kernel sketch_ragged = {
    .size = sizeof(struct attn_kernel),
    .name = "ragged",
    .summary = "a length per sequence",
    .source = "FlashAttention's varlen interface",
    .isa = ATTN_ISA_BASELINE,
    .execute = execute,
    .caps.size = sizeof(struct attn_caps),
    .caps.dtypes = 1u << ATTN_F32,
    .caps.masks = ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT,
    .caps.options = ATTN_OPTION_RAGGED | ATTN_OPTION_WINDOW,
    .caps.outputs = ATTN_OUTPUT_O,
    .caps.forward = true,
    .caps.compute = ATTN_F32,
};
