/*
 * bytes_as_bf16.h: elements of 8 bits as bfloat16, which represents int8 and both kinds of 8-bit floats
 * exactly, and queries times scales; for kernel files only.
 *
 * The bits of a magnitude index two tables of 128 bytes, with the lower and the upper halves of the bfloat16.
 *
 * A weight times a scale may be as small as a scale, and products of bfloat16 take it for 0 below 2^-126.
 * Times a value of up to 57344 the error would exceed the bound.  So values are divided by bytes_unit(), a
 * power of two that bounds their type, and weights or results are multiplied by it.  Weights, which are below
 * 2^8, would then become infinite with scales of V from 2^120 / bytes_unit() on: kernels make weights, or scales,
 * 2^26 times smaller where there are such scales.
 *
 * Scales of K's channels multiply the queries, which rounds within the bound (reference.c).  The 24 bits of
 * the product are split into three bfloat16 of 8 bits each, exactly from about 2^-110 on, and scores are the sum
 * of their products with K, the smallest part first.  Sums of the first two parts are below 2^-7 of the third's,
 * so that their rounding is negligible.  All parts have the sign of the whole and none is 0 or subnormal, which
 * products take for 0: times an infinite key that is NaN, but the score is infinite.  So it is where the product of a
 * query and a scale rounds to 0, which counts as the smallest normal number (split_kv's load_q.h does the same).
 */
#pragma once

#include <math.h>
#include <stdint.h>

#include "element.h"

/* ---- elements -------------------------------------------------------------------------------- */

/* Log2 of what elements may be divided by, which no number of the type exceeds.  That of int8 is even, so that
 * -128 and 0 have the same lower half, and 7 bits index both. */
#define BYTES_LOG2_I8 8
#define BYTES_LOG2_F8E4M3 9
#define BYTES_LOG2_F8E5M2 16

/* That power; 1 for types without scales. */
static inline float bytes_unit(enum attn_dtype dtype)
{
    return dtype == ATTN_I8       ? (float)(1 << BYTES_LOG2_I8)
           : dtype == ATTN_F8E4M3 ? (float)(1 << BYTES_LOG2_F8E4M3)
           : dtype == ATTN_F8E5M2 ? (float)(1 << BYTES_LOG2_F8E5M2)
                                  : 1;
}

/* Halves of the bfloat16 of each magnitude. */
struct byte_table {
    uint8_t low[128] __attribute__((aligned(64))), high[128];
};

/* Whether none of n elements of 8 bits is infinite or NaN. */
static inline bool bytes_are_finite(enum attn_dtype dtype, const uint8_t *x, ptrdiff_t n)
{
    const uint8_t least = dtype == ATTN_F8E4M3 ? 0x7f : 0x7c; /* of what is not finite */
    uint8_t most = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const uint8_t size = x[i] & 0x7f;
        most = size > most ? size : most;
    }
    return dtype == ATTN_I8 || most < least;
}

/* The bfloat16 n 2^s, where n has at most 8 significant bits. */
#define BYTE_LEADING(n) ((unsigned)__builtin_clz((n) | 1u))
#define BYTE_BITS(n, s)                                          \
    ((n) ? (31u - BYTE_LEADING(n) + 127u + (unsigned)(s)) << 7 | \
               ((n) << BYTE_LEADING(n) >> 24 & 0x7fu)            \
         : 0u)

/* Magnitude i of each type divided by 2^log2.  Floats are integers times the smallest of their type. */
#define BYTE_INTEGER(i, bits, e) \
    ((e) ? ((1u << (bits)) + (i) % (1u << (bits))) << ((e) ? (e)-1u : 0u) : (i))
#define BYTE_I8(i, log2) BYTE_BITS((unsigned)(i), -(log2))
#define BYTE_F8E4M3(i, log2) \
    ((i) == 127 ? 0x7fc0u : BYTE_BITS(BYTE_INTEGER((unsigned)(i), 3, (i) / 8u), -9 - (log2)))
#define BYTE_F8E5M2(i, log2) \
    ((i) > 124    ? 0x7fc0u  \
     : (i) == 124 ? 0x7f80u  \
                  : BYTE_BITS(BYTE_INTEGER((unsigned)(i), 2, (i) / 4u), -16 - (log2)))

#define BYTE_4(half, F, i, s) half(F(i, s)), half(F(i + 1, s)), half(F(i + 2, s)), half(F(i + 3, s))
#define BYTE_16(half, F, i, s)                                                   \
    BYTE_4(half, F, i, s), BYTE_4(half, F, i + 4, s), BYTE_4(half, F, i + 8, s), \
        BYTE_4(half, F, i + 12, s)
#define BYTE_128(half, F, s)                                                       \
    BYTE_16(half, F, 0, s), BYTE_16(half, F, 16, s), BYTE_16(half, F, 32, s),      \
        BYTE_16(half, F, 48, s), BYTE_16(half, F, 64, s), BYTE_16(half, F, 80, s), \
        BYTE_16(half, F, 96, s), BYTE_16(half, F, 112, s)
#define BYTE_LOW(bits) ((bits)&0xffu)
#define BYTE_HIGH(bits) ((bits) >> 8)
#if defined __cppcheck__ || \
    defined __clang_analyzer__ /* minutes for each file, in scripts/dev/lint */
#define BYTE_TABLE(F, s) \
    {                    \
        {0},             \
        {                \
            0            \
        }                \
    }
#else
#define BYTE_TABLE(F, s)              \
    {                                 \
        {BYTE_128(BYTE_LOW, F, s)},   \
        {                             \
            BYTE_128(BYTE_HIGH, F, s) \
        }                             \
    }
#endif

/* ---- queries times scales ---------------------------------------------------------------------- */

enum { Q_PARTS = 3 };

/* The largest bfloat16 that is smaller than x in magnitude, with x's sign; 0 for 0. */
static inline uint16_t part_below(float x)
{
    const uint32_t bits = attn_float_bits(x), size = bits & 0x7fffffff;
    return (uint16_t)((bits - (size != 0)) >> 16);
}

/* A part of x, at least the smallest normal bfloat16 with x's sign unless x is 0. */
static inline uint16_t part_normal(uint16_t part, float x)
{
    const uint16_t sign = (uint16_t)(attn_float_bits(x) >> 16 & 0x8000);
    return x != 0 && (part & 0x7fff) < 0x0080 ? (uint16_t)(sign | 0x0080) : part;
}

/* An element of a query times the scale of its channel as three parts `apart` elements apart, the largest
 * last. */
static inline void split_product(uint16_t q, float scale, uint16_t *to, size_t apart)
{
    const float element = attn_bf16_to_f32(q), product = element * scale;
    const bool lost = product == 0 && element != 0 && scale != 0;
    const float x = lost ? copysignf(0x1p-126F, product) : product;
    const uint16_t large = part_below(x);
    const float rest = x - attn_bf16_to_f32(large);
    const uint16_t middle = part_below(rest);
    const uint16_t small = attn_f32_to_bf16(rest - attn_bf16_to_f32(middle));
    const bool finite = isfinite(x);
    to[0] = finite ? part_normal(small, x) : attn_f32_to_bf16(x);
    to[apart] = finite ? part_normal(middle, x) : to[0];
    to[2 * apart] = finite ? part_normal(large, x) : to[0];
}
