/*
 * tile_bytes.h: K and V of 8 bits as rows of bfloat16 for a matrix unit (tile_rows.h), and queries times
 * scales of channels; for kernel files only.
 *
 * bfloat16 represents int8 and both kinds of 8-bit floats exactly.  A float's bits without the sign index two
 * tables of 128 bytes, with the lower and the upper halves of the result: 5 operations for 32 elements,
 * instead of 16 by way of float32.
 *
 * A weight times a scale may be as small as a scale, and the unit takes it for 0 below 2^-126.  Times a value
 * of up to 57344 the error would exceed the bound.  So values are divided by bytes_unit, a power of two that
 * bounds their type, and weights or results are multiplied by it.
 *
 * Scales of K's channels multiply the queries, which rounds within the bound (reference.c).  The 24 bits of
 * the product are split into three bfloat16 of 8 bits each, exactly, and scores are the sum of their products
 * with K, the smallest part first.  Sums of the first two parts are below 2^-7 of the third's, so that their
 * rounding is negligible.  All parts have the sign of the whole and none is 0, since 0 times an infinite key
 * is NaN, but the score is infinite.
 */
#ifndef ATTN_TILE_BYTES_H
#define ATTN_TILE_BYTES_H

#include <math.h>

#include "element.h"
#include "simd16.h"
#include "tile_rows.h"

/* ---- elements -------------------------------------------------------------------------------- */

/* The elements of K or V, and their conversion. */
struct elements {
    enum attn_dtype dtype;
    float factor;                /* of the converted numbers; a power of two */
    uint8_t low[128], high[128]; /* halves of the bfloat16, by an 8-bit float's bits without sign */
};

/* A power of two that no number of the type exceeds; 1 for types without scales. */
static inline float bytes_unit(enum attn_dtype dtype)
{
    return dtype == ATTN_I8       ? 0x1p7f
           : dtype == ATTN_F8E4M3 ? 0x1p9f
           : dtype == ATTN_F8E5M2 ? 0x1p16f
                                  : 1;
}

/* Elements that are converted to multiples of `unit`. */
static inline struct elements elements_of(enum attn_dtype dtype, float unit)
{
    struct elements e = {.dtype = dtype, .factor = 1 / unit};
    if (dtype != ATTN_F8E4M3 && dtype != ATTN_F8E5M2)
        return e;
    const vf factor = vf_set1((dtype == ATTN_F8E4M3 ? 256.0F : 1.0F) / unit); /* vf_load_f8e4m3() */
    for (int i = 0; i < 128; i += 2 * VF_LANES) {
        uint8_t bytes[2 * VF_LANES];
        float numbers[2 * VF_LANES];
        vf x[2];
        for (int n = 0; n < 2 * VF_LANES; n++)
            bytes[n] = (uint8_t)(i + n);
        if (dtype == ATTN_F8E4M3)
            vf_load_f8e4m3(bytes, x);
        else
            vf_load_f8e5m2(bytes, x);
        vf_store(numbers, x[0] * factor);
        vf_store(numbers + VF_LANES, x[1] * factor);
        for (int n = 0; n < 2 * VF_LANES; n++) {
            e.low[i + n] = (uint8_t)(attn_float_bits(numbers[n]) >> 16);
            e.high[i + n] = (uint8_t)(attn_float_bits(numbers[n]) >> 24);
        }
    }
    return e;
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
        to[i] = (uint16_t)((from[i] & 0x80) << 8 | e->high[from[i] & 0x7f] << 8 |
                           e->low[from[i] & 0x7f]);
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
    const __mmask64 lower = 0x5555555555555555; /* bytes of each half */
    const __m512i bytes = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)from));
    const __m512i twice = (__m512i)((vu)vi_lanes() * 0x02020202 + 0x01010000);
    const __m512i x = _mm512_permutexvar_epi8(twice, bytes);
    const __m512i low = _mm512_maskz_permutex2var_epi8(lower, _mm512_loadu_si512(e->low), x,
                                                       _mm512_loadu_si512(e->low + 64));
    const __m512i high = _mm512_maskz_permutex2var_epi8(~lower, _mm512_loadu_si512(e->high), x,
                                                        _mm512_loadu_si512(e->high + 64));
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

enum { Q_PARTS = 3 };

/* The largest bfloat16 that is smaller than x in magnitude, with x's sign; 0 for 0. */
static inline uint16_t part_below(float x)
{
    const uint32_t bits = attn_float_bits(x), size = bits & 0x7fffffff;
    return (uint16_t)((bits - (size != 0)) >> 16);
}

/* A query's 32 dimensions times the scales of their channels, of which there are `n`, as three parts `apart`
 * elements apart, the largest last. */
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
