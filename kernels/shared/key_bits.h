/*
 * key_bits.h: which of up to 64 neighbouring keys masks, biases and trees leave to a query, a bit for
 * each; for kernel files only.
 */
#pragma once

#include <math.h>

#include "kernel.h"
#include "simd16.h"

/* The first n keys, n <= 64. */
static inline uint64_t bits_first(ptrdiff_t n)
{
    return n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1;
}

#if defined __AVX512BW__

/* Bytes of 0 and 1 to bits. */
static inline uint64_t bits_of_bytes(const uint8_t *bytes, ptrdiff_t n)
{
    const __m512i x = _mm512_maskz_loadu_epi8(bits_first(n), bytes);
    return _mm512_test_epi8_mask(x, x);
}

/* Keys whose bias, elements of a type, is not -inf. */
static inline uint64_t bits_of_bias(enum attn_dtype dtype, const char *bias, ptrdiff_t n)
{
    const ptrdiff_t element = (ptrdiff_t)attn_dtype_size(dtype);
    uint64_t bits = 0;
    for (ptrdiff_t i = 0; i < n; i += VF_LANES) {
        const size_t some = n - i < VF_LANES ? (size_t)(n - i) : VF_LANES;
        const vf x = vf_load_elements(dtype, bias + i * element, some);
        bits |= (uint64_t)_mm512_cmp_ps_mask(x, vf_set1(-INFINITY), _CMP_NEQ_UQ) << i;
    }
    return bits & bits_first(n);
}

#else

/* Bytes of 0 and 1 to bits. */
static inline uint64_t bits_of_bytes(const uint8_t *bytes, ptrdiff_t n)
{
    uint64_t bits = 0;
    for (ptrdiff_t i = 0; i < n; i += 8) {
        uint64_t eight = 0;
        memcpy(&eight, bytes + i, n - i < 8 ? (size_t)(n - i) : 8);
        /* Byte k has bit 8k, which the product moves to 56 + k. */
        bits |= (eight * UINT64_C(0x0102040810204080) >> 56) << i;
    }
    return bits;
}

/* Keys whose bias, elements of a type, is not -inf. */
static inline uint64_t bits_of_bias(enum attn_dtype dtype, const char *bias, ptrdiff_t n)
{
    uint8_t seen[64];
    const uint16_t hidden = dtype == ATTN_BF16 ? 0xff80 : 0xfc00;
    for (ptrdiff_t i = 0; i < n; i++)
        if (dtype == ATTN_F32) {
            uint32_t bits;
            memcpy(&bits, bias + i * 4, sizeof bits);
            seen[i] = bits != 0xff800000;
        } else {
            uint16_t bits;
            memcpy(&bits, bias + i * 2, sizeof bits);
            seen[i] = bits != hidden;
        }
    return bits_of_bytes(seen, n);
}

#endif

/* Keys of [j, j + n) that draft `query` of a tree sees. */
static inline uint64_t bits_of_tree(const struct attn_tree *tree, ptrdiff_t query, ptrdiff_t j,
                                    ptrdiff_t n)
{
    const ptrdiff_t first =
        j - tree->first; /* draft of the first key; below 0: it is of the cache */
    uint64_t bits = first < 0 ? bits_first(-first) : 0;
    ptrdiff_t draft = attn_tree_up(tree, query, first + n - 1);
    for (; draft >= 0 && draft >= first; draft = tree->parents[draft])
        bits |= UINT64_C(1) << (draft - first);
    return bits;
}
