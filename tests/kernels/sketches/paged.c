/*
 * paged: K and V in pages of page_size keys, wherever there was room for one.
 *
 * k and v are (pages, Hkv, page_size, D); block_table (B, pages per sequence) names the page of
 * each stretch of a sequence, kv_lens how many keys it has so far.  kv_len of the problem is the
 * longest that a plan must be ready for.
 */
#include "sketches.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *t)
{
    const struct attn_problem *p = &plan->problem;
    for (size_t b = 0; b < p->batch; b++) {
        const ptrdiff_t kv_len = ((const int32_t *)t->kv_lens.data)[b];
        const int32_t *pages =
            (const int32_t *)t->block_table.data + (ptrdiff_t)b * t->block_table.stride[0];
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < p->q_len; i++) {
                const size_t g = attn_kv_head(p, h);
                const struct attn_range seen =
                    attn_visible_in(p, (ptrdiff_t)i, (ptrdiff_t)p->q_len, kv_len);
                struct sketch_row row;
                sketch_start(&row, attn_row(&t->q, b, h, i), attn_row(&t->o, b, h, i), p->v_dim);
                for (ptrdiff_t j = seen.lo; j < seen.hi; j++) {
                    const size_t page = (size_t)pages[(size_t)j / p->page_size];
                    const size_t in_page = (size_t)j % p->page_size;
                    sketch_see(&row, p, attn_row(&t->k, page, g, in_page),
                               attn_row(&t->v, page, g, in_page));
                }
                sketch_finish(&row, p->v_dim);
            }
    }
}

const struct attn_kernel sketch_paged = {
    .size = sizeof(struct attn_kernel),
    .name = "paged",
    .summary = "K and V in pages",
    .source = "PagedAttention, Kwon et al. 2023, arXiv:2309.06180",
    .isa = ATTN_ISA_BASELINE,
    .execute = execute,
    .caps.size = sizeof(struct attn_caps),
    .caps.dtypes = 1u << ATTN_F32,
    .caps.masks = ATTN_MASK_CAUSAL,
    .caps.options = ATTN_OPTION_PAGED | ATTN_OPTION_RAGGED,
    .caps.outputs = ATTN_OUTPUT_O,
    .caps.forward = true,
    .caps.compute = ATTN_F32,
};
