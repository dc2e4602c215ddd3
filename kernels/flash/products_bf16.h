/*
 * products_bf16.h: part of kernel flash: the arithmetic in bfloat16 with the dot product of pairs, for
 * variant avx512_bf16; matrices.h is neon_bf16's.
 *
 * A lane of 32 bits holds two neighbouring elements of the dimension that is summed over.  Along
 * D, for the scores, they are neighbours in K and Q already.  Along the keys, for the results,
 * weights are rounded and joined two rows at a time, and V is packed (bf16_operands.h).  The scale
 * multiplies the float32 scores.
 *
 * Defines what products.h lists, as products_f32.h does for the other variants.
 */
#pragma once

#include "bf16_operands.h"
#include "register_sums.h"

typedef uint16_t value_element;

#define SCALES_SCORES true
#define VALUE_ROW(a) (2 * BF16_PANEL)
#define load_query vf_load
#define broadcast_key bf16_pair
#define broadcast_value bf16_pair

/* The pair at p in every lane. */
VF_INLINE vf bf16_pair(const uint16_t *p)
{
    int32_t pair;
    memcpy(&pair, p, sizeof pair);
    return (vf)(pair - (vi){0});
}

VF_INLINE vf multiply_add(vf pair, vf pairs, vf sum)
{
    return bf16_dot((vi)pair, (vi)pairs, sum);
}

/* The weights of a row and, where there are two, of the next, else of zeros, joined and stored in place of
 * the first.  Returns their sum. */
VF_INLINE vf weights_of(const enum exponent kind, int rows, float *s, const vf *shift, float unit)
{
    const vf a = exponential(kind, vf_load(s), shift, unit);
    const vf b = rows > 1 ? exponential(kind, vf_load(s + FLASH_TILE), shift, unit) : vf_set1(0);
    vf_store(s, (vf)bf16_join(a, b));
    return a + b;
}
