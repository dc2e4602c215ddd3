/*
 * weigh.h: part of kernel flash for matrix units: a row of scores becomes a row of weights in bfloat16.
 *
 * Beside products of the matrix unit a core starts one 512-bit operation on floats a cycle (two on integers),
 * and an exponential in float32 would take longer than the products do at D = 64.  So weights are made as 16-bit
 * integers, twice as many a vector, and directly as the bits of a bfloat16:
 *
 *   1. n = 256 (x - m + 127), rounded, for a score x in base 2 and a whole number m.  One FMA, whose addend
 *      brings in almost 2^24, adds n to the bits of a constant; a subtraction and the packing of two vectors
 *      saturate it to 0 .. 65535.
 *   2. As a number of 8 bits of exponent and 8 of fraction f, n stands for (1 + f) 2^e, where 2^(e + f) is
 *      wanted: a table of 64 bytes, read by one instruction, has 256 (1 + f - 2^f), which is subtracted.
 *   3. Half of it, rounded, has 7 bits of fraction: the bits of 2^(x - m) as a bfloat16.
 *
 * Weights are off by at most 1.51 units roundoff of bfloat16 (rounding is 1 of these), by 1.18 times what
 * rounding makes in the mean square, and by -1.7e-5 of themselves on average (WEIGHT_MEAN).  The sum is taken
 * of these weights, so that a common error cancels in O; errors of two weights differ by 3.02 at most.
 *
 * m is chosen from the first scores of a block and is not a maximum: later scores may be above it by up to
 * 8, which is as far as sums of large values allow, and no maximum is looked for.  The addend of step 1 is
 * such that a sum reaches 2^24 where a score is higher.  Bits of the exponent show that and what is infinite or
 * NaN, the sign what is too far below for a subtraction (WEIGHT_ODD), in all sums or-ed.  The job is then computed
 * again by exactly.h.  Where scores have a bias or any terms, which are often -inf or the lowest number, sums are
 * raised to WEIGHT_LEAST instead.
 */
#pragma once

#include "change.h"

#define WEIGHT_ABOVE 127.0f /* m - x where n = 0: the bias of exponents */
#define WEIGHT_HIGHEST 8    /* x - m at most */
#define WEIGHT_TOO_HIGH ((127 + WEIGHT_HIGHEST) * 256) /* n */
#define WEIGHT_MAGIC (0x1p24f - WEIGHT_TOO_HIGH)       /* its bits and n are those of the sum */
/* The sign and the bits of the exponent that are 0 from 2^23 to 2^24.  None is set in 0, nor in sums of scores from
 * 32,760 below m up to where n reaches WEIGHT_TOO_HIGH.  Farther below some may be, though the weight is 0. */
#define WEIGHT_ODD 0xb4800000u
#define WEIGHT_LEAST 0x1p23f     /* a sum that gives a weight of 0 and flags nothing */
#define WEIGHT_LARGEST_M 0x1p22f /* above it the addend would be rounded */
#define WEIGHT_ERROR \
    2.01 /* that of O at most, beside the two roundings of a P and an O in bfloat16 */
#define WEIGHT_MEAN -1.7e-5 /* relative error, on average over f with the weight's size */

/* 256 (1 + f - 2^f) for f = i / 64 and what is above it, rounded so that the mean square error of step 3 is
 * least. */
static const uint8_t weight_table[64] __attribute__((aligned(64))) = {
    1,  2,  3,  5,  5,  7,  8,  9,  10, 11, 11, 13, 13, 14, 15, 16, 16, 17, 18, 18, 19, 19,
    20, 20, 21, 21, 21, 22, 22, 22, 22, 22, 22, 23, 23, 22, 22, 22, 22, 22, 22, 21, 21, 20,
    20, 20, 19, 18, 18, 17, 16, 16, 14, 14, 13, 12, 10, 10, 8,  7,  6,  4,  3,  2};

/* The addend of step 1 for |m| <= WEIGHT_LARGEST_M, or for an m of -INFINITY: there any score shows as too
 * high. */
static inline float weight_bias(float m)
{
    return m == -INFINITY ? 0x1p100f : (WEIGHT_ABOVE - m) * WEIGHT_UNIT + WEIGHT_MAGIC;
}

#ifdef ATTN_TILES_EMULATED

struct weigh_flags {
    uint32_t odd; /* sums of step 1, or-ed */
    vf square;    /* the largest of a product whose score is capped */
};

struct weigh_constants {
    struct factors by;
};

VF_INLINE struct weigh_constants weigh_constants_of(const struct weigh_factors *f)
{
    return (struct weigh_constants){factors_of(f)};
}

static inline struct weigh_flags weigh_no_flags(void)
{
    return (struct weigh_flags){0, vf_set1(0)};
}

static inline void weigh_flag(struct weigh_flags *flags, vi x)
{
    flags->odd |= vi_any(x) ? WEIGHT_ODD : 0;
}

static inline bool weigh_flagged(struct weigh_flags flags)
{
    return flags.odd & WEIGHT_ODD;
}

/* Products of a strip as terms of n: their weights' n are x times factor and the row's bias. */
VF_INLINE void change_strip(const float *scores, const enum weigh_kind kind, uint32_t seen,
                            const struct row_change *change, const struct weigh_constants *c,
                            float *x, float *factor, struct weigh_flags *flags)
{
    for (int i = 0; i < STRIP_KEYS; i += VF_LANES) {
        const vu bits = (vu)vf_set1(0) + seen;
        const vi shown = (vi)((bits >> (vu)(vi_lanes() + i) & 1) != 0);
        const struct changed to = change_products(vf_load(scores + i), kind, change, i, &c->by);
        vf_store(x + i, to.x);
        vf_store(factor + i, to.factor);
        flags->square = vf_max(vf_select(shown, to.square, vf_set1(0)), flags->square);
    }
}

VF_INLINE void weigh_row(const float *scores, const enum weigh_kind kind, const uint32_t *bits,
                         const struct row_change *change, const struct weigh_constants *c,
                         float bias, uint16_t *weights, struct weigh_flags *flags)
{
    const uint32_t seen = kind == WEIGH_ALL ? ~0u : *bits;
    float x[STRIP_KEYS], factor[STRIP_KEYS];
    change_strip(scores, kind, seen, change, c, x, factor, flags);
    for (int w = 0; w < STRIP_KEYS; w++) {
        const int key = WEIGHT_KEY(w);
        float y =
            !(seen >> key & 1) ? 0 : (float)((double)x[key] * (double)factor[key] + (double)bias);
        if (kind >= WEIGH_BIAS && y < WEIGHT_LEAST)
            y = WEIGHT_LEAST;
        const int64_t above = (int64_t)(int32_t)attn_float_bits(y) - attn_float_bits(WEIGHT_MAGIC);
        const int32_t n = above < 0 ? 0 : above > 65535 ? 65535 : (int32_t)above;
        const int32_t less = n - weight_table[n >> 2 & 63];
        weights[w] = (uint16_t)(((less < 0 ? 0 : less) + 1) >> 1);
        flags->odd |= attn_float_bits(y);
    }
}

#else

struct weigh_flags {
    __m512i odd; /* sums of step 1, or-ed */
    vf square;   /* the largest of a product whose score is capped */
};

/* Operands that stay in registers: GCC would make them anew for each row, on the port that has the most to
 * do. */
struct weigh_constants {
    struct factors by;
    __m512i magic, table, zero;
    vf least;
};

/* Flags a row of which some lane of x is set. */
VF_INLINE void weigh_flag(struct weigh_flags *flags, vi x)
{
    flags->odd = _mm512_or_si512(flags->odd, (__m512i)x);
}

VF_INLINE struct weigh_constants weigh_constants_of(const struct weigh_factors *f)
{
    struct weigh_constants c = {factors_of(f), (__m512i)vf_set1(WEIGHT_MAGIC),
                                _mm512_load_si512(weight_table), _mm512_setzero_si512(),
                                vf_set1(WEIGHT_LEAST)};
    __asm__("" : "+v"(c.by.unit), "+v"(c.magic), "+v"(c.table), "+v"(c.zero));
    __asm__(""
            : "+v"(c.by.cap[0]), "+v"(c.by.cap[1]), "+v"(c.by.cap[2]), "+v"(c.by.scale),
              "+v"(c.least));
    return c;
}

VF_INLINE struct weigh_flags weigh_no_flags(void)
{
    return (struct weigh_flags){_mm512_setzero_si512(), vf_set1(0)};
}

VF_INLINE bool weigh_flagged(struct weigh_flags flags)
{
    return _mm512_test_epi32_mask(flags.odd, _mm512_set1_epi32((int)WEIGHT_ODD));
}

/* 16 products as y of step 1. */
VF_INLINE __m512i weigh_half(const float *scores, const enum weigh_kind kind, __mmask16 seen,
                             const struct row_change *change, int key,
                             const struct weigh_constants *c, vf plus, struct weigh_flags *flags)
{
    const struct changed to = change_products(vf_load(scores), kind, change, key, &c->by);
    if (kind == WEIGH_CAPPED)
        flags->square = _mm512_mask_max_ps(flags->square, seen, flags->square, to.square);
    const __m512 y = kind == WEIGH_ALL ? _mm512_fmadd_ps(to.x, to.factor, plus)
                                       : _mm512_maskz_fmadd_ps(seen, to.x, to.factor, plus);
    return (__m512i)(kind >= WEIGH_BIAS ? _mm512_max_ps(c->least, y) : y); /* the second if NaN */
}

/* One row of a strip: 32 scores to 32 weights.  Halves of `seen` are loaded: shifted, they would take turns of the
 * ports that compute weights. */
VF_INLINE void weigh_row(const float *scores, const enum weigh_kind kind, const uint32_t *seen,
                         const struct row_change *change, const struct weigh_constants *c,
                         float bias, uint16_t *weights, struct weigh_flags *flags)
{
    const vf plus = vf_set1(bias);
    __mmask16 low = 0, high = 0;
    if (kind != WEIGH_ALL) {
        memcpy(&low, seen, sizeof low);
        memcpy(&high, (const char *)seen + sizeof low, sizeof high);
    }
    const __m512i y0 = weigh_half(scores, kind, low, change, 0, c, plus, flags);
    const __m512i y1 = weigh_half(scores + 16, kind, high, change, 16, c, plus, flags);
    const __m512i n =
        _mm512_packus_epi32(_mm512_sub_epi32(y0, c->magic), _mm512_sub_epi32(y1, c->magic));
    const __m512i less =
        _mm512_maskz_permutexvar_epi8(0x5555555555555555u, _mm512_srli_epi16(n, 2), c->table);
    const __m512i w = _mm512_avg_epu16(_mm512_subs_epu16(n, less), c->zero);
    _mm512_store_si512(weights, w);
    flags->odd = _mm512_ternarylogic_epi32(flags->odd, y0, y1, 0xfe); /* the three of them or-ed */
}

#endif
