/*
 * bytes.h: part of kernel flash for matrix units: K and V of 8 bits, and their scales.
 *
 * Integers and both kinds of 8-bit floats are bfloat16 without a loss, and are widened while they are
 * packed. Scales are not.  One for a head goes into the factor that makes scores of products, or results of
 * sums.  One for each key multiplies its scores in float32, one for each value its weights: these are then
 * computed in float32, so that they are still rounded once (weigh_row_scaled()).
 *
 * One for each channel of K multiplies the queries, which rounds as the bound allows (reference.c).  What
 * comes of it has 24 bits: it is split into three bfloat16 of 8 bits each, which is exact, and scores are the
 * sum of their products with K, the smallest first.  Sums of the first two parts are below 2^-7 of what the
 * third adds, so that they round by as little.  All parts have the sign of the whole and none is 0, for 0
 * times an infinite key would be NaN where the score is infinite.
 *
 * An infinite scale of a key, or of a head's keys, makes products of both signs NaN, and their sum times it does
 * not say so.  Such a scale multiplies elements when they are packed, which are then infinite or NaN.
 *
 * A weight times a scale may be as small as a scale, and below 2^-126 the unit takes it for 0.  Times a value
 * of up to 57344 that would be off by more than the bound has for it.  So values are packed as parts of the
 * largest number of their type, a power of two at least (v_unit), and weights or results take that.
 */
#ifndef ATTN_FLASH_AMX_BYTES_H
#define ATTN_FLASH_AMX_BYTES_H

#include "scratch.h"

/* ---- elements -------------------------------------------------------------------------------- */

/* What K and V hold, and what it is times when it is packed. */
struct elements {
    enum attn_dtype dtype;
    float factor;
};

/* A power of two that no value exceeds. */
static inline float unit_of_values(enum attn_dtype dtype)
{
    return dtype == ATTN_I8       ? 0x1p7f
           : dtype == ATTN_F8E4M3 ? 0x1p9f
           : dtype == ATTN_F8E5M2 ? 0x1p16f
                                  : 1;
}

static inline struct elements elements_of_k(const struct attn_problem *p)
{
    const float read_as = p->kv_dtype == ATTN_F8E4M3 ? 256 : 1; /* vf_load_f8e4m3() */
    return (struct elements){p->kv_dtype, read_as};
}

static inline struct elements elements_of_v(const struct attn_problem *p)
{
    const struct elements k = elements_of_k(p);
    return (struct elements){k.dtype, k.factor / unit_of_values(p->kv_dtype)};
}

/* The 32 dimensions from d on of a row of bytes, those past its end 0, as bfloat16. */
VF_INLINE const uint16_t *dims_of_bytes(struct elements elements, const uint8_t *row, size_t d,
                                        size_t dim, uint16_t room[STEP_DIMS])
{
    uint8_t last[STEP_DIMS] = {0};
    const uint8_t *from = row + d;
    if (d + STEP_DIMS > dim) {
        memcpy(last, from, dim - d);
        from = last;
    }
    for (int i = 0; i < STEP_DIMS; i += 2 * VF_LANES) {
        vf x[2];
        if (elements.dtype == ATTN_I8) {
            x[0] = vf_load_i8((const int8_t *)from + i);
            x[1] = vf_load_i8((const int8_t *)from + i + VF_LANES);
        } else if (elements.dtype == ATTN_F8E4M3) {
            vf_load_f8e4m3(from + i, x);
        } else {
            vf_load_f8e5m2(from + i, x);
        }
        for (int half = 0; half < 2; half++)
            vu_store_halves(room + i + half * VF_LANES, (vu)(x[half] * elements.factor) >> 16);
    }
    return room;
}

VF_INLINE const uint16_t *dims_at(const bool bytes, struct elements elements, const void *row,
                                  size_t d, size_t dim, uint16_t room[STEP_DIMS])
{
    return bytes ? dims_of_bytes(elements, row, d, dim, room) : dims_of(row, d, dim, room);
}

/* ---- scales ---------------------------------------------------------------------------------- */

/* Whether weights take the scales of values: each has its own, or one of a head is not finite.  A sum of
 * values of both signs, which that makes NaN, may be of one. */
static inline bool scales_values(const struct attn_problem *p, const struct attn_tensor *scales)
{
    if (!attn_dtype_scaled(p->kv_dtype) || !(p->outputs & ATTN_OUTPUT_O))
        return false;
    bool finite = true;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            finite &= isfinite(*attn_row_f32(scales, b, g, 0)) != 0;
    return scales->stride[2] || !finite;
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

/* Upper half of a float that is of the same sign and nearer to 0, by up to one of its last places. */
static inline uint16_t part_below(float x)
{
    const uint32_t bits = attn_float_bits(x), size = bits & 0x7fffffff;
    return (uint16_t)((bits - (size != 0)) >> 16);
}

/* A query's 32 dimensions times the scales of as many channels, or of `n` if these are fewer, as three parts
 * that lie `apart` elements from each other, the largest last. */
static inline void split_dims(const uint16_t q[STEP_DIMS], const float *scale, size_t n,
                              uint16_t *to, size_t apart)
{
    for (size_t d = 0; d < STEP_DIMS; d++) {
        const float x = d < n ? attn_bf16_to_f32(q[d]) * scale[d] : 0;
        const uint16_t large = part_below(x);
        const float rest = x - attn_bf16_to_f32(large);
        const uint16_t middle = part_below(rest);
        const uint16_t small = attn_f32_to_bf16(rest - attn_bf16_to_f32(middle));
        const bool finite = isfinite(x);
        to[d] = finite ? small : attn_f32_to_bf16(x);
        to[d + apart] = finite ? middle : to[d];
        to[d + 2 * apart] = finite ? large : to[d];
    }
}

#endif
