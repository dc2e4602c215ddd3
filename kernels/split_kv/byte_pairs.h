/*
 * byte_pairs.h: part of kernel split_kv: K and V of 8 bits as pairs of bf16.
 *
 * A step is 64 elements.  Their bits without the sign index the tables of bytes_as_bf16.h, whose lower and
 * upper halves are interleaved: 5 instructions for 64 elements of K and 12 for 64 elements of V of two keys, in
 * int8 8 and 18, without copies of registers.  Widened to f32, 64 elements take 16 (floats) or 8 (int8), and
 * twice the multiply-adds.
 *
 * Interleaving works within 128 bits: of K the first vector of a step has the first eight of each 16
 * elements, the second the others; of V the four vectors have four of each 16 each.
 */
#pragma once

/* The lower and upper halves of the bfloat16 of 64 elements; values are divided by bytes_unit(). */
VF_INLINE void halves_of_bytes(const enum format format, const bool values, __m512i x, __m512i *low,
                               __m512i *high)
{
    static const struct byte_table tables[][2] = {
        {BYTE_TABLE(BYTE_I8, 0), BYTE_TABLE(BYTE_I8, BYTES_LOG2_I8)},
        {BYTE_TABLE(BYTE_F8E4M3, 0), BYTE_TABLE(BYTE_F8E4M3, BYTES_LOG2_F8E4M3)},
        {BYTE_TABLE(BYTE_F8E5M2, 0), BYTE_TABLE(BYTE_F8E5M2, BYTES_LOG2_F8E5M2)},
    };
    const struct byte_table *const t = &tables[format - FORMAT_I8][values];
    const char lowest = (char)(values ? 0xbf : 0xc3); /* upper half of -128 */
    const __m512i i = format == FORMAT_I8 ? _mm512_abs_epi8(x) : x;
    const __m512i upper =
        _mm512_permutex2var_epi8(_mm512_loadu_si512(t->high), i, _mm512_loadu_si512(t->high + 64));
    *low = _mm512_permutex2var_epi8(_mm512_loadu_si512(t->low), i, _mm512_loadu_si512(t->low + 64));
    *high = /* upper | (x & 0x80) */
        _mm512_ternarylogic_epi64(upper, x, _mm512_set1_epi8((char)0x80), 0xf8);
    if (format == FORMAT_I8) /* -128, whose index is that of 0 */
        *high = _mm512_mask_mov_epi8(*high, _mm512_movepi8_mask(i), _mm512_set1_epi8(lowest));
}

/* A step of K, of which only the first `tail` bytes exist where that is not 0. */
VF_INLINE void load_k_of_bytes(const enum format format, int tail, const char *p, vf x[2])
{
    __m512i low, high;
    halves_of_bytes(format, false,
                    tail ? (__m512i)vi_load_bytes(p, (size_t)tail) : _mm512_loadu_si512(p), &low,
                    &high);
    x[0] = (vf)_mm512_unpacklo_epi8(low, high);
    x[1] = (vf)_mm512_unpackhi_epi8(low, high);
}

/* A step of V of two keys, each lane with a value of both. */
VF_INLINE void join_bytes(const enum format format, vi first, vi second, vi x[4])
{
    const __m512i both[2] = {_mm512_unpacklo_epi8((__m512i)first, (__m512i)second),
                             _mm512_unpackhi_epi8((__m512i)first, (__m512i)second)};
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        __m512i low, high;
        halves_of_bytes(format, true, both[i], &low, &high);
        x[2 * i] = (vi)_mm512_unpacklo_epi8(low, high);
        x[2 * i + 1] = (vi)_mm512_unpackhi_epi8(low, high);
    }
}

/* 16 dimensions of O from d on, from a row's sums. */
static inline void o_of_bytes(const float *sum, size_t d, float o[VF_LANES])
{
    enum { STEP = VF_BYTES, VECTORS = 4 };
    for (size_t i = 0; i < VECTORS; i++)
        memcpy(o + i * VECTORS, sum + d / STEP * STEP + i * VF_LANES + d % STEP / VECTORS,
               VECTORS * sizeof *o);
}
