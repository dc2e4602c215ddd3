/*
 * tile_bytes.h: K and V of 8 bits as rows of bfloat16 for a matrix unit (tile_rows.h), and queries that have
 * taken scales; for kernel files only.
 *
 * Integers and both kinds of 8-bit floats are bfloat16 without a loss. A float's bits but for its sign are
 * looked up in two tables of 128 bytes, of the lower and of the upper halves of what they become: 5
 * operations for 32 elements, where conversions by way of float32 take 16.
 *
 * A weight times a scale may be as small as a scale, and below 2^-126 the unit takes it for 0.  Times a value
 * of up to 57344 that would be off by more than the bound has for it.  So values are parts of the largest
 * number of their type, a power of two at least (bytes_unit), and weights or results take that.
 *
 * A scale for each channel of K multiplies the queries, which rounds as the bound allows (reference.c).  What
 * comes of it has 24 bits: it is split into three bfloat16 of 8 bits each, which is exact, and scores are the
 * sum of their products with K, the smallest first.  Sums of the first two parts are below 2^-7 of what the
 * third adds, so that they round by as little.  All parts have the sign of the whole and none is 0, for 0
 * times an infinite key would be NaN where the score is infinite.
 */
#ifndef ATTN_TILE_BYTES_H
#define ATTN_TILE_BYTES_H

#include <math.h>

#include "element.h"
#include "simd16.h"
#include "tile_rows.h"

/* ---- elements -------------------------------------------------------------------------------- */

/* What K or V hold, and what becomes of it. */
struct elements {
    enum attn_dtype dtype;
    float factor;                /* what its numbers are times; a power of two */
    uint8_t low[128], high[128]; /* halves of a bfloat16, by a float's bits without its sign */
};

/* A power of two that no number of a type exceeds; 1 of types that have no scales. */
static inline float bytes_unit(enum attn_dtype dtype)
{
    return dtype == ATTN_I8       ? 0x1p7f
           : dtype == ATTN_F8E4M3 ? 0x1p9f
           : dtype == ATTN_F8E5M2 ? 0x1p16f
                                  : 1;
}

/* Elements as parts of `unit`. */
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

/* What rows hold; a constant where they are read, so that no element asks. */
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
    const vu odd = (vu)vi_lanes() * 0x40004 + 0x30001; /* upper halves of both */
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

/* The 32 elements from `from` on as bfloat16: where they are, or in `room`. */
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

/* The n < 32 last elements of a row, and zeros behind them. */
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

/* ---- queries that have taken scales ------------------------------------------------------------ */

enum { Q_PARTS = 3 };

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
