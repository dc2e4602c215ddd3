/*
 * tile_bytes.h: K and V of 8 bits as rows of bfloat16 for a matrix unit (tile_rows.h), by the tables of
 * bytes_as_bf16.h: 5 operations for 32 elements, instead of 16 by way of float32; for kernel files only.
 */
#pragma once

#include "bytes_as_bf16.h"
#include "simd16.h"
#include "tile_rows.h"

/* ---- elements -------------------------------------------------------------------------------- */

/* The elements of K or V, and their conversion. */
struct elements {
    enum attn_dtype dtype;
    float factor;                   /* of the converted numbers; a power of two */
    const struct byte_table *table; /* of 8-bit floats */
};

/* Elements that are converted to multiples of `unit`, which is 1 or bytes_unit(). */
static inline struct elements elements_of(enum attn_dtype dtype, float unit)
{
    static const struct byte_table tables[2][2] = {
        {BYTE_TABLE(BYTE_F8E4M3, 0), BYTE_TABLE(BYTE_F8E4M3, BYTES_LOG2_F8E4M3)},
        {BYTE_TABLE(BYTE_F8E5M2, 0), BYTE_TABLE(BYTE_F8E5M2, BYTES_LOG2_F8E5M2)},
    };
    return (struct elements){
        .dtype = dtype, .factor = 1 / unit, .table = &tables[dtype == ATTN_F8E5M2][unit > 1]};
}

/* The elements of rows; a constant in functions that read them, so that they do not branch. */
enum row_kind { ROWS_OF_BF16, ROWS_OF_INTEGERS, ROWS_OF_FLOATS };

static inline enum row_kind row_kind(enum attn_dtype dtype)
{
    return dtype == ATTN_BF16 ? ROWS_OF_BF16 : dtype == ATTN_I8 ? ROWS_OF_INTEGERS : ROWS_OF_FLOATS;
}

#ifdef ATTN_TILES_EMULATED

static inline void widen_integers(const struct elements *e, const uint8_t *from, uint16_t *to)
{
    for (int i = 0; i < STEP_DIMS; i++)
        to[i] = (uint16_t)(attn_float_bits((float)(int8_t)from[i] * e->factor) >> 16);
}

static inline void widen_floats(const struct elements *e, const uint8_t *from, uint16_t *to)
{
    for (int i = 0; i < STEP_DIMS; i++)
        to[i] = (uint16_t)((from[i] & 0x80) << 8 | e->table->high[from[i] & 0x7f] << 8 |
                           e->table->low[from[i] & 0x7f]);
}

#else

VF_INLINE void widen_integers(const struct elements *e, const uint8_t *from, uint16_t *to)
{
    const vu odd = (vu)vi_lanes() * 0x40004 + 0x30001; /* upper halves of a and b */
    const vf factor = vf_set1(e->factor);
    const vf a = vf_load_i8((const int8_t *)from) * factor;
    const vf b = vf_load_i8((const int8_t *)from + VF_LANES) * factor;
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16((__m512i)a, (__m512i)odd, (__m512i)b));
}

VF_INLINE void widen_floats(const struct elements *e, const uint8_t *from, uint16_t *to)
{
    const struct byte_table *const t = e->table;
    const __mmask64 lower = 0x5555555555555555; /* bytes of each half */
    const __m512i bytes = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)from));
    const __m512i twice = (__m512i)((vu)vi_lanes() * 0x02020202 + 0x01010000);
    const __m512i x = _mm512_permutexvar_epi8(twice, bytes);
    const __m512i low = _mm512_maskz_permutex2var_epi8(lower, _mm512_loadu_si512(t->low), x,
                                                       _mm512_loadu_si512(t->low + 64));
    const __m512i high = _mm512_maskz_permutex2var_epi8(~lower, _mm512_loadu_si512(t->high), x,
                                                        _mm512_loadu_si512(t->high + 64));
    const __m512i sign = _mm512_and_si512(x, _mm512_set1_epi16((short)0x8000));
    _mm512_storeu_si512(to, _mm512_ternarylogic_epi32(low, high, sign, 0xfe)); /* or-ed */
}

#endif

/* The 32 elements from `from` on as bfloat16: in place, or converted into `room`. */
VF_INLINE const uint16_t *step_at(const enum row_kind kind, const struct elements *e,
                                  const void *from, uint16_t room[STEP_DIMS])
{
    if (kind == ROWS_OF_BF16)
        return from;
    if (kind == ROWS_OF_INTEGERS)
        widen_integers(e, from, room);
    else
        widen_floats(e, from, room);
    return room;
}

/* The last n < 32 elements of a row, then zeros. */
VF_INLINE const uint16_t *last_step_at(const enum row_kind kind, const struct elements *e,
                                       const void *from, size_t n, uint16_t room[STEP_DIMS])
{
    uint8_t last[STEP_DIMS] = {0};
    if (kind == ROWS_OF_BF16)
        return dims_of(from, 0, n, room);
    memcpy(last, from, n);
    return step_at(kind, e, last, room);
}

/* The 32 dimensions from d on of a row, those past its end 0. */
VF_INLINE const uint16_t *dims_at(const enum row_kind kind, const struct elements *e,
                                  const void *row, size_t d, size_t dim, uint16_t room[STEP_DIMS])
{
    const uint8_t *from = (const uint8_t *)row + (kind == ROWS_OF_BF16 ? 2 * d : d);
    return d + STEP_DIMS <= dim ? step_at(kind, e, from, room)
                                : last_step_at(kind, e, from, dim - d, room);
}

/* ---- queries times scales ---------------------------------------------------------------------- */

/* A query's 32 dimensions times the scales of their channels, of which there are `n`, as three parts `apart`
 * elements apart, the largest last. */
static inline void split_dims(const uint16_t q[STEP_DIMS], const float *scale, size_t n,
                              uint16_t *to, size_t apart)
{
    for (size_t d = 0; d < STEP_DIMS; d++)
        split_product(d < n ? q[d] : 0, d < n ? scale[d] : 0, to + d, apart);
}
