/*
 * scales.h: part of kernel flash for matrix units: scales of K and V of 8 bits.
 *
 * Elements are widened while they are packed (shared/tile_bytes.h). Scales are no bfloat16.  One for a head
 * goes into the factor that makes scores of products, or results of sums.  One for each key multiplies its
 * scores in float32, one for each value its weights: these are then computed in float32, so that they are
 * still rounded once (weigh_row_scaled()).  One for each channel of K goes into the queries (split_dims()).
 *
 * With an infinite scale of a key, or of a head's keys, products of both signs add up to NaN; scaling their
 * finished sum would give infinity.  So such a scale multiplies elements when they are packed.
 */
#pragma once

#include "scratch.h"

/* ---- scales ---------------------------------------------------------------------------------- */

/* Whether weights take the scales of values: where each value has its own, and where that of a head is not
 * finite.  Times an infinite scale, values of both signs add up to NaN; their finished sum has one sign. */
static inline bool scales_values(const struct attn_problem *p, const struct attn_tensor *scales)
{
    if (!attn_dtype_scaled(p->kv_dtype) || !(p->outputs & ATTN_OUTPUT_O))
        return false;
    if (scales->stride[2])
        return true;
    bool finite = true;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            finite &= isfinite(*attn_row_f32(scales, b, g, 0)) != 0;
    return !finite;
}

/* That of a head where it has one for all its keys; else 1. */
static inline float scale_of_head(const struct call *call, const struct attn_tensor *scales,
                                  const struct group_block *rows)
{
    const bool k = scales == &call->tensors->k_scale;
    if (!attn_dtype_scaled(call->problem->kv_dtype) || scales->stride[2] || (k && call->k_channels))
        return 1;
    const float scale = *attn_row_f32(scales, rows->b, rows->g, rows->sequence.kv_first);
    return k && isinf(scale) ? 1 : scale; /* in the keys: pack_infinite() */
}
