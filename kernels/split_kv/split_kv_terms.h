/*
 * split_kv_terms.h: part of kernel split_kv: terms of a score besides Q K^T.
 *
 *     softcap(scale * k_factor * q . k) + slope * (j - at) + bias          weights times v_factor
 *
 * Such scores are natural, without a factor log2(e), which would make a bias near the largest float
 * infinite.  Before a block is computed, the terms of its keys are copied into the order of P: [key][row].
 */
#pragma once

#include "unit.h"

/* Lane i of the result is lane i / rows of x; rows is 1, 2, 4 or 8. */
static inline vf spread_lanes(vf x, int rows)
{
#define SPREAD_FROM(lane, rows) ((lane) / (rows))
#define SPREAD_BY(rows) __builtin_shufflevector(x, x, VF_EACH(SPREAD_FROM, rows))
    return rows == 1 ? x : rows == 2 ? SPREAD_BY(2) : rows == 4 ? SPREAD_BY(4) : SPREAD_BY(8);
}

/* to[key][row] = unit * x[key] for each of `rows` rows and keys [0, n), 0 for keys [n, keys).  Each store is
 * a whole vector, whose surplus lanes the next one overwrites. */
static inline void spread(const float *x, ptrdiff_t stride, float unit, int n, int keys, int rows,
                          float *to)
{
    const int each = VF_LANES / rows; /* keys of a vector */
    if (stride == 1 && rows <= LANE_ROWS && each > 1) {
        for (int key = 0; key < keys; key += each) {
            const int left = key < n ? n - key : 0;
            const vf some = vf_load_partial(x + key, (size_t)(left < each ? left : each));
            vf_store(to + key * rows, spread_lanes(some * unit, rows));
        }
        return;
    }
    for (int key = 0; key < n; key++)
        vf_store(to + key * rows, vf_set1(x[key * stride] * unit));
    for (int key = n; key < keys; key++)
        vf_store(to + key * rows, (vf){0});
}

/* n elements as floats: in place, or widened into `buffer`. */
static const float *floats_of(enum attn_dtype dtype, const char *p, int n, float *buffer)
{
    if (dtype == ATTN_F32)
        return (const float *)p;
    for (int i = 0; i < n; i += VF_LANES) {
        const size_t some = n - i < VF_LANES ? (size_t)(n - i) : VF_LANES;
        vf_store(buffer + i, vf_load_elements(dtype, p + 2 * i, some));
    }
    return buffer;
}

/* Spreads the bias of the tile's rows for keys [j, j + n). */
static void spread_bias(const struct unit *u, int row, int rows, ptrdiff_t j, int n, int keys,
                        float *to)
{
    const struct view *view = u->view + row;
    const enum attn_dtype dtype = u->t->bias.dtype;
    const ptrdiff_t at = j * (ptrdiff_t)attn_dtype_size(dtype);
    float buffer[BLOCK_KEYS];
    const float *x = floats_of(dtype, view[0].bias + at, n, buffer);
    spread(x, 1, 1, n, keys, rows, to);
    for (int h = 1; h < rows; h++) {
        if (view[h].bias == view[0].bias)
            continue;
        x = floats_of(dtype, view[h].bias + at, n, buffer);
        for (int key = 0; key < n; key++)
            to[key * rows + h] = x[key];
    }
}

/* Spreads the scales of K or V, times `unit`, of keys [j, j + n). */
static void spread_scale(const struct unit *u, const struct attn_tensor *scale, int rows,
                         float unit, ptrdiff_t j, int n, int keys, float *to)
{
    const struct group_block *block = &u->block;
    spread(attn_row_f32(scale, block->b, block->g, block->sequence.kv_first + (size_t)j),
           scale->stride[2], unit, n, keys, rows, to);
}

/* Whether all products of a row's query and a key have one sign and none is 0.  Then their sum times an
 * infinite scale is infinite, as the scaled products' sum is; otherwise that is NaN, as infinities cancel or
 * 0 times infinity is NaN. */
static bool of_one_sign(const struct unit *u, int row, ptrdiff_t key)
{
    const struct attn_tensor *q = &u->t->q, *k = &u->t->k;
    const char *query = unit_row(u, q, row);
    const void *of_key = keys_row(&u->k.keys, k, key);
    size_t above = 0, below = 0, dim = (size_t)u->g->qk.dim;
    for (size_t d = 0; d < dim; d++) {
        const float x = vf_load_elements(q->dtype, query + d * attn_dtype_size(q->dtype), 1)[0] *
                        attn_scaled_element(k->dtype, of_key, d);
        above += x > 0;
        below += x < 0;
    }
    return above == dim || below == dim;
}

/* Makes infinite factors of keys [j, j + n) NaN for rows whose score is NaN. */
VF_NOINLINE void mend_infinite(const struct unit *u, const struct tile *t, int row, ptrdiff_t j,
                               int n, float *factor)
{
    for (int i = 0; i < n * t->rows; i++) {
        const ptrdiff_t at = j + i / t->rows;
        if (isinf(factor[i]) && row + i % t->rows < u->rows &&
            !of_one_sign(u, row + i % t->rows, at))
            factor[i] = NAN;
    }
}

/* ALiBi: the distances of keys from the tile's rows, by lane of the first vector. */
static void place(const struct tile *t, ptrdiff_t j, struct terms *terms)
{
    float apart[VF_LANES];
    for (int lane = 0; lane < VF_LANES; lane++)
        apart[lane] = (float)(j - t->at[lane]);
    terms->alibi = true;
    terms->apart = vf_load(apart);
    terms->slope = vf_load(t->slope);
}

/* The scale of key `at`; 0 if the list names none. */
static float listed_scale(const struct unit *u, const struct attn_tensor *scale, ptrdiff_t at)
{
    const struct group_block *block = &u->block;
    return at < 0 ? 0
                  : *attn_row_f32(scale, block->b, block->g, block->sequence.kv_first + (size_t)at);
}

/* Terms of the keys of a list; the bias includes ALiBi. */
static struct terms terms_listed(const struct unit *u, const struct tile *t, int row, ptrdiff_t j,
                                 int n, int keys)
{
    const struct attn_problem *problem = u->block.problem;
    const ptrdiff_t each = u->g->tile_rows * u->g->block_keys + VF_LANES;
    const enum attn_dtype dtype = u->t->bias.dtype;
    const bool alibi = problem->options & ATTN_OPTION_ALIBI;
    struct terms terms = {0};
    for (int key = 0; key < keys; key++) {
        const ptrdiff_t at = key < n ? u->list[j + key] : -1;
        for (int h = 0; h < t->rows; h++) {
            const char *bias = u->view[row + h].bias;
            float x = alibi && at >= 0 ? t->slope[h] * (float)(at - t->at[h]) : 0;
            if (bias && at >= 0)
                x += vf_load_elements(dtype, bias + at * (ptrdiff_t)attn_dtype_size(dtype), 1)[0];
            u->terms[key * t->rows + h] = x;
        }
    }
    for (int i = 0; FORMAT_SCALED(u->g->format) && i < keys * t->rows; i++) {
        const ptrdiff_t at = i / t->rows < n ? u->list[j + i / t->rows] : -1;
        u->terms[each + i] = listed_scale(u, &u->t->v_scale, at) * values_unit(u);
        u->terms[2 * each + i] = listed_scale(u, &u->t->k_scale, at);
    }
    if (problem->options & ATTN_OPTION_SOFTCAP)
        terms.cap = &u->cap;
    if (alibi || problem->mask & ATTN_MASK_BIAS)
        terms.bias = u->terms;
    if (u->scaling.values && !u->reports)
        terms.v_factor = u->terms + each;
    if (u->scaling.keys) {
        mend_infinite(u, t, row, j, n, u->terms + 2 * each);
        terms.k_factor = u->terms + 2 * each;
    }
    return terms;
}

/* Terms of keys [j, j + n) for the tile whose rows begin at `row`, in arrays of `keys`. */
static struct terms terms_of(const struct unit *u, const struct tile *t, int row, ptrdiff_t j,
                             int n, int keys)
{
    const struct geometry *g = u->g;
    const struct attn_problem *problem = u->block.problem;
    const ptrdiff_t each = g->tile_rows * g->block_keys + VF_LANES;
    struct terms terms = {0};
    if (u->list)
        return terms_listed(u, t, row, j, n, keys);
    if (problem->options & ATTN_OPTION_SOFTCAP)
        terms.cap = &u->cap;
    if (problem->options & ATTN_OPTION_ALIBI)
        place(t, j, &terms);
    if (problem->mask & ATTN_MASK_BIAS) {
        spread_bias(u, row, t->rows, j, n, keys, u->terms);
        terms.bias = u->terms;
    }
    if (u->scaling.values && !u->reports) {
        spread_scale(u, &u->t->v_scale, t->rows, values_unit(u), j, n, keys, u->terms + each);
        terms.v_factor = u->terms + each;
    }
    if (u->scaling.keys) {
        spread_scale(u, &u->t->k_scale, t->rows, 1, j, n, keys, u->terms + 2 * each);
        if (u->infinite)
            mend_infinite(u, t, row, j, n, u->terms + 2 * each);
        terms.k_factor = u->terms + 2 * each;
    }
    return terms;
}
