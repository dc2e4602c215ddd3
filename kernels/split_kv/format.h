/*
 * format.h: part of kernel split_kv: elements of K and V as they lie in memory, and as they are
 * multiplied.
 *
 * A step is what is loaded of a row of K or V at once: VF_BYTES bytes, of 8-bit elements that widen to f32
 * half as many, of 4 bits a quarter.  Its elements widen to one vector (f32) or two.  bf16 widens by a shift
 * and a mask, so its two vectors hold the even and the odd elements; Q is laid out to match, and O is put in
 * order again when it is stored (split_merge.h).  Variants that multiply pairs of bf16 convert 8 and 4 bits to
 * bf16 (byte_pairs.h, nibble_pairs.h).
 */
#pragma once

#include "shared/bytes_as_bf16.h"
#include "shared/simd16.h"
#include "shared/simd_bf16.h"
#include "shared/simd_f16.h"

enum format {
    FORMAT_F32,
    FORMAT_BF16,
    FORMAT_F16,
    FORMAT_I8,
    FORMAT_F8E4M3,
    FORMAT_F8E5M2,
    FORMAT_I4 /* nibbles.h, nibble_pairs.h */
};

/* How rows are read: some keys abreast or one after the other, beside prefetches, or without any: abreast,
 * or one after the other and so in the order of memory. */
enum reading { READING_ABREAST, READING_APART, READING_BARE, READING_STREAM, READINGS };

static inline enum format format_of(enum attn_dtype kv_dtype)
{
    return kv_dtype == ATTN_F32      ? FORMAT_F32
           : kv_dtype == ATTN_BF16   ? FORMAT_BF16
           : kv_dtype == ATTN_F16    ? FORMAT_F16
           : kv_dtype == ATTN_F8E4M3 ? FORMAT_F8E4M3
           : kv_dtype == ATTN_F8E5M2 ? FORMAT_F8E5M2
           : kv_dtype == ATTN_I4     ? FORMAT_I4
                                     : FORMAT_I8;
}

/* Whether elements have 8 bits, and scales, which scores and weights take. */
#define FORMAT_SCALED(format) ((format) >= FORMAT_I8 && (format) != FORMAT_I4)

/* Whether a matrix unit multiplies (panels.h). */
#if defined __AMX_BF16__ || defined ATTN_TILES_EMULATED
#define MATRIX_UNIT 1
#else
#define MATRIX_UNIT 0
#endif

/* Types of Q and K that the variant takes, besides caches of 8 and 4 bits: with others it would equal a weaker
 * ISA's. */
#define TAKES_F32 (!BF16_PAIRS && !MATRIX_UNIT && !F16_ALONE)
#define TAKES_BF16 (!F16_ALONE)
#define TAKES_F16 (!BF16_PAIRS && !MATRIX_UNIT)

/* Whether K and V of 8 and 4 bits are converted to bf16 and multiplied in pairs (byte_pairs.h,
 * nibble_pairs.h). */
#if BF16_PAIRS && defined __AVX512VBMI__ && !MATRIX_UNIT
#define BYTE_PAIRS 1
#else
#define BYTE_PAIRS 0
#endif
#define FORMAT_BYTE_PAIRS(format) (BYTE_PAIRS && FORMAT_SCALED(format))

/* Bytes of a step. */
#define FORMAT_STEP(format)                                               \
    ((format) == FORMAT_I4                                 ? VF_LANES     \
     : FORMAT_SCALED(format) && !FORMAT_BYTE_PAIRS(format) ? VF_BYTES / 2 \
                                                           : VF_BYTES)

/* Whether a line is fetched beside step x.  avx512 and neon fetch one for each line that they read, avx2 two
 * and baseline four, with which they were measured. */
#if VF_FACTOR_IN_LANE
#define FORMAT_FETCHES(format, x) ((x) % (64 / FORMAT_STEP(format)) == 0)
#else
#define FORMAT_FETCHES(format, x) ((x) % (VF_BYTES / FORMAT_STEP(format)) == 0)
#endif

/* Vectors of O in a step. */
#define FORMAT_VECTORS(format) ((format) == FORMAT_F32 ? 1 : FORMAT_BYTE_PAIRS(format) ? 4 : 2)

/* Whether K and V are multiplied in pairs (simd_bf16.h), as they lie or after a conversion. */
#define FORMAT_BF16_PAIRS(format) (BF16_PAIRS && (format) == FORMAT_BF16)
#define FORMAT_PAIRS(format) (FORMAT_BF16_PAIRS(format) || FORMAT_BYTE_PAIRS(format))

/* Whether K is multiplied as it lies. */
#if F16_PRODUCTS
#define FORMAT_AS_IT_LIES(format) ((format) == FORMAT_F16)
#else
#define FORMAT_AS_IT_LIES(format) FORMAT_BF16_PAIRS(format)
#endif

/* Vectors of K and of Q in a step. */
#define FORMAT_K_VECTORS(format) \
    (FORMAT_AS_IT_LIES(format) ? 1 : FORMAT_BYTE_PAIRS(format) ? 2 : FORMAT_VECTORS(format))

/* Scales and zero points of a block's rows of 4 bits. */
struct groups {
    const float *scale, *zero;       /* of the first group of the first row */
    ptrdiff_t scale_row, zero_row;   /* from row to row */
    ptrdiff_t scale_each, zero_each; /* from group to group */
    ptrdiff_t steps;                 /* of a group */
    int last;                        /* row that there is */
    int left;                        /* elements in the last step where that is not whole */
    bool two_key_groups;             /* scores of 2 * GROUP_KEYS keys are computed at once */
    bool zeros;                      /* there are zero points; otherwise all are 8 */
};

/* A row of K or V: `full` whole steps and, where `tail` is not 0, one of `tail` bytes. */
struct axis {
    ptrdiff_t dim, bytes; /* of the row */
    ptrdiff_t full, steps;
    int tail;
    struct groups groups; /* of a block: axis_of_nibbles() */
};

static inline struct axis axis_of(size_t dim, enum attn_dtype dtype, enum format format)
{
    struct axis a = {.dim = (ptrdiff_t)dim, .bytes = attn_elements_bytes(dtype, (ptrdiff_t)dim)};
    a.full = a.bytes / FORMAT_STEP(format);
    a.tail = (int)(a.bytes % FORMAT_STEP(format));
    if (format == FORMAT_I4 && a.tail == 0 && dim % 2) { /* half a byte is none of a whole step */
        a.full--;
        a.tail = FORMAT_STEP(format);
    }
    a.steps = a.full + (a.tail > 0);
    return a;
}

/* Floats of a row's widened vectors. */
static inline ptrdiff_t axis_floats(const struct axis *a, enum format format)
{
    return a->steps * FORMAT_VECTORS(format) * VF_LANES;
}

/* The even and the odd elements. */
VF_INLINE void widen_pairs(vi bf16, vf x[2])
{
    x[0] = (vf)(bf16 << 16);
    x[1] = (vf)(bf16 & (int32_t)0xffff0000);
}

VF_INLINE void widen(const enum format format, const char *p, vf x[2])
{
    if (format == FORMAT_F32) {
        memcpy(&x[0], p, sizeof x[0]);
    } else if (format == FORMAT_I8) {
        x[0] = vf_load_i8((const int8_t *)p);
        x[1] = vf_load_i8((const int8_t *)p + VF_LANES);
    } else if (format == FORMAT_F8E4M3) {
        vf_load_f8e4m3((const uint8_t *)p, x);
    } else if (format == FORMAT_F8E5M2) {
        vf_load_f8e5m2((const uint8_t *)p, x);
    } else if (format == FORMAT_BF16) {
        vi pairs;
        memcpy(&pairs, p, sizeof pairs);
        widen_pairs(pairs, x);
    } else {
        x[0] = vf_load_f16((const uint16_t *)p);
        x[1] = vf_load_f16((const uint16_t *)p + VF_LANES);
    }
}

/* What widen_pairs() undoes, rounded to nearest even. */
VF_INLINE vi narrow_pairs(const vf x[2])
{
    return (vi)(vf_round_bf16(x[0]) >> 16 | (vf_round_bf16(x[1]) & 0xffff0000));
}

/* A step of which only the first `tail` bytes exist, where tail is not 0. */
VF_INLINE void widen_step(const enum format format, int tail, const char *p, vf x[2])
{
    if (tail) {
        const int odd = FORMAT_SCALED(format) ? tail % 2 : 0;
        const vi raw = vi_load_bytes(p, (size_t)(tail - odd));
        char step[VF_BYTES];
        memcpy(step, &raw, sizeof step);
        if (odd)
            step[tail - 1] = p[tail - 1];
        widen(format, step, x);
    } else {
        widen(format, p, x);
    }
}

#if BYTE_PAIRS
#include "byte_pairs.h"
#endif

/* A step of K as it is multiplied. */
VF_INLINE void load_k(const enum format format, int tail, const char *p, vf x[2])
{
#if BYTE_PAIRS
    if (FORMAT_BYTE_PAIRS(format)) {
        load_k_of_bytes(format, tail, p, x);
        return;
    }
#endif
    if (!FORMAT_AS_IT_LIES(format))
        widen_step(format, tail, p, x);
    else if (tail)
        x[0] = (vf)vi_load_bytes(p, (size_t)tail);
    else
        memcpy(&x[0], p, sizeof x[0]);
}

VF_INLINE vf multiply(const enum format format, vf q, vf k, vf sum)
{
#if BF16_PAIRS
    if (FORMAT_PAIRS(format))
        return bf16_dot((vi)q, (vi)k, sum);
#elif F16_PRODUCTS
    if (FORMAT_AS_IT_LIES(format))
        return f16_dot(q, k, sum);
#else
    (void)format;
#endif
    return vf_fma(q, k, sum);
}
