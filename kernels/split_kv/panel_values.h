/*
 * panel_values.h: part of kernel split_kv: values of a panel's blocks, for a matrix unit.
 */
#pragma once

#include "panel_blocks.h"

static bool row_is_finite(const uint16_t *v, ptrdiff_t dim)
{
    uint16_t most = 0;
    for (ptrdiff_t d = 0; d < dim; d++) {
        const uint16_t size = (uint16_t)(v[d] << 1);
        most = size > most ? size : most;
    }
    return most < 0xff00;
}

/* Those of `keys` in a block whose values are not all finite. */
static uint64_t not_finite(const struct unit *u, const struct block *b, uint64_t keys)
{
    uint64_t bits = 0;
    for (; keys; keys &= keys - 1) {
        const int key = __builtin_ctzll(keys);
        const void *v = cache_rows(&u->v, b->j + key).data;
        if (v && (FORMAT_SCALED(u->g->format)
                      ? !bytes_are_finite(u->block.problem->kv_dtype, v, u->g->v.dim)
                      : !row_is_finite(v, u->g->v.dim)))
            bits |= UINT64_C(1) << key;
    }
    return bits;
}

/* Whether values of a block are the first dimensions of keys in the unit's copy. */
static bool values_in_copy(const struct unit *u)
{
    return u->g->shared && (FORMAT_SCALED(u->g->format) || u->list);
}

/* Packs the values of a strip that begins at key `from` of a block; those of `unsafe` keys count as 0. */
static void pack_strip(const struct unit *u, const struct block *b, int from, uint64_t unsafe,
                       int strip)
{
    const size_t each = geometry_products(u->g->v.dim) * 2 * TILE_ELEMENTS;
    const ptrdiff_t stride = (ptrdiff_t)geometry_products(u->g->qk.dim) * TILE_ROW_BYTES;
    const ptrdiff_t first = b->j + from, later = first + AHEAD_KEYS;
    const bool copied = values_in_copy(u);
    const void *v[STRIP_KEYS];
    for (int i = 0; i < STRIP_KEYS; i++)
        v[i] = first + i < b->end && !(unsafe >> (from + i) & 1)
                   ? (copied ? u->k_copy + (from + i) * stride : cache_rows(&u->v, first + i).data)
                   : NULL;
    struct fetching ahead[] = {
        fetch_later(u, &u->k, &u->g->qk, later, STRIP_KEYS, 0),
        fetch_later(u, &u->v, &u->g->v, later, u->g->shared ? 0 : STRIP_KEYS, 0)};
    uint16_t *const to = (uint16_t *)u->v_copy + (size_t)strip * each;
    const enum row_kind kind =
        FORMAT_SCALED(u->g->format) && !copied ? row_kind(u->elements.dtype) : ROWS_OF_BF16;
    pack_values(kind, u->g, &u->elements, v, ahead, to);
}

/* Rows of a block's values in place, 16 at a time, as groups_of(); in the unit's copy they have been needed as
 * keys. */
static int value_groups(const struct unit *u, const struct block *b, uint64_t unsafe,
                        struct rows v[BLOCK_GROUPS])
{
    if (unsafe || !values_in_copy(u))
        return groups_of(&u->v, &u->g->v, u->v_copy, unsafe, b, v);
    return groups_in_copy(u, b, v);
}

/* O of a row += a weight times values that were left out. */
static void add_row(const struct unit *u, float *o, float weight, const void *v)
{
    const uint16_t *halves = v;
    const enum attn_dtype dtype = u->block.problem->kv_dtype;
    for (size_t d = 0; d < (size_t)u->g->v.dim; d++) {
        const size_t step = d / STEP_DIMS * STEP_DIMS;
        const float x = FORMAT_SCALED(u->g->format)
                            ? attn_scaled_element(dtype, v, d) * u->elements.factor
                            : attn_bf16_to_f32(halves[d]);
        o[step + d % 2 * TILE_ROWS + d % STEP_DIMS / 2] += weight * x;
    }
}

/* Adds the values of a block's unsafe keys to the rows that see them. */
VF_NOINLINE void add_unsafe(const struct unit *u, const struct panel *p, int block)
{
    const uint64_t *bits = bits_of_block(u, block);
    for (uint64_t keys = p->unsafe[block]; keys; keys &= keys - 1) {
        const int key = __builtin_ctzll(keys);
        const void *v = cache_rows(&u->v, p->block[block].j + key).data;
        for (int r = 0; r < u->rows; r++)
            if (bits[r] >> key & 1)
                add_row(u, u->tile[0].o + r * u->g->o_floats,
                        u->p[r / TILE_ROWS * SCORES + r % TILE_ROWS +
                             (p->first[block] * STRIP_KEYS + key) * TILE_ROWS],
                        v);
    }
}
