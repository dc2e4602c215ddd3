/*
 * element.h: elements of 16, 8 and 4 bits to float and back.
 *
 * Written out in integer and float operations instead of compiler types, because _Float16 and
 * __bf16 exist for x86-64 without extensions in newer compilers only; loops over these functions
 * vectorise at every width.  Exact towards float; round to nearest even back, NaN stays NaN (and
 * becomes quiet).  What is beyond the largest number becomes infinity, or in e4m3, which has none, +-448.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "attention.h"

static inline uint32_t attn_float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float attn_bits_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float attn_bf16_to_f32(uint16_t x)
{
    return attn_bits_float((uint32_t)x << 16);
}

static inline uint16_t attn_f32_to_bf16(float x)
{
    const uint32_t bits = attn_float_bits(x);
    if (x != x)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* The 15 bits below the sign, moved to where a float has them, are the value times 2^-112, also
 * for subnormals; infinity and NaN need the rest of the exponent. */
static inline float attn_f16_to_f32(uint16_t x)
{
    const uint32_t magnitude = (uint32_t)(x & 0x7fff) << 13;
    const uint32_t scaled = attn_float_bits(attn_bits_float(magnitude) * 0x1p112f);
    const uint32_t special = magnitude | 0x7f800000;
    const uint32_t sign = (uint32_t)(x & 0x8000) << 16;
    return attn_bits_float(sign | (magnitude >= 0x7c00u << 13 ? special : scaled));
}

/* Subnormal results are rounded by adding the power of two whose last place is theirs; normal
 * ones as bf16 is, with the exponent's bias changed afterwards. */
static inline uint16_t attn_f32_to_f16(float x)
{
    const uint32_t bits = attn_float_bits(x);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= attn_float_bits(65520.0f)) /* rounds past 65504, the largest */
        return sign | 0x7c00;
    if (magnitude < attn_float_bits(0x1p-14f)) {
        const float aligned = attn_bits_float(magnitude) + 0.5f;
        return (uint16_t)(sign | (attn_float_bits(aligned) - attn_float_bits(0.5f)));
    }
    const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return (uint16_t)(sign | ((rounded - (112u << 23)) >> 13));
}

/* ---- 8 bits (Open Compute Project, OFP8 1.0) ------------------------------------------------- */

/* The upper byte of an f16. */
static inline float attn_f8e5m2_to_f32(uint8_t x)
{
    return attn_f16_to_f32((uint16_t)(x << 8));
}

/* As f16 above, with a bias of 7: the value times 2^-120.  No infinity, and one NaN of each sign. */
static inline float attn_f8e4m3_to_f32(uint8_t x)
{
    const uint32_t magnitude = (uint32_t)(x & 0x7f) << 20;
    const uint32_t scaled = attn_float_bits(attn_bits_float(magnitude) * 0x1p120f);
    const uint32_t sign = (uint32_t)(x & 0x80) << 24;
    return attn_bits_float(sign | (magnitude == 0x7fu << 20 ? 0x7fc00000 : scaled));
}

static inline uint8_t attn_f32_to_f8e5m2(float x)
{
    const uint32_t bits = attn_float_bits(x);
    const uint8_t sign = (uint8_t)(bits >> 24 & 0x80);
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return (uint8_t)(sign | 0x7e | (magnitude >> 21 & 1));
    if (magnitude >= attn_float_bits(61440.0f)) /* rounds past 57344, the largest */
        return sign | 0x7c;
    if (magnitude < attn_float_bits(0x1p-14f)) {
        const float aligned = attn_bits_float(magnitude) + 0x1p7f;
        return (uint8_t)(sign | (attn_float_bits(aligned) - attn_float_bits(0x1p7f)));
    }
    const uint32_t rounded = magnitude + 0xfffff + (magnitude >> 21 & 1);
    return (uint8_t)(sign | ((rounded - (112u << 23)) >> 21));
}

static inline uint8_t attn_f32_to_f8e4m3(float x)
{
    const uint32_t bits = attn_float_bits(x);
    const uint8_t sign = (uint8_t)(bits >> 24 & 0x80);
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return sign | 0x7f;
    if (magnitude > attn_float_bits(448.0f))
        return sign | 0x7e;
    if (magnitude < attn_float_bits(0x1p-6f)) {
        const float aligned = attn_bits_float(magnitude) + 0x1p14f;
        return (uint8_t)(sign | (attn_float_bits(aligned) - attn_float_bits(0x1p14f)));
    }
    const uint32_t rounded = magnitude + 0x7ffff + (magnitude >> 20 & 1);
    return (uint8_t)(sign | ((rounded - (120u << 23)) >> 20));
}

/* An element of a type of 8 bits that has scales. */
static inline float attn_byte_to_f32(enum attn_dtype dtype, uint8_t x)
{
    return dtype == ATTN_I8       ? (float)(int8_t)x
           : dtype == ATTN_F8E4M3 ? attn_f8e4m3_to_f32(x)
                                  : attn_f8e5m2_to_f32(x);
}

/* ---- 4 bits --------------------------------------------------------------------------------- */

/* Element d of a row of i4, 0 to 15. */
static inline unsigned attn_nibble(const void *row, size_t d)
{
    return (unsigned)((const uint8_t *)row)[d / 2] >> (d % 2 * 4) & 15;
}

static inline void attn_set_nibble(void *row, size_t d, unsigned x)
{
    uint8_t *byte = (uint8_t *)row + d / 2;
    *byte = (uint8_t)(d % 2 ? (*byte & 15U) | x << 4 : (*byte & 0xf0U) | x);
}

/* Element d of a row of a type with scales, as it is stored. */
static inline float attn_scaled_element(enum attn_dtype dtype, const void *row, size_t d)
{
    return dtype == ATTN_I4 ? (float)attn_nibble(row, d)
                            : attn_byte_to_f32(dtype, ((const uint8_t *)row)[d]);
}
