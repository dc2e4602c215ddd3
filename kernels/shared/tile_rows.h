/*
 * tile_rows.h: rows of 16-bit elements as tiles of a matrix unit (tiles.h); for kernel files only.
 */
#pragma once

#include <string.h>

#include "simd.h"
#include "tiles.h"

enum {
    TILE_ELEMENTS = TILE_ROWS * 32, /* of 16 bits */
    STEP_DIMS = 32, /* dimensions that a product sums over; also value dimensions of two tiles */
};

/* Products that a row of so many dimensions takes. */
static inline int steps_of_dims(size_t dim)
{
    return (int)((dim + STEP_DIMS - 1) / STEP_DIMS);
}

#ifdef ATTN_TILES_EMULATED

/* Transposes 16 rows of 16 pairs. */
static inline void transpose_pairs(const uint16_t *const rows[TILE_ROWS], uint16_t *to)
{
    for (int i = 0; i < TILE_ROWS; i++)
        for (int k = 0; k < TILE_ROWS; k++)
            memcpy(to + k * 32 + i * 2, rows[i] + k * 2, 4);
}

#else

VF_INLINE __m512i four_rows(const uint16_t *const rows[TILE_ROWS], int first, int at)
{
    const __m512i x = _mm512_castsi128_si512(_mm_loadu_si128((const void *)(rows[first] + at)));
    const __m512i y =
        _mm512_inserti32x4(x, _mm_loadu_si128((const void *)(rows[first + 4] + at)), 1);
    const __m512i z =
        _mm512_inserti32x4(y, _mm_loadu_si128((const void *)(rows[first + 8] + at)), 2);
    return _mm512_inserti32x4(z, _mm_loadu_si128((const void *)(rows[first + 12] + at)), 3);
}

static inline void transpose_pairs(const uint16_t *const rows[TILE_ROWS], uint16_t *to)
{
    VF_UNROLL
    for (int c = 0; c < 4; c++, to += 4 * 32) {
        const __m512i r0 = four_rows(rows, 0, c * 8), r1 = four_rows(rows, 1, c * 8);
        const __m512i r2 = four_rows(rows, 2, c * 8), r3 = four_rows(rows, 3, c * 8);
        const __m512i a = _mm512_unpacklo_epi32(r0, r1), b = _mm512_unpackhi_epi32(r0, r1);
        const __m512i d = _mm512_unpacklo_epi32(r2, r3), e = _mm512_unpackhi_epi32(r2, r3);
        _mm512_store_si512(to, _mm512_unpacklo_epi64(a, d));
        _mm512_store_si512(to + 32, _mm512_unpackhi_epi64(a, d));
        _mm512_store_si512(to + 64, _mm512_unpacklo_epi64(b, e));
        _mm512_store_si512(to + 96, _mm512_unpackhi_epi64(b, e));
    }
}

#endif

/* The 32 dimensions from d on of a row of `dim`: in place, or in `room` with zeros past the row's end. */
VF_INLINE const uint16_t *dims_of(const uint16_t *row, size_t d, size_t dim,
                                  uint16_t room[STEP_DIMS])
{
    if (d + STEP_DIMS <= dim)
        return row + d;
    memset(room, 0, STEP_DIMS * sizeof *room);
    memcpy(room, row + d, (dim - d) * sizeof *room);
    return room;
}
