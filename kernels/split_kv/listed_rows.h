/*
 * listed_rows.h: part of kernel split_kv: the two products with rows of K and V that lie wherever a list names
 * them, read in place.
 *
 * In the place of rows the functions have their addresses, one after the other.  Beside each line that is
 * multiplied a line is fetched of the row whose address is cursor.far bytes further on: beside K the values of
 * the same keys, beside V the keys of the next block.  So few misses are outstanding at a time, none is waited
 * for, and each has the products of a block to arrive in.  In a burst of a block's rows most would wait for one
 * of the few buffers of L1 misses, and the products for them.
 *
 * Sums are made in the same order as in scores.h and values.h, and have the same bits.
 */
#ifndef ATTN_SPLIT_KV_LISTED_ROWS_H
#define ATTN_SPLIT_KV_LISTED_ROWS_H

#include "values.h"

typedef const char *const *addresses;

VF_INLINE addresses addresses_of(const char *data)
{
    return (addresses)(const void *)data;
}

/* An address from memory, in a general register: left to itself GCC 12 loads several as a vector, and keeps
 * some there. */
VF_INLINE const char *address_at(addresses rows, ptrdiff_t i)
{
    const char *row = rows[i];
    __asm__("" : "+r"(row));
    return row;
}

/* ---- scores --------------------------------------------------------------------------------- */

/* sum[key][row] += the step of K at byte `at` of its rows times Q; lines of the rows `later` are fetched. */
VF_INLINE void listed_dots_step(const enum format format, const int r, const int abreast, vf *sum,
                                const float *q, const char *const row[], const char *const later[],
                                ptrdiff_t at, int tail)
{
    const int w = FORMAT_K_VECTORS(format);
#pragma GCC unroll 4
    for (int j = 0; j < abreast; j++) {
        vf kv[2];
        load_k(format, tail, row[j] + at, kv);
        __builtin_prefetch(later[j] + at, 0, 3);
#pragma GCC unroll 2
        for (int u = 0; u < w; u++)
#pragma GCC unroll 4
            for (int h = 0; h < r; h++)
                sum[j * r + h] =
                    multiply(format, vf_load(q + (h * w + u) * VF_LANES), kv[u], sum[j * r + h]);
    }
}

/* sum[key][row] = K times Q, for `abreast` keys and r rows. */
VF_INLINE void listed_dots_abreast(const enum format format, const int r, const int abreast,
                                   vf *sum, const float *q, addresses k, ptrdiff_t far,
                                   const struct axis *axis)
{
    const int step = r * FORMAT_K_VECTORS(format) * VF_LANES;
    const addresses next = addresses_of((const char *)k + far);
    const char *row[KEYS_ABREAST], *later[KEYS_ABREAST];
#pragma GCC unroll 4
    for (int j = 0; j < abreast; j++) {
        row[j] = address_at(k, j);
        later[j] = address_at(next, j);
    }
#pragma GCC unroll 16
    for (int i = 0; i < abreast * r; i++)
        sum[i] = (vf){0};
    const ptrdiff_t full = axis->full * FORMAT_STEP(format);
    ptrdiff_t at = 0;
#pragma GCC unroll 1
    for (; at < full; at += FORMAT_STEP(format), q += step) {
        __asm__("" : "+r"(at)); /* one distance for all rows, not a pointer for each */
        listed_dots_step(format, r, abreast, sum, q, row, later, at, 0);
    }
    if (axis->tail)
        listed_dots_step(format, r, abreast, sum, q, row, later, at, axis->tail);
}

/* Scores of GROUP_KEYS keys, in lane key * r + row, of up to four rows. */
VF_INLINE void listed_dots_of_few(const enum format format, const int r, vf *s, const float *q,
                                  addresses k, ptrdiff_t far, const struct axis *axis)
{
    const int keys = DOTS_TOGETHER ? KEYS_ABREAST : VF_LANES / r, vectors = keys * r / VF_LANES;
    const int abreast = keys < KEYS_ABREAST ? keys : KEYS_ABREAST;
#pragma GCC unroll 1
    for (int i = 0; i < GROUP_KEYS; i += keys, k += keys, s += vectors) {
        vf sum[4 * VF_LANES];
#pragma GCC unroll 16
        for (int j = 0; j < keys; j += abreast)
            listed_dots_abreast(format, r, abreast, sum + j * r, q, k + j, far, axis);
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            s[j] = vf_hsum_each(sum + j * VF_LANES);
    }
}

#if VF_LANES == 2 * LANE_ROWS
/* The same of eight rows. */
VF_INLINE void listed_dots_of_eight(const enum format format, vf *s, const float *q, addresses k,
                                    ptrdiff_t far, const struct axis *axis)
{
    const int w = PIECE_VECTORS(format);
    const ptrdiff_t end = axis->bytes / PIECE_BYTES * PIECE_BYTES;
    const size_t tail = (size_t)(axis->bytes % PIECE_BYTES);
#pragma GCC unroll 1
    for (int i = 0; i < GROUP_KEYS; i += PIECE_KEYS, k += PIECE_KEYS, s += PIECE_KEYS / 2) {
        addresses next = addresses_of((const char *)k + far);
        __asm__("" : "+r"(next));
        const float *piece = q;
        const char *key[PIECE_KEYS];
        vf sum[PIECE_KEYS];
#pragma GCC unroll 8
        for (int j = 0; j < PIECE_KEYS; j++) {
            key[j] = address_at(k, j);
            sum[j] = (vf){0};
        }
#pragma GCC unroll 1
        for (ptrdiff_t at = 0; at < end; at += PIECE_BYTES, piece += w * VF_LANES) {
            piece_step(format, sum, piece,
                       (const char *const[]){key[0] + at, key[1] + at, key[2] + at, key[3] + at,
                                             key[4] + at, key[5] + at, key[6] + at, key[7] + at});
            __builtin_prefetch(next[at / PIECE_BYTES % PIECE_KEYS] + at, 0, 3);
        }
        if (tail) {
            char pieces[PIECE_KEYS][PIECE_BYTES] = {{0}};
            for (int j = 0; j < PIECE_KEYS; j++)
                key[j] = memcpy(pieces[j], key[j] + end, tail);
            piece_step(format, sum, piece, key);
        }
#pragma GCC unroll 4
        for (int j = 0; j < PIECE_KEYS / 2; j++)
            s[j] = add_pieces(sum[2 * j], sum[2 * j + 1]);
    }
}
#endif

VF_INLINE void listed_dots(const enum format format, const int r, vf *s, const float *q,
                           struct rows k, const struct axis *axis, const struct cursor *next)
{
#if VF_LANES == 2 * LANE_ROWS
    if (r == LANE_ROWS) {
        listed_dots_of_eight(format, s, q, addresses_of(k.data), next->far, axis);
        return;
    }
#endif
    listed_dots_of_few(format, r, s, q, addresses_of(k.data), next->far, axis);
}

/* ---- values --------------------------------------------------------------------------------- */

/* a[r rows][c steps][vectors of a step] += p[r] times the steps at v; those at `later` are fetched. */
VF_INLINE void listed_value_step(const enum format format, const int r, const int c, int tail,
                                 vf *a, const float *p, const char *v, const char *later)
{
    const int w = FORMAT_VECTORS(format);
    vf pj[MOST_ROWS];
#pragma GCC unroll 8
    for (int h = 0; h < r; h++)
        pj[h] = vf_set1(p[h]);
#if VF_FACTOR_IN_LANE
    if (r == VF_FACTORS)
        weights_in_lanes(pj, p);
#endif
#pragma GCC unroll 16
    for (int x = 0; x < c; x++) {
        vf vx[2];
        widen_step(format, tail, v + x * FORMAT_STEP(format), vx);
        if (FORMAT_FETCHES(format, x))
            __builtin_prefetch(later + x * FORMAT_STEP(format), 0, 3);
#pragma GCC unroll 2
        for (int u = 0; u < w; u++)
#pragma GCC unroll 8
            for (int h = 0; h < r; h++)
                a[(h * c + x) * w + u] = vf_fma(pj[h], vx[u], a[(h * c + x) * w + u]);
    }
}

#if BF16_PAIRS
/* The same of two keys. */
VF_INLINE void listed_pair_step(const enum format format, const int r, const int c, int tail, vf *a,
                                const float *p, const char *v, const char *w, const char *later_v,
                                const char *later_w)
{
    const int n = FORMAT_VECTORS(format);
    vi pj[LANE_ROWS];
#pragma GCC unroll 8
    for (int h = 0; h < r; h++)
        pj[h] = (vi)vf_broadcast(p + h);
#pragma GCC unroll 8
    for (int x = 0; x < c; x++) {
        const ptrdiff_t at = x * VF_BYTES;
        vi both[4];
        join_values(format, load_v(tail, v + at), load_v(tail, w + at), both);
        __builtin_prefetch(later_v + at, 0, 3);
        __builtin_prefetch(later_w + at, 0, 3);
#pragma GCC unroll 8
        for (int h = 0; h < r; h++)
#pragma GCC unroll 4
            for (int u = 0; u < n; u++)
                a[(h * c + x) * n + u] = bf16_dot(pj[h], both[u], a[(h * c + x) * n + u]);
    }
}
#endif

/* Steps [x, x + c) of O of r rows += P V over `keys` keys, a multiple of two. */
VF_INLINE void listed_add(const enum format format, const int r, const int c, int tail, ptrdiff_t x,
                          const struct tile *t, addresses v, ptrdiff_t far, int keys)
{
    const int n = FORMAT_VECTORS(format) * c;
    const ptrdiff_t at = x * FORMAT_STEP(format);
    const addresses next = addresses_of((const char *)v + far);
    float *const o = t->o + x * FORMAT_VECTORS(format) * VF_LANES;
    const float *p = t->p;
    vf a[16];
    load_sums(r, n, a, o, t->o_floats);
#pragma GCC unroll 1
    for (int j = 0; j < keys; p += r) {
#if BF16_PAIRS
        if (FORMAT_PAIRS(format)) {
            listed_pair_step(format, r, c, tail, a, p, v[j] + at, v[j + 1] + at, next[j] + at,
                             next[j + 1] + at);
            j += 2;
            continue;
        }
#endif
        listed_value_step(format, r, c, tail, a, p, v[j] + at, next[j] + at);
        j++;
    }
    store_sums(r, n, a, o, t->o_floats);
}

/* O += P V for the rows of t over `keys` keys. */
VF_INLINE void listed_values(const enum format format, const int r, const struct tile *t, int keys,
                             struct rows v, const struct axis *axis, const struct cursor *next)
{
    const addresses row = addresses_of(v.data);
    const int w = FORMAT_VECTORS(format);
    const int accumulators = VF_REGISTERS == 32 && r > 1 ? 16 : 8;
    const int c = r * w < accumulators ? accumulators / (r * w) : 1;
    ptrdiff_t x = 0;
#pragma GCC unroll 1
    for (; x + c <= axis->full; x += c)
        listed_add(format, r, c, 0, x, t, row, next->far, keys);
#pragma GCC unroll 1
    for (; x < axis->steps; x++)
        listed_add(format, r, 1, x < axis->full ? 0 : axis->tail, x, t, row, next->far, keys);
}

/* ---- one function for each format and height of a tile -------------------------------------- */

#define LISTED(name, format, r)                                                                   \
    VF_NOINLINE void listed_##name(vf *s, const float *q, struct rows k, const struct axis *axis, \
                                   struct cursor *next)                                           \
    {                                                                                             \
        listed_dots(format, r, s, q, k, axis, next);                                              \
    }                                                                                             \
    VF_NOINLINE void listed_values_##name(const struct tile *t, int row, int from, int to,        \
                                          struct rows v, const struct axis *axis,                 \
                                          struct cursor *next)                                    \
    {                                                                                             \
        assert(row == 0 && from == 0);                                                            \
        (void)row, (void)from;                                                                    \
        listed_values(format, r, t, to, v, axis, next);                                           \
    }
#define LISTED_OF_FEW(name, format) \
    LISTED(name##_1, format, 1)     \
    LISTED(name##_2, format, 2)     \
    LISTED(name##_4, format, 4)
#if TAKES_F32
LISTED_OF_FEW(f32, FORMAT_F32)
OF_EIGHT_ROWS(LISTED(f32_8, FORMAT_F32, 8))
#endif
#if TAKES_BF16
LISTED_OF_FEW(bf16, FORMAT_BF16)
OF_EIGHT_ROWS(LISTED(bf16_8, FORMAT_BF16, 8))
#endif
#if TAKES_F16
LISTED_OF_FEW(f16, FORMAT_F16)
#endif
LISTED_OF_FEW(i8, FORMAT_I8)
LISTED_OF_FEW(f8e4m3, FORMAT_F8E4M3)
LISTED_OF_FEW(f8e5m2, FORMAT_F8E5M2)

/* By format and height; as in struct arithmetic. */
static const struct products {
    void (*dots)(vf *s, const float *q, struct rows k, const struct axis *axis,
                 struct cursor *next);
    void (*values)(const struct tile *t, int row, int from, int to, struct rows v,
                   const struct axis *axis, struct cursor *next);
} listed_products[][MOST_ROWS + 1] = {
#define EACH_LISTED(name)                   \
    {                                       \
        listed_##name, listed_values_##name \
    }
#define LISTED_PRODUCTS(name) \
    [1] = EACH_LISTED(name##_1), [2] = EACH_LISTED(name##_2), [4] = EACH_LISTED(name##_4)
#if TAKES_F32
    [FORMAT_F32] = {LISTED_PRODUCTS(f32), OF_EIGHT_ROWS([8] = EACH_LISTED(f32_8))},
#endif
#if TAKES_BF16
    [FORMAT_BF16] = {LISTED_PRODUCTS(bf16), OF_EIGHT_ROWS([8] = EACH_LISTED(bf16_8))},
#endif
#if TAKES_F16
    [FORMAT_F16] = {LISTED_PRODUCTS(f16)},
#endif
    [FORMAT_I8] = {LISTED_PRODUCTS(i8)},
    [FORMAT_F8E4M3] = {LISTED_PRODUCTS(f8e4m3)},
    [FORMAT_F8E5M2] = {LISTED_PRODUCTS(f8e5m2)},
};

#endif
