/*
 * element.h: 16-bit elements to float and back.
 *
 * Written out in integer and float operations instead of compiler types, because _Float16 and
 * __bf16 exist for x86-64 without extensions in newer compilers only; loops over these functions
 * vectorise at every width.  Exact towards float; round to nearest even back, NaN stays NaN (and
 * becomes quiet).
 */
#ifndef ATTN_ELEMENT_H
#define ATTN_ELEMENT_H

#include <stdint.h>
#include <string.h>

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

#endif
