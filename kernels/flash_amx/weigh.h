/*
 * weigh.h: part of kernel flash for matrix units: a row of scores becomes a row of weights in bfloat16.
 *
 * Beside the products of the matrix unit a core has one port for 512-bit arithmetic, and an exponential in
 * float32 would cost more of its time than the products do at D = 64.  So weights are made as 16-bit
 * integers, twice as many a vector, and directly as the bits of a bfloat16:
 *
 *   1. n = 256 (x - m + 127), rounded, for a score x in base 2 and a whole number m.  One FMA, whose addend
 *      brings in 1.5 * 2^23, leaves n in the low bits; a subtraction and the packing of two vectors saturate
 *      it to 0 .. 65535.
 *   2. As a number of 8 bits of exponent and 8 of fraction f, n stands for (1 + f) 2^e, where 2^(e + f) is
 *      wanted: a table of 64 bytes, read by one instruction, has 256 (1 + f - 2^f), which is subtracted.
 *   3. Half of it, rounded, has 7 bits of fraction: the bits of 2^(x - m) as a bfloat16.
 *
 * Weights are off by at most 1.51 units roundoff of bfloat16 (rounding is 1 of these), by 1.18 times what
 * rounding makes in the mean square, and by -1.7e-5 of themselves on average (WEIGHT_MEAN).  The sum is taken
 * of these weights, so that a common error cancels in O; errors of two weights differ by 3.02 at most.
 *
 * m is chosen from the first scores of a block and is not a maximum: later scores may be above it by up to 8,
 * which is as far as sums of large values allow, and no maximum is looked for.  The largest n tells where one
 * is higher, the sign of the sum that one is NaN or too far below for step 1; then the job is computed again
 * by exactly.h.
 */
#ifndef ATTN_FLASH_AMX_WEIGH_H
#define ATTN_FLASH_AMX_WEIGH_H

#include "pack.h"

#define WEIGHT_UNIT 256.0f       /* of n, for 1 of x */
#define WEIGHT_ABOVE 127.0f      /* m - x where n = 0: the bias of exponents */
#define WEIGHT_MAGIC 0x1.8p23f   /* its bits and n are those of the sum */
#define WEIGHT_HIGHEST 8         /* x - m at most */
#define WEIGHT_LARGEST_M 0x1p22f /* above it the addend would be rounded */
#define WEIGHT_ERROR \
    2.01 /* that of O at most, beside the two roundings of a P and an O in bfloat16 */
#define WEIGHT_MEAN -1.7e-5 /* relative error, on average over f with the weight's size */

#define WEIGHT_TOO_HIGH ((127 + WEIGHT_HIGHEST) * 256) /* n */

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

/* How a job's scores become weights. */
enum weigh_kind {
    WEIGH_ALL,     /* every query sees every key */
    WEIGH_SEEN,    /* bits say who sees what */
    WEIGH_CHANGED, /* likewise, and scores get more than their product */
    WEIGH_SCALED,  /* likewise, and weights get the scales of values */
};

/* The softmax of a job, row after row of its strips. */
struct weighing {
    float *scores[JOB_STRIPS + 1]; /* rows of STRIP_KEYS; behind them NULL, which step() may read */
    const uint32_t (*seen)[BLOCK_ROWS];
    const float *bias;
    const float (*sums_before)[TILE_ROWS];
    float (*sums)[TILE_ROWS];
    uint16_t *weights; /* tiles of A, two a strip */
    float unit;        /* weigh_unit() */
    /* where scores are changed */
    const struct terms *terms;
    ptrdiff_t key[JOB_STRIPS], end; /* first of each strip; where the sequence ends */
    float scale, v_unit;
    const float *k_scale[JOB_STRIPS], *v_scale[JOB_STRIPS]; /* of the keys of each; NULL: none */
    struct prefetch *prefetch;                              /* what is fetched between products */
};

/* Times a product, and times a score where scores are changed, it is one of n. */
static inline float weigh_unit(const struct call *call, const struct block *block)
{
    return call->unit * (call->natural ? 1 : block->scale) * WEIGHT_UNIT;
}

/* Makes the score of a product one of the problem, by the scales of keys and the terms of its row. */
static inline void change_row(float *scores, const struct terms *t, float scale,
                              const float *k_scale, ptrdiff_t key, ptrdiff_t end)
{
    for (int i = 0; i < STRIP_KEYS; i += VF_LANES) {
        vi hidden;
        const ptrdiff_t left = end - key - i;
        const vf of_product = vf_load(scores + i) * vf_set1(scale);
        const vf x = terms_capped(t, k_scale ? of_product * vf_load(k_scale + i) : of_product);
        if (left >= VF_LANES)
            vf_store(scores + i, x + terms_each(t, key + i, VF_LANES, &hidden));
        else if (left > 0)
            vf_store(scores + i, x + terms_each(t, key + i, (size_t)left, &hidden));
    }
}

#ifdef ATTN_TILES_EMULATED

struct weigh_flags {
    uint32_t high, low;
};

struct weigh_constants {
    float unit;
};

static inline struct weigh_constants weigh_constants_of(float unit)
{
    return (struct weigh_constants){unit};
}

static inline struct weigh_flags weigh_no_flags(void)
{
    return (struct weigh_flags){0, 0};
}

static inline void weigh_flag(struct weigh_flags *flags, vi x)
{
    flags->low |= vi_any(x) ? 0x80000000 : 0;
}

static inline bool weigh_flagged(struct weigh_flags flags)
{
    return flags.high >= WEIGHT_TOO_HIGH || flags.low >> 31;
}

VF_INLINE void weigh_row(const float *scores, const bool masked, uint32_t seen,
                         const struct weigh_constants *c, float bias, const float *before,
                         float *after, uint16_t *weights, struct weigh_flags *flags)
{
    for (int w = 0; w < STRIP_KEYS; w++) {
        const int key = WEIGHT_KEY(w);
        const float y = masked && !(seen >> key & 1)
                            ? 0
                            : (float)((double)scores[key] * (double)c->unit + (double)bias);
        const int64_t above = (int64_t)(int32_t)attn_float_bits(y) - attn_float_bits(WEIGHT_MAGIC);
        const int32_t n = above < 0 ? 0 : above > 65535 ? 65535 : (int32_t)above;
        const int32_t less = n - weight_table[n >> 2 & 63];
        weights[w] = (uint16_t)(((less < 0 ? 0 : less) + 1) >> 1);
        flags->high = (uint32_t)n > flags->high ? (uint32_t)n : flags->high;
        flags->low |= attn_float_bits(y);
    }
    for (int i = 0; i < TILE_ROWS; i++)
        after[i] =
            before[i] + (attn_bf16_to_f32(weights[2 * i]) + attn_bf16_to_f32(weights[2 * i + 1]));
}

#else

struct weigh_flags {
    __m512i high, low;
};

/* Operands that stay in registers: GCC would make them anew for each row, on the port that has the most to
 * do. */
struct weigh_constants {
    __m512 unit;
    __m512i magic, table, ones, zero;
};

/* Flags a row of which some lane of x is set. */
VF_INLINE void weigh_flag(struct weigh_flags *flags, vi x)
{
    flags->low = _mm512_or_si512(flags->low, (__m512i)x);
}

VF_INLINE struct weigh_constants weigh_constants_of(float unit)
{
    struct weigh_constants c = {_mm512_set1_ps(unit), _mm512_set1_epi32(0x4b400000),
                                _mm512_load_si512(weight_table), _mm512_set1_epi16(0x3f80),
                                _mm512_setzero_si512()};
    __asm__("" : "+v"(c.unit), "+v"(c.magic), "+v"(c.table), "+v"(c.ones), "+v"(c.zero));
    return c;
}

VF_INLINE struct weigh_flags weigh_no_flags(void)
{
    return (struct weigh_flags){_mm512_setzero_si512(), _mm512_setzero_si512()};
}

VF_INLINE bool weigh_flagged(struct weigh_flags flags)
{
    const __m512i highest = _mm512_set1_epi16((short)WEIGHT_TOO_HIGH);
    return _mm512_cmpge_epu16_mask(flags.high, highest) || _mm512_movepi32_mask(flags.low);
}

/* One row of a strip: 32 scores to 32 weights, whose sums go lane by lane from `before` to `after`. */
VF_INLINE void weigh_row(const float *scores, const bool masked, uint32_t seen,
                         const struct weigh_constants *c, float bias, const float *before,
                         float *after, uint16_t *weights, struct weigh_flags *flags)
{
    const __m512 plus = _mm512_set1_ps(bias);
    const __m512 s0 = _mm512_load_ps(scores), s1 = _mm512_load_ps(scores + 16);
    const __m512i y0 = (__m512i)(masked ? _mm512_maskz_fmadd_ps((__mmask16)seen, s0, c->unit, plus)
                                        : _mm512_fmadd_ps(s0, c->unit, plus));
    const __m512i y1 =
        (__m512i)(masked ? _mm512_maskz_fmadd_ps((__mmask16)(seen >> 16), s1, c->unit, plus)
                         : _mm512_fmadd_ps(s1, c->unit, plus));
    const __m512i n =
        _mm512_packus_epi32(_mm512_sub_epi32(y0, c->magic), _mm512_sub_epi32(y1, c->magic));
    const __m512i less =
        _mm512_maskz_permutexvar_epi8(0x5555555555555555u, _mm512_srli_epi16(n, 2), c->table);
    const __m512i w = _mm512_avg_epu16(_mm512_subs_epu16(n, less), c->zero);
    _mm512_store_si512(weights, w);
    flags->high = _mm512_max_epu16(flags->high, n);
    flags->low = _mm512_ternarylogic_epi32(flags->low, y0, y1, 0xfe); /* the three of them or-ed */
    const __m512 sum = _mm512_load_ps(before);
    _mm512_store_ps(after, _mm512_dpbf16_ps(sum, (__m512bh)w, (__m512bh)c->ones));
}

#endif

#endif
