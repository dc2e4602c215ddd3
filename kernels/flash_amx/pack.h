/*
 * pack.h: part of kernel flash for matrix units: queries, keys and values as tiles.
 *
 * Scores are Q K^T.  Q is A as it lies, 16 rows of 32 dimensions a tile.  K is B: row k of a tile has
 * dimensions 2k and 2k + 1 of 16 keys, so that 16 x 16 pairs are transposed.  For the results V is B, too:
 * row k has two keys of 16 value dimensions, so that the rows of two keys are interleaved.
 *
 * Two orders are chosen for speed.  Weights come out of the softmax in the order in which an instruction
 * packs two vectors into one (WEIGHT_KEY); V's keys follow it.  Interleaving works within 128 bits, so that
 * the two tiles of 32 value dimensions hold them in turns of four (RESULT_DIM); results are put in order when
 * they are written.
 */
#pragma once

#include "scales.h"

/* Key of a strip whose weight is element w of a row of weights. */
#define WEIGHT_KEY(w) ((w) / 8 * 4 + (w) % 4 + ((w) / 4 % 2) * 16)

/* Value dimension, of 32, of column c of tile t. */
#define RESULT_DIM(t, c) ((c) / 4 * 8 + (t)*4 + (c) % 4)

/* Where value dimension d of row i is among a block's results. */
static inline size_t result_at(int d, int i)
{
    const int tile = i / TILE_ROWS * 2 + d % 8 / 4, column = d % STEP_DIMS / 8 * 4 + d % 4;
    return (size_t)(d / STEP_DIMS) * RESULT_FLOATS +
           (size_t)(tile * TILE_ROWS + i % TILE_ROWS) * TILE_ROWS + (size_t)column;
}

static const uint16_t zero_row[AMX_MAX_DIM]; /* of any type */

/* ---- tiles ----------------------------------------------------------------------------------- */

#ifdef ATTN_TILES_EMULATED

/* Row r of the two tiles of 32 value dimensions of two keys; whether all are finite. */
static inline bool interleave(const uint16_t *a, const uint16_t *b, uint16_t *to)
{
    bool finite = true;
    for (int t = 0; t < 2; t++)
        for (int c = 0; c < TILE_ROWS; c++) {
            const uint16_t x = a[RESULT_DIM(t, c)], y = b[RESULT_DIM(t, c)];
            to[t * TILE_ELEMENTS + 2 * c] = x;
            to[t * TILE_ELEMENTS + 2 * c + 1] = y;
            finite &= (x & 0x7f80) != 0x7f80 && (y & 0x7f80) != 0x7f80;
        }
    return finite;
}

#else

static inline bool interleave(const uint16_t *a, const uint16_t *b, uint16_t *to)
{
    const __m512i x = _mm512_loadu_si512(a), y = _mm512_loadu_si512(b);
    const __m512i exponent = _mm512_set1_epi16(0x7f80);
    _mm512_store_si512(to, _mm512_unpacklo_epi16(x, y));
    _mm512_store_si512(to + TILE_ELEMENTS, _mm512_unpackhi_epi16(x, y));
    return !(_mm512_cmpeq_epi16_mask(_mm512_and_si512(x, exponent), exponent) |
             _mm512_cmpeq_epi16_mask(_mm512_and_si512(y, exponent), exponent));
}

#endif

/* ---- rows ------------------------------------------------------------------------------------ */

/* Rows of keys [first, first + n), n <= `most`; behind them rows of zeros. */
static inline void key_rows(const struct keys *keys, const struct attn_tensor *t, ptrdiff_t first,
                            ptrdiff_t n, int most, const void **rows)
{
    keys_rows(keys, t, first, n, rows);
    for (ptrdiff_t i = n; i < most; i++)
        rows[i] = zero_row;
}

/* A strip's keys: 32 dimensions after the other, each two tiles of 16 keys. */
VF_INLINE void pack_k_of(const enum row_kind kind, const void *const rows[STRIP_KEYS],
                         const struct elements *elements, size_t dim, uint16_t *to)
{
    for (size_t d = 0; d < dim; d += STEP_DIMS)
        for (int half = 0; half < 2; half++, to += TILE_ELEMENTS) {
            uint16_t room[TILE_ROWS][STEP_DIMS];
            const uint16_t *part[TILE_ROWS];
            for (int i = 0; i < TILE_ROWS; i++)
                part[i] = dims_at(kind, elements, rows[half * TILE_ROWS + i], d, dim, room[i]);
            transpose_pairs(part, to);
        }
}

VF_NOINLINE void pack_k(const void *const rows[STRIP_KEYS], const struct elements *elements,
                        size_t dim, uint16_t *to)
{
    const enum row_kind kind = row_kind(elements->dtype);
    if (kind == ROWS_OF_BF16) {
        pack_k_of(ROWS_OF_BF16, rows, NULL, dim, to);
        return;
    }
    const struct elements own = *elements; /* which no store changes */
    if (kind == ROWS_OF_INTEGERS)
        pack_k_of(ROWS_OF_INTEGERS, rows, &own, dim, to);
    else
        pack_k_of(ROWS_OF_FLOATS, rows, &own, dim, to);
}

/* What is not finite becomes 0: times a weight of 0 it would be NaN.  exactly.h adds it where it is seen. */
static void clear_infinite(uint16_t *tile, int n)
{
    for (int i = 0; i < n; i++)
        if ((tile[i] & 0x7f80) == 0x7f80)
            tile[i] = 0;
}

/* A strip's values: 32 dimensions after the other, each two tiles of 16 of them.  Whether all are finite. */
VF_INLINE bool pack_v_of(const enum row_kind kind, const void *const rows[STRIP_KEYS],
                         const struct elements *elements, size_t dim, uint16_t *to)
{
    bool finite = true;
    for (int r = 0; r < TILE_ROWS; r++) {
        const void *a = rows[WEIGHT_KEY(2 * r)], *b = rows[WEIGHT_KEY(2 * r + 1)];
        uint16_t *at = to + r * 32, room[2][STEP_DIMS];
        for (size_t d = 0; d < dim; d += STEP_DIMS, at += PAIR_ELEMENTS)
            finite &= interleave(dims_at(kind, elements, a, d, dim, room[0]),
                                 dims_at(kind, elements, b, d, dim, room[1]), at);
    }
    if (!finite)
        clear_infinite(to, steps_of_dims(dim) * PAIR_ELEMENTS);
    return finite;
}

VF_NOINLINE bool pack_v(const void *const rows[STRIP_KEYS], const struct elements *elements,
                        size_t dim, uint16_t *to)
{
    const enum row_kind kind = row_kind(elements->dtype);
    if (kind == ROWS_OF_BF16)
        return pack_v_of(ROWS_OF_BF16, rows, NULL, dim, to);
    const struct elements own = *elements; /* which no store changes */
    return kind == ROWS_OF_INTEGERS ? pack_v_of(ROWS_OF_INTEGERS, rows, &own, dim, to)
                                    : pack_v_of(ROWS_OF_FLOATS, rows, &own, dim, to);
}

/* Scales of n keys from `first` on; 0 behind them.  Whether some are infinite. */
static bool pack_scales(const struct keys *keys, const struct attn_tensor *scales, ptrdiff_t first,
                        ptrdiff_t n, float to[STRIP_KEYS])
{
    const float *scale =
        attn_row_f32(scales, keys->b, keys->g, keys->sequence.kv_first + (size_t)first);
    bool infinite = false;
    for (ptrdiff_t i = 0; i < STRIP_KEYS; i++) {
        to[i] = i < n ? scale[i * scales->stride[2]] : 0;
        infinite |= isinf(to[i]) != 0;
    }
    return infinite;
}

/* Multiplies the elements of a strip's n packed keys by those of their scales that are infinite, in place of
 * which scores get 1. */
VF_NOINLINE void pack_infinite(const struct call *call, const struct keys *keys, ptrdiff_t first,
                               ptrdiff_t n, uint16_t *k, float *scales)
{
    const struct attn_tensor *t = &call->tensors->k_scale;
    const size_t row = keys->sequence.kv_first + (size_t)first;
    const float *scale = attn_row_f32(t, keys->b, keys->g, row);
    for (ptrdiff_t i = 0; i < n; i++, scale += t->stride[2]) {
        uint16_t *const key = k + i / TILE_ROWS * TILE_ELEMENTS + i % TILE_ROWS * 2;
        if (!isinf(*scale))
            continue;
        for (size_t d = 0; d < call->problem->qk_dim; d++) {
            uint16_t *at =
                key + d / STEP_DIMS * PAIR_ELEMENTS + d % STEP_DIMS / 2 * STRIP_KEYS + d % 2;
            *at = attn_f32_to_bf16(attn_bf16_to_f32(*at) * *scale);
        }
        if (scales)
            scales[i] = 1;
    }
}

/* Packs n keys from `first` on as a strip, and into `scales` those that each key has. */
static void pack_keys(const struct call *call, const struct keys *keys, const struct elements *k,
                      ptrdiff_t first, ptrdiff_t n, uint16_t *packed, float *scales)
{
    const struct attn_problem *p = call->problem;
    const struct attn_tensors *t = call->tensors;
    const bool of_head = attn_dtype_scaled(p->kv_dtype) && !call->k_tokens && !call->k_channels;
    const bool infinite = call->k_tokens
                              ? pack_scales(keys, &t->k_scale, first, n, scales)
                              : of_head && isinf(*attn_row_f32(&t->k_scale, keys->b, keys->g, 0));
    const void *rows[STRIP_KEYS];
    key_rows(keys, &t->k, first, n, STRIP_KEYS, rows);
    pack_k(rows, k, p->qk_dim, packed);
    if (infinite)
        pack_infinite(call, keys, first, n, packed, scales);
}

/* Packs keys [first, end) of a task's sequence. */
static void pack(const struct call *call, const struct keys *keys, ptrdiff_t first, ptrdiff_t end,
                 const struct scratch *scratch, int strip)
{
    const struct attn_problem *p = call->problem;
    const struct attn_tensors *t = call->tensors;
    const struct elements k = elements_of(p->kv_dtype, 1);
    const struct elements v = elements_of(p->kv_dtype, call->v_unit);
    const void *rows[STRIP_KEYS];
    for (; first < end; strip++, first += STRIP_KEYS) {
        const ptrdiff_t n = end - first < STRIP_KEYS ? end - first : STRIP_KEYS;
        pack_keys(call, keys, &k, first, n,
                  scratch->k + (size_t)strip * (size_t)call->q_steps * PAIR_ELEMENTS,
                  call->k_tokens ? scratch->k_scales + strip * STRIP_KEYS : NULL);
        if (call->v_tokens)
            pack_scales(keys, &t->v_scale, first, n, scratch->v_scales + strip * STRIP_KEYS);
        if (!call->v_steps)
            continue;
        key_rows(keys, &t->v, first, n, STRIP_KEYS, rows);
        scratch->finite[strip] = pack_v(
            rows, &v, p->v_dim, scratch->v + (size_t)strip * (size_t)call->v_steps * PAIR_ELEMENTS);
    }
}

/* Rows of a block in an operand that is laid out like Q. */
struct rows {
    const struct group_block *block;
    const struct attn_tensor *t;
    uint16_t *first; /* row 0, where the others follow it */
};

static inline struct rows rows_of(const struct group_block *block, const struct attn_tensor *t)
{
    return (struct rows){block, t, block->group == 1 ? group_row(block, t, 0) : NULL};
}

VF_INLINE uint16_t *rows_at(const struct rows *rows, size_t i)
{
    return rows->first ? rows->first + (ptrdiff_t)i * rows->t->stride[2]
                       : group_row(rows->block, rows->t, i);
}

/* Whether a block's queries are tiles as they lie: rows follow each other, and each 64 bytes are a cache line. */
static inline bool lies_in_tiles(const struct call *call, const struct block *block,
                                 const struct rows *rows)
{
    const size_t dim = call->problem->qk_dim;
    return rows->first && block->rows.rows == BLOCK_ROWS && !call->k_channels &&
           dim % STEP_DIMS == 0 && rows->t->stride[2] == (ptrdiff_t)dim &&
           (uintptr_t)rows->first % TILE_ROW_BYTES == 0;
}

/* A block's queries: 32 dimensions after the other, each two tiles of 16 queries. */
static void pack_q(const struct call *call, struct block *block)
{
    const size_t dim = call->problem->qk_dim;
    const struct rows rows = rows_of(&block->rows, &call->tensors->q);
    if (lies_in_tiles(call, block, &rows)) {
        block->q = (struct left_rows){rows.first, (ptrdiff_t)dim * (ptrdiff_t)sizeof *rows.first,
                                      (ptrdiff_t)dim * TILE_ROWS, STEP_DIMS};
        return;
    }
    block->q = packed_rows(block->packed_q);
    const float *scale = call->k_channels
                             ? attn_row_f32(&call->tensors->k_scale, block->rows.b, block->rows.g,
                                            block->rows.sequence.kv_first)
                             : NULL;
    uint16_t room[STEP_DIMS];
    for (int i = 0; i < BLOCK_ROWS; i++) {
        const uint16_t *row = (size_t)i < block->rows.rows ? rows_at(&rows, (size_t)i) : zero_row;
        uint16_t *to = block->packed_q + i * STEP_DIMS;
        for (size_t d = 0; d < dim; d += STEP_DIMS, to += PAIR_ELEMENTS)
            if (scale)
                split_dims(dims_of(row, d, dim, room), scale + d, dim - d, to,
                           (size_t)call->q_steps * PAIR_ELEMENTS);
            else
                memcpy(to, dims_of(row, d, dim, room), STEP_DIMS * sizeof *to);
    }
}
