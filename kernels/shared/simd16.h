/*
 * simd16.h: converts vectors of 16-bit elements to float and back, and of 8-bit ones to float; in kernels
 * that compute in double, floats to double; for kernel files only.
 */
#pragma once

#include "attention.h"
#include "element.h"
#include "simd.h"

#if REAL_BYTES == 8
/* Loads n <= VF_LANES elements of type f64 or f32; zero in the other lanes. */
VF_INLINE vf vf_load_elements(enum attn_dtype dtype, const void *p, size_t n)
{
    float narrow[VF_LANES] = {0};
    vf v = vf_set1(0);
    if (dtype == REAL_DTYPE)
        return n == VF_LANES ? vf_load(p) : vf_load_partial(p, n);
    memcpy(narrow, p, n * sizeof *narrow);
    for (int i = 0; i < VF_LANES; i++)
        v[i] = (real)narrow[i];
    return v;
}
#else
typedef uint16_t vh __attribute__((vector_size(VF_BYTES / 2)));

/* Loads VF_LANES bf16. */
static inline vf vf_load_bf16(const uint16_t *p)
{
#if VF_SVE
    return (vf)((vu)svld1uh_u32(svptrue_b32(), p) << 16);
#else
    vh h;
    memcpy(&h, p, sizeof h);
    return (vf)(__builtin_convertvector(h, vi) << 16);
#endif
}

/* Loads VF_LANES int8.  From C GCC 12 makes scalar code at every width. */
static inline vf vf_load_i8(const int8_t *p)
{
#if defined __AVX512F__
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
#elif defined __AVX2__
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
#elif VF_SVE
    return (vf)svcvt_f32_s32_x(svptrue_b32(), svld1sb_s32(svptrue_b32(), p));
#elif defined __aarch64__
    int32_t four;
    memcpy(&four, p, sizeof four);
    const int16x8_t words = vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(four)));
    return (vf)vcvtq_f32_s32(vmovl_s16(vget_low_s16(words)));
#else
    vf v;
    for (int i = 0; i < VF_LANES; i++)
        v[i] = p[i];
    return v;
#endif
}

/* Loads VF_LANES f16. */
static inline vf vf_load_f16(const uint16_t *p)
{
#if defined __AVX512FP16__
    return (vf)_mm512_cvtxph_ps((__m256h)_mm256_loadu_si256((const __m256i *)p));
#elif defined __AVX512F__
    return (vf)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
#elif defined __F16C__
    return (vf)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
#elif VF_SVE
    const svuint32_t h = svld1uh_u32(svptrue_b32(), p); /* each in the lower half of its lane */
    return (vf)svcvt_f32_f16_x(svptrue_b32(), svreinterpret_f16_u32(h));
#elif defined __aarch64__
    return (vf)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
#else
    vf v;
    for (int i = 0; i < VF_LANES; i++)
        v[i] = attn_f16_to_f32(p[i]);
    return v;
#endif
}

/* Loads 2 VF_LANES f8e4m3, each divided by 256, exactly.  Their 7 bits without the sign, shifted to bit 7,
 * are an f16 with an exponent that is 8 less, so that f16 holds all of these numbers.  Adding 1 in the last
 * place carries into bit 14 only for NaN, all ones, which with that bit set is a NaN in f16, too. */
VF_INLINE void vf_load_f8e4m3(const uint8_t *p, vf x[2])
{
#if defined __AVX512BW__
    const __m512i bytes = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)p));
    const __m512i h =
        _mm512_and_si512(_mm512_slli_epi16(bytes, 7), _mm512_set1_epi16((short)0xbfff));
    const __m512i carry = _mm512_add_epi16(h, _mm512_set1_epi16(0x80));
    const __m512i all = /* h | (carry & 0x4000) */
        _mm512_ternarylogic_epi64(h, carry, _mm512_set1_epi16(0x4000), 0xf8);
    x[0] = (vf)_mm512_cvtph_ps(_mm512_castsi512_si256(all));
    x[1] = (vf)_mm512_cvtph_ps(_mm512_extracti64x4_epi64(all, 1));
#elif defined __AVX2__ && defined __F16C__
    const __m256i bytes = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)p));
    const __m256i h =
        _mm256_and_si256(_mm256_slli_epi16(bytes, 7), _mm256_set1_epi16((short)0xbfff));
    const __m256i carry = _mm256_add_epi16(h, _mm256_set1_epi16(0x80));
    const __m256i all = _mm256_or_si256(h, _mm256_and_si256(carry, _mm256_set1_epi16(0x4000)));
    x[0] = (vf)_mm256_cvtph_ps(_mm256_castsi256_si128(all));
    x[1] = (vf)_mm256_cvtph_ps(_mm256_extracti128_si256(all, 1));
#elif defined __aarch64__ && !VF_SVE
    const int16x8_t bytes = vmovl_s8(vld1_s8((const int8_t *)p));
    const int16x8_t h = vandq_s16(vshlq_n_s16(bytes, 7), vdupq_n_s16((int16_t)0xbfff));
    const int16x8_t carry = vaddq_s16(h, vdupq_n_s16(0x80));
    const float16x8_t all =
        vreinterpretq_f16_s16(vorrq_s16(h, vandq_s16(carry, vdupq_n_s16(0x4000))));
    x[0] = (vf)vcvt_f32_f16(vget_low_f16(all));
    x[1] = (vf)vcvt_f32_f16(vget_high_f16(all));
#elif VF_SVE /* attn_f8e4m3_to_f32() times 2^-8 */
    for (int n = 0; n < 2; n++) {
        const vu bytes = (vu)svld1ub_u32(svptrue_b32(), p + n * VF_LANES);
        const vu magnitude = (bytes & 0x7f) << 20, sign = (bytes & 0x80) << 24;
        const vi nan = (vi)(magnitude == 0x7fu << 20);
        const vf number = (vf)magnitude * 0x1p112f;
        x[n] = (vf)((vi)vf_select(nan, vf_set1(__builtin_nanf("")), number) | (vi)sign);
    }
#else
    float floats[2 * VF_LANES];
    for (int i = 0; i < 2 * VF_LANES; i++)
        floats[i] = attn_f8e4m3_to_f32(p[i]) * 0x1p-8f;
    x[0] = vf_load(floats);
    x[1] = vf_load(floats + VF_LANES);
#endif
}

/* Loads 2 VF_LANES f8e5m2, which are the upper bytes of f16. */
VF_INLINE void vf_load_f8e5m2(const uint8_t *p, vf x[2])
{
#if defined __AVX512BW__
    const __m512i h =
        _mm512_slli_epi16(_mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)p)), 8);
    x[0] = (vf)_mm512_cvtph_ps(_mm512_castsi512_si256(h));
    x[1] = (vf)_mm512_cvtph_ps(_mm512_extracti64x4_epi64(h, 1));
#elif defined __AVX2__ && defined __F16C__
    const __m256i h =
        _mm256_slli_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p)), 8);
    x[0] = (vf)_mm256_cvtph_ps(_mm256_castsi256_si128(h));
    x[1] = (vf)_mm256_cvtph_ps(_mm256_extracti128_si256(h, 1));
#elif defined __aarch64__ && !VF_SVE
    const float16x8_t h = vreinterpretq_f16_u16(vshll_n_u8(vld1_u8(p), 8));
    x[0] = (vf)vcvt_f32_f16(vget_low_f16(h));
    x[1] = (vf)vcvt_f32_f16(vget_high_f16(h));
#elif VF_SVE
    for (int n = 0; n < 2; n++) {
        const svuint32_t h =
            svlsl_n_u32_x(svptrue_b32(), svld1ub_u32(svptrue_b32(), p + n * VF_LANES), 8);
        x[n] = (vf)svcvt_f32_f16_x(svptrue_b32(), svreinterpret_f16_u32(h));
    }
#else
    float floats[2 * VF_LANES];
    for (int i = 0; i < 2 * VF_LANES; i++)
        floats[i] = attn_f8e5m2_to_f32(p[i]);
    x[0] = vf_load(floats);
    x[1] = vf_load(floats + VF_LANES);
#endif
}

/* Lanes rounded to the nearest bf16, ties to even, in their upper halves; NaN stays NaN. */
static inline vu vf_round_bf16(vf v)
{
    const vi bits = (vi)v;
    const vi rounded = bits + 0x7fff + (bits >> 16 & 1);
    const vi quiet = bits | 0x400000;
    return (vu)vf_select((vi)(v == v), (vf)rounded, (vf)quiet);
}

/* Stores the lower halves of all lanes. */
static inline void vu_store_halves(uint16_t *p, vu v)
{
#if VF_SVE
    svst1h_u32(svptrue_b32(), p, (svuint32_t)v);
#else
    const vh h = __builtin_convertvector(v, vh);
    memcpy(p, &h, sizeof h);
#endif
}

#if defined __AVX512FP16__ || defined __aarch64__
/* Stores VF_LANES f16, rounded to nearest even. */
static inline void vf_store_f16(uint16_t *p, vf v)
{
#if defined __AVX512FP16__
    _mm256_storeu_si256((__m256i *)p, (__m256i)_mm512_cvtxps_ph((__m512)v));
#elif VF_SVE /* each in the lower half of its lane */
    vu_store_halves(p, (vu)svreinterpret_u32_f16(svcvt_f16_f32_x(svptrue_b32(), (svfloat32_t)v)));
#else
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)v)));
#endif
}
#endif

/* Loads n <= VF_LANES elements of a type; zero in the other lanes. */
VF_INLINE vf vf_load_elements(enum attn_dtype dtype, const void *p, size_t n)
{
    uint16_t h[VF_LANES] = {0};
    if (dtype == ATTN_F32)
        return n == VF_LANES ? vf_load(p) : vf_load_partial(p, n);
    memcpy(h, p, n * sizeof *h);
    return dtype == ATTN_BF16 ? vf_load_bf16(h) : vf_load_f16(h);
}

/* Stores the first n <= VF_LANES lanes, rounded to nearest even. */
VF_INLINE void vf_store_elements(enum attn_dtype dtype, void *p, vf v, size_t n)
{
    uint16_t h[VF_LANES];
    if (dtype == ATTN_F32) {
        if (n == VF_LANES)
            vf_store(p, v);
        else
            vf_store_partial(p, v, n);
        return;
    }
    if (dtype == ATTN_BF16) {
        vu_store_halves(h, vf_round_bf16(v) >> 16);
    } else {
#if defined __AVX512FP16__ || defined __aarch64__
        vf_store_f16(h, v);
#else
        for (int i = 0; i < VF_LANES; i++)
            h[i] = attn_f32_to_f16(v[i]);
#endif
    }
    memcpy(p, h, n * sizeof *h);
}

/* Elements of to[0, n), of a type, from factor * from[0, n). */
static inline void row_narrow(void *to, enum attn_dtype dtype, const float *from, float factor,
                              size_t n)
{
    const size_t bytes = attn_dtype_size(dtype);
    for (size_t d = 0; d < n; d += VF_LANES) {
        const size_t some = n - d < VF_LANES ? n - d : VF_LANES;
        const vf x = some == VF_LANES ? vf_load(from + d) : vf_load_partial(from + d, some);
        vf_store_elements(dtype, (char *)to + d * bytes, x * vf_set1(factor), some);
    }
}
#endif

/* Reals of to[0, n) from elements of a type without scales. */
static inline void row_widen(real *to, enum attn_dtype dtype, const void *from, size_t n)
{
    const size_t bytes = attn_dtype_size(dtype);
    size_t d = 0;
    for (; d + VF_LANES <= n; d += VF_LANES)
        vf_store(to + d, vf_load_elements(dtype, (const char *)from + d * bytes, VF_LANES));
    if (d < n)
        vf_store_partial(to + d, vf_load_elements(dtype, (const char *)from + d * bytes, n - d),
                         n - d);
}
