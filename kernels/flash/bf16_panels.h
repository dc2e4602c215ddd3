/*
 * bf16_panels.h: part of kernel flash: what the two arithmetics in bfloat16 have in common: values in panels.
 *
 * V is packed in panels of BF16_PANEL value dimensions, in each panel one line per PAIR keys: their values of
 * a dimension side by side.
 */
#pragma once

#include "tile_operands.h"

#define FLASH_DTYPES ATTN_BIT(ATTN_BF16)
#define FLASH_KV_DTYPES 0 /* int8 times its scale is no bf16: variants of float32 compute that */
#define FLASH_COMPUTE ATTN_BF16
#define FLASH_SPECULATES 1

typedef uint16_t key_element; /* of K, as it is multiplied */

static bool packs(const struct attn_problem *problem)
{
    (void)problem;
    return true;
}

/* How far dimension d of a line is from its first, where panels are `panel` elements apart. */
static ptrdiff_t in_panels(ptrdiff_t panel, int d)
{
    return d / BF16_PANEL * panel + d % BF16_PANEL * PAIR;
}

VF_INLINE const void *first_value(const struct block *block, int from)
{
    return (const uint16_t *)block->v + from * BF16_PANEL;
}

VF_INLINE const void *value_column(const void *first, ptrdiff_t v_stride, int d)
{
    return (const uint16_t *)first + in_panels(v_stride, d);
}

static const uint16_t *value_address(const struct block *block, int j, int d)
{
    return (const uint16_t *)block->v + in_panels(block->v_stride, d) +
           j / PAIR * BF16_PANEL * PAIR + j % PAIR;
}

static float value_at(const struct block *block, int j, int d)
{
    return attn_bf16_to_f32(*value_address(block, j, d));
}

/* Whole lines of keys must be finite, as the other keys of a line are multiplied too. */
VF_NOINLINE bool values_finite(const struct block *block, int from, int to)
{
    enum { DIMS = 2 * VF_LANES / PAIR }; /* of a vector */
    const int dim = block->job->v_dim, vectors = dim / DIMS * DIMS;
    bf16_vector wrong = {0};
    bool finite = true;
    for (int j = from / PAIR * PAIR; j < to; j += PAIR) {
        for (int d = 0; d < vectors; d += DIMS) {
            const bf16_vector x = (bf16_vector)bf16_load(value_address(block, j, d));
            wrong |= (bf16_vector)((x & 0x7f80) == 0x7f80);
        }
        for (int d = vectors; d < dim; d++)
            for (int i = 0; i < PAIR; i++)
                finite &= (*value_address(block, j + i, d) & 0x7f80) != 0x7f80;
    }
    return finite && !vi_any((vi)wrong);
}
