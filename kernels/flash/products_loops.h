/*
 * products_loops.h: part of kernel flash: register tiles of scores, weights and results, in any arithmetic.
 *
 * Of products_f32.h, products_bf16.h and matrices.h it takes weights_of(), which makes weights of up to PAIR
 * rows of scores.  The loops of both products are not those of matrices.h, whose instruction multiplies
 * matrices; of the two others they take what a step of PAIR elements is:
 *
 *   value_element                         of V, as it is multiplied
 *   broadcast_key, broadcast_value        PAIR elements in each lane
 *   load_query, multiply_add              a vector of queries; a product added to a sum
 *   VALUE_ROW                             elements from the values of one step to those of the next
 *   SCALES_SCORES                         whether scores take the scale that queries have elsewhere
 */
#pragma once

#include "maximum.h"
#include "register_sums.h"

/* ---- weights = 2^scores ---------------------------------------------------------------------- */

VF_INLINE void exponentials(const int cols, const enum exponent kind, float *s, int keys,
                            const vf *shift, float unit, vf *l)
{
    vf sum[FLASH_COLS];
    VF_UNROLL
    for (int c = 0; c < cols; c++)
        sum[c] = vf_set1(0);
#if VF_FACTOR_IN_LANE /* storing weights might change it in memory, for all the compiler knows */
    vf held[FLASH_COLS];
    memcpy(held, shift, (size_t)cols * sizeof *held);
    shift = held;
#endif
    const float *const end = s + keys / PAIR * PAIR * FLASH_TILE;
    for (; s < end; s += PAIR * FLASH_TILE) {
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            sum[c] += weights_of(kind, PAIR, s + c * VF_LANES, shift + c, unit);
    }
    VF_UNROLL
    for (int c = 0; c < cols; c++) {
        if (keys % PAIR)
            sum[c] += weights_of(kind, keys % PAIR, s + c * VF_LANES, shift + c, unit);
        l[c] += sum[c];
    }
}

#if !BF16_MATRICES

/* An address as it is: else GCC keeps another in a register for each row of each step. */
#define HIDE(address) __asm__("" : "+r"(address))

/* ---- scores = K Q^T -------------------------------------------------------------------------- */

/* One step of the product: PAIR dimensions of `rows` keys times vectors of queries. */
VF_INLINE void score_step(const int rows, const int cols, const key_element *k, ptrdiff_t k_stride,
                          const float *q, vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    vf b[FLASH_COLS];
    VF_UNROLL
    for (int c = 0; c < cols; c++)
        b[c] = load_query(q + c * VF_LANES);
    VF_UNROLL
    for (int r = 0; r < rows; r++) {
        const vf x = broadcast_key(k + r * k_stride);
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            acc[r][c] = multiply_add(x, b[c], acc[r][c]);
    }
}

VF_INLINE void score_sums(const int rows, const int cols, const struct score_args *a,
                          vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    const key_element *k = a->k;
    const float *q = a->q;
#if VF_FACTOR_IN_LANE
    const int whole = a->dim / KEY_FACTORS * KEY_FACTORS;
    score_fours(rows, cols, a, whole, acc);
    k += whole; /* from the start: GCC 12 would count how often the loop ran */
    q += whole * FLASH_TILE;
#else
    if (FLASH_DIRECT)
        start_sums(rows, cols, a->start, acc);
    else
        clear_sums(rows, cols, acc);
#endif
    const key_element *const end = (const key_element *)a->k + PAIR * a->dim;
    struct fetch fetch = a->fetch;
    for (; FLASH_DIRECT && k < end; k++, q += 2 * FLASH_TILE) {
        score_step(rows, cols, k, a->k_stride, q, acc);
        if (++k == end) /* not another loop for what is left: GCC copies sums between two */
            break;
        HIDE(k);
        score_step(rows, cols, k, a->k_stride, q + FLASH_TILE, acc);
        fetch_next(&fetch);
    }
    if (!FLASH_DIRECT)
        for (; k < end; k += PAIR, q += FLASH_TILE)
            score_step(rows, cols, k, a->k_stride, q, acc);
    if (SCALES_SCORES)
        scale_scores(rows, cols, a->scale, acc);
}

VF_INLINE void score_tile(const int rows, const int cols, struct score_args a)
{
    vf acc[FLASH_HIGHEST][FLASH_COLS];
    score_sums(rows, cols, &a, acc);
    store_scores(rows, cols, &a.to, acc);
}

#if FLASH_SPECULATES && !VF_FACTOR_IN_LANE
/* Only three of an exponential's instructions need a multiplier; the others use units that are idle while
 * the product keeps the multipliers busy, if they are spread thinly. */
VF_INLINE void score_and_exp(struct score_args a, vf sum[FLASH_COLS])
{
    vf acc[FLASH_HIGHEST][FLASH_COLS];
    clear_sums(FLASH_ROWS, FLASH_COLS, acc);
    const ptrdiff_t each = PAIR * (a.dim / (FLASH_ROWS / PAIR * FLASH_COLS));
    const key_element *k = a.k, *end = k;
    const float *q = a.q;
    for (float *p = a.to.s - FLASH_ROWS * FLASH_TILE; p < a.to.s; p += PAIR * FLASH_TILE) {
        VF_UNROLL
        for (int c = 0; c < FLASH_COLS; c++) {
            sum[c] += weights_of(EXPONENT_READY, PAIR, p + c * VF_LANES, sum, 1);
            for (end += each; k < end; k += PAIR, q += FLASH_TILE)
                score_step(FLASH_ROWS, FLASH_COLS, k, a.k_stride, q, acc);
        }
    }
    for (end = (const key_element *)a.k + PAIR * a.dim; k < end; k += PAIR, q += FLASH_TILE)
        score_step(FLASH_ROWS, FLASH_COLS, k, a.k_stride, q, acc);
    if (SCALES_SCORES)
        scale_scores(FLASH_ROWS, FLASH_COLS, a.scale, acc);
    store_scores(FLASH_ROWS, FLASH_COLS, &a.to, acc);
}
#endif

#if FLASH_DIRECT
/* Sums less m become weights, those of keys that a lane does not see 0. */
VF_INLINE void make_weights(const int rows, const int cols, const bool masked,
                            const struct weigh_args *a, vf x[FLASH_HIGHEST][FLASH_COLS])
{
    vf sum[FLASH_COLS], all = {0};
    float *const s = a->scores.to.s;
    VF_UNROLL
    for (int c = 0; c < cols; c++) {
        VF_UNROLL
        for (int r = 0; r < rows; r++) {
            vf p = exp2_scaled(masked ? vf_product(x[r][c])
                                      : x[r][c]); /* else GCC makes all parts of it for both */
            if (masked)
                p = (vf)((vi)p & seeing_lanes(&a->lanes[c], a->row + r));
            vf_store(s + r * FLASH_TILE + c * VF_LANES, p);
            sum[c] = r ? sum[c] + p : p;
        }
        all = c ? all + sum[c] : sum[c];
    }
    *a->fit = !vi_any(~(vi)(all <= vf_set1(WEIGHTS_LIMIT * (float)rows))); /* NaN does not fit */
    if (!*a->fit)
        return;
    VF_UNROLL
    for (int c = 0; c < cols; c++)
        a->l[c] += sum[c];
}

VF_INLINE void weigh_tile(const int rows, const int cols, struct weigh_args a)
{
    vf x[FLASH_HIGHEST][FLASH_COLS];
    score_sums(rows, cols, &a.scores, x);
    if (a.lanes)
        make_weights(rows, cols, true, &a, x);
    else
        make_weights(rows, cols, false, &a, x);
}
#endif

/* ---- results += V^T weights ------------------------------------------------------------------ */

/* What PAIR keys add to `rows` value dimensions for `cols` vectors of queries. */
VF_INLINE void value_step(const int rows, const int cols, const value_element *v, const float *p,
                          vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    vf b[FLASH_COLS];
    VF_UNROLL
    for (int c = 0; c < cols; c++)
        b[c] = vf_load(p + c * VF_LANES);
#if VF_FACTOR_IN_LANE
    if (rows % VF_FACTORS == 0) {
        value_lanes(rows, cols, v, b, acc);
        return;
    }
#endif
    VF_UNROLL
    for (int r = 0; r < rows; r++) {
        const vf x = broadcast_value(v + PAIR * r);
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            acc[r][c] = multiply_add(x, b[c], acc[r][c]);
    }
}

VF_INLINE void value_tile(const int rows, const int cols, struct value_args a)
{
    vf acc[FLASH_HIGHEST][FLASH_COLS];
    clear_sums(rows, cols, acc);
    const value_element *v = a.v;
    const float *p = a.p, *const end = p + a.steps * PAIR * FLASH_TILE;
#if VF_FACTOR_IN_LANE
    for (; end - p >= 4 * FLASH_TILE;
         p += 4 * FLASH_TILE, v += 4 * a.v_stride) { /* lanes.h says why */
        value_step(rows, cols, v, p, acc);
        value_step(rows, cols, v + a.v_stride, p + FLASH_TILE, acc);
        value_step(rows, cols, v + 2 * a.v_stride, p + 2 * FLASH_TILE, acc);
        value_step(rows, cols, v + 3 * a.v_stride, p + 3 * FLASH_TILE, acc);
    }
#endif
    for (; FLASH_DIRECT && p < end; p += FLASH_TILE, v += a.v_stride) {
        value_step(rows, cols, v, p, acc);
        v += a.v_stride;
        if ((p += FLASH_TILE) == end)
            break;
        HIDE(v);
        value_step(rows, cols, v, p, acc);
        fetch_next(&a.fetch);
    }
    if (!FLASH_DIRECT)
        for (; p < end; p += PAIR * FLASH_TILE, v += VALUE_ROW(a))
            value_step(rows, cols, v, p, acc);
    add_results(rows, cols, &a, acc);
}

#endif
