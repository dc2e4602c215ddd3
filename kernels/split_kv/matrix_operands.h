/*
 * matrix_operands.h: part of kernel split_kv: operands of a matrix unit's products, packed as tiles (tiles.h).
 *
 * Scores are computed as S^T = K Q^T.  Rows of K are tiles of the left factor as they lie in memory, 16
 * keys of 32 dimensions, so K is not packed; of 8 bits they are widened (shared/tile_bytes.h).  Q is the
 * right factor, transposed once per split.  Weights are transposed, too, as queries are columns of S^T but rows
 * of P in O = P V: 16 rows of 32 keys at a time, up to 8 times for 32 keys.  Transposing K instead would take 2
 * transposes per 32 dimensions, up to 36.  V is the right factor: the values of two keys are interleaved, even
 * dimensions of each 32 before odd ones.  A unit with one tile of rows reads V where it lies (values_in_place.h).
 */
#pragma once

#include "shared/tile_bytes.h"
#include "geometry_memory.h"
#include "weights.h"

enum {
    STRIP_KEYS = 32, /* that a product of weights and values sums over */
    PANEL_STRIPS = PANEL_KEYS / STRIP_KEYS,
    BLOCK_GROUPS = BLOCK_KEYS / GROUP_KEYS,
    SCORES = PANEL_KEYS * TILE_ROWS,        /* of 16 rows in a panel */
    WEIGHTS = PANEL_STRIPS * TILE_ELEMENTS, /* likewise, as tiles */
};

/* Q of the unit's tiles of rows as the right factor (pack_q). */
struct queries {
    const uint16_t *q;
    ptrdiff_t next; /* elements from a tile to the next */
    size_t steps;
    int parts; /* each of `steps` */
};

/* From tile i on. */
static struct queries queries_from(const struct unit *u, int i)
{
    const ptrdiff_t next = TILE_ROWS * u->g->q_floats * 2;
    return (struct queries){(const uint16_t *)u->q + i * next, next,
                            geometry_products(u->g->qk.dim), parts_of_queries(u)};
}

/* 32 dimensions of row r from d on, in parts `apart` elements from each other where they take the scales of
 * K's channels; a row past the last is 0. */
static void parts_of_q(const struct unit *u, int r, size_t d, uint16_t *to, size_t apart)
{
    const size_t dim = (size_t)u->g->qk.dim;
    const struct group_block *block = &u->block;
    uint16_t room[STEP_DIMS] = {0};
    const uint16_t *q = r < u->rows ? dims_of(unit_row(u, &u->t->q, r), d, dim, room) : room;
    if (!u->scaling.channels) {
        memcpy(to, q, sizeof room);
        return;
    }
    const size_t first = block->sequence.kv_first;
    split_dims(q, attn_row_f32(&u->t->k_scale, block->b, block->g, first) + d, dim - d, to, apart);
}

/* Q of 16 rows from `row` on as the right factor: its parts, and of each the steps. */
static void pack_q(const struct unit *u, int row, uint16_t *to)
{
    const size_t steps = geometry_products(u->g->qk.dim);
    for (size_t x = 0; x < steps; x++, to += TILE_ELEMENTS) {
        uint16_t room[Q_PARTS][TILE_ROWS][STEP_DIMS];
        for (int i = 0; i < TILE_ROWS; i++)
            parts_of_q(u, row + i, x * STEP_DIMS, room[0][i], TILE_ELEMENTS);
        for (int part = 0; part < parts_of_queries(u); part++) {
            const uint16_t *rows[TILE_ROWS];
            for (int i = 0; i < TILE_ROWS; i++)
                rows[i] = room[part][i];
            transpose_pairs(rows, to + (size_t)part * steps * TILE_ELEMENTS);
        }
    }
}

#ifdef ATTN_TILES_EMULATED

/* Row r of two tiles of V: 32 values of two keys, the even ones of each and the odd ones. */
static inline void join_values(const uint16_t *a, const uint16_t *b, uint16_t *to)
{
    for (int d = 0; d < STEP_DIMS; d++) {
        uint16_t *const at = to + d % 2 * TILE_ELEMENTS + d / 2 * 2;
        at[0] = a[d];
        at[1] = b[d];
    }
}

/* Weights of 32 keys and 16 rows, [key][row], as a tile of the left factor. */
static void pack_weights(const float *p, uint16_t *to)
{
    for (int key = 0; key < STRIP_KEYS; key++)
        for (int row = 0; row < TILE_ROWS; row++)
            to[row * STRIP_KEYS + key] = attn_f32_to_bf16(p[key * TILE_ROWS + row]);
}

#else

VF_INLINE void join_values(const uint16_t *a, const uint16_t *b, uint16_t *to)
{
    const __m512i x = _mm512_loadu_si512(a), y = _mm512_loadu_si512(b);
    const __m512i low = _mm512_set1_epi32(0xffff); /* chooses bits of the first operand behind it */
    _mm512_store_si512(to, _mm512_ternarylogic_epi32(low, x, _mm512_slli_epi32(y, 16), 0xca));
    _mm512_store_si512(to + TILE_ELEMENTS,
                       _mm512_ternarylogic_epi32(low, _mm512_srli_epi32(x, 16), y, 0xca));
}

static void pack_weights(const float *p, uint16_t *to)
{
    vi pairs[TILE_ROWS];
    const uint16_t *rows[TILE_ROWS];
    VF_UNROLL
    for (int i = 0; i < TILE_ROWS; i++) {
        pairs[i] = bf16_join(vf_load(p + 2 * i * TILE_ROWS), vf_load(p + (2 * i + 1) * TILE_ROWS));
        rows[i] = (const uint16_t *)&pairs[i];
    }
    transpose_pairs(rows, to);
}

#endif

/* Rows of K or V that are fetched into the second-level cache beside other work. */
struct fetching {
    const struct cache *cache;
    ptrdiff_t j, end, bytes;
    int products, due; /* of a block; rows due times products */
};

VF_INLINE void fetch_row(struct fetching *f)
{
    if (f->j >= f->end)
        return;
    const char *row = cache_rows(f->cache, f->j++).data;
    const ptrdiff_t bytes = row ? f->bytes : 0;
    for (ptrdiff_t at = 0; at < bytes; at += 64)
        __builtin_prefetch(row + at, 0, 2);
}

/* A block's rows in all, evenly: many at a time would wait for each other, and all reads for them. */
VF_INLINE void fetch_beside(struct fetching *f)
{
    for (f->due += BLOCK_KEYS; f->due >= f->products; f->due -= f->products)
        fetch_row(f);
}

/* A strip's values as the right factor: for each 32 dimensions two tiles.  Rows that are NULL count as 0.
 * Meanwhile rows of K and V are fetched. */
VF_INLINE void pack_values_of(const enum row_kind kind, const struct geometry *g,
                              const struct elements *elements, const void *const v[STRIP_KEYS],
                              struct fetching ahead[2], uint16_t *to)
{
    static const uint16_t zeros[STEP_DIMS];
    const size_t dim = (size_t)g->v.dim, step = STEP_DIMS * (kind == ROWS_OF_BF16 ? 2 : 1);
    for (int i = 0; i < TILE_ROWS; i++) {
        const char *a = v[2 * i] ? v[2 * i] : zeros, *b = v[2 * i + 1] ? v[2 * i + 1] : zeros;
        const size_t a_step = v[2 * i] ? step : 0, b_step = v[2 * i + 1] ? step : 0;
        uint16_t *at = to + i * 2 * TILE_ROWS, room[2][STEP_DIMS];
        for (int n = 0; n < 4; n++) /* two rows of K and two of V */
            fetch_row(&ahead[n / 2]);
        size_t d = 0;
        for (; d + STEP_DIMS <= dim; d += STEP_DIMS, at += 2 * TILE_ELEMENTS) {
            join_values(step_at(kind, elements, a, room[0]), step_at(kind, elements, b, room[1]),
                        at);
            a += a_step;
            b += b_step;
        }
        if (d < dim)
            join_values(last_step_at(kind, elements, a, dim - d, room[0]),
                        last_step_at(kind, elements, b, dim - d, room[1]), at);
    }
}

VF_NOINLINE void pack_values(const enum row_kind kind, const struct geometry *g,
                             const struct elements *elements, const void *const v[STRIP_KEYS],
                             struct fetching ahead[2], uint16_t *to)
{
    if (kind == ROWS_OF_BF16) {
        pack_values_of(ROWS_OF_BF16, g, NULL, v, ahead, to);
        return;
    }
    const struct elements own = *elements; /* which no store changes */
    if (kind == ROWS_OF_INTEGERS)
        pack_values_of(ROWS_OF_INTEGERS, g, &own, v, ahead, to);
    else
        pack_values_of(ROWS_OF_FLOATS, g, &own, v, ahead, to);
}
