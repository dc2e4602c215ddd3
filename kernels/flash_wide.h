/*
 * flash_wide.h: kernel flash for 16-bit types where the ISA multiplies none: K and V of a block are
 * widened to float32 once for all tiles of the task, and everything else is float32.
 */
#ifndef ATTN_FLASH_WIDE_H
#define ATTN_FLASH_WIDE_H

#include "flash_f32.h"

/* Rows of `dim` elements, `stride` elements apart, to dense rows of floats. */
static float *flash_widen(float *to, const uint16_t *from, ptrdiff_t stride, int keys, int dim,
                          enum attn_dtype dtype)
{
    for (int j = 0; j < keys; j++, from += stride, to += dim) {
        int d = 0;
        for (; d + VF_LANES <= dim; d += VF_LANES)
            vf_store(to + d, dtype == ATTN_BF16 ? vf_load_bf16(from + d) : vf_load_f16(from + d));
        for (; d < dim; d++)
            to[d] = dtype == ATTN_BF16 ? attn_bf16_to_f32(from[d]) : attn_f16_to_f32(from[d]);
    }
    return to;
}

static void flash_wide_pack(struct flash_block *block)
{
    const struct flash_job *job = block->job;
    const enum attn_dtype dtype = job->problem->dtype;
    float *k = block->packed;
    float *v = flash_widen(k, block->k, block->k_stride, block->keys, job->qk_dim, dtype);
    flash_widen(v, block->v, block->v_stride, block->keys, job->v_dim, dtype);
    block->k = k;
    block->v = v;
    block->k_stride = job->qk_dim;
    block->v_stride = job->v_dim;
}

static const struct flash_type flash_wide = {
    .pair = 1,
    .pack = flash_wide_pack,
    .load = flash_load,
    .scores = flash_f32_scores,
    .weights = flash_f32_weights,
    .weigh = FLASH_WEIGH,
    .values = flash_f32_values,
    .finite = flash_f32_finite,
    .value = flash_f32_value,
    .weight = flash_f32_weight,
    .store = flash_store,
};

#endif
