/*
 * weigh_rows.h: part of kernel flash for matrix units: rows of a job's scores become weights, some at a time.
 *
 * Where each value has a scale (scales.h), the weights that multiply values are not those that are summed,
 * and 16-bit integers cannot be multiplied further without a second rounding: such rows are weighed in
 * float32.
 */
#pragma once

#include "shared/exp2.h"
#include "weigh.h"

/* Weights that take scales of values. */
struct scaled {
    float unit;   /* weigh_unit() */
    float v_unit; /* of packed values */
    const float *v_scale;
};

static const float no_sums[TILE_ROWS] __attribute__((aligned(ATTN_WORKSPACE_ALIGN)));

/* 32 weights in bfloat16, in their order, from those by key. */
VF_INLINE void weights_round(const float x[STRIP_KEYS], uint16_t *weights)
{
#ifdef ATTN_TILES_EMULATED
    for (int w = 0; w < STRIP_KEYS; w++)
        weights[w] = attn_f32_to_bf16(x[WEIGHT_KEY(w)]);
#else
    const __m512i fours = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    const __m512i both = (__m512i)_mm512_cvtne2ps_pbh(vf_load(x + TILE_ROWS), vf_load(x));
    _mm512_store_si512(weights, _mm512_permutexvar_epi64(fours, both));
#endif
}

/* The same as weigh_row() for weights that take scales of values, which are then rounded once: in float32.
 * Their sums without these scales go lane by lane from `before` to `after`.  What is flagged is a score that is
 * NaN or too high, and a weight that is not finite. */
VF_INLINE void weigh_row_scaled(const float *scores, uint32_t seen, const struct scaled *scaled,
                                float bias, const float *before, float *after, uint16_t *weights,
                                struct weigh_flags *flags)
{
    const float less_m = (bias - WEIGHT_MAGIC) / WEIGHT_UNIT - WEIGHT_ABOVE; /* exact */
    const vf unit = vf_set1(scaled->unit / WEIGHT_UNIT), none = vf_set1(0);
    float scaled_weights[STRIP_KEYS] __attribute__((aligned(ATTN_WORKSPACE_ALIGN)));
    for (int i = 0; i < TILE_ROWS; i += VF_LANES) {
        vf sum = vf_load(before + i);
        for (int at = i; at < STRIP_KEYS; at += TILE_ROWS) {
            const vu bits = (vu)none + seen;
            const vi shown = (vi)((bits >> (vu)(vi_lanes() + at) & 1) != 0);
            const vf y = vf_fma(vf_load(scores + at), unit, vf_set1(less_m));
            const vf p = vf_select(shown, exp2_precise(y), none);
            const vf x = p * vf_set1(scaled->v_unit) * vf_load(scaled->v_scale + at);
            const vi fine = (vi)(y < vf_set1(WEIGHT_HIGHEST)) & (vi)(x * none == none);
            weigh_flag(flags, shown & ~fine);
            vf_store(scaled_weights + at, vf_select(shown, x, none));
            sum += p;
        }
        vf_store(after + i, sum);
    }
    weights_round(scaled_weights, weights);
}

/* Some rows of a strip of a job. */
struct weigh_rows {
    float *scores;
    const uint32_t *seen;
    const float *bias;
    float *sums;
    uint16_t *weights;
    int row, strip;
};

/* From row `done` of the job on, 32 a strip. */
VF_INLINE struct weigh_rows weigh_rows_at(const struct weighing *w, unsigned done)
{
    const unsigned strip = done / BLOCK_ROWS, row = done % BLOCK_ROWS;
    return (struct weigh_rows){
        .scores = w->scores[strip] + (size_t)row * STRIP_KEYS,
        .seen = w->seen[strip] + row,
        .bias = w->bias + row,
        .sums = w->sums ? w->sums[row] : NULL,
        .weights = w->weights + (size_t)done * STRIP_KEYS,
        .row = (int)row,
        .strip = (int)strip,
    };
}

/* What changes row i of these. */
VF_INLINE struct row_change weigh_change(const struct weighing *w, const enum weigh_kind kind,
                                         const struct weigh_rows *r, int i)
{
    const struct terms *t = &w->terms[r->row + i];
    if (kind == WEIGH_RAMP)
        return (struct row_change){.offsets = w->offsets[r->strip], .rise = w->rise[r->row + i]};
    if (kind != WEIGH_BIAS)
        return (struct row_change){.offsets = NULL};
    return (struct row_change){.bias = t->bias + w->bias_at[r->strip], .half = w->half};
}

/* Row i of these. */
VF_INLINE void weigh(const struct weighing *w, const enum weigh_kind kind,
                     const struct weigh_rows *r, int i, const struct weigh_constants *c,
                     struct weigh_flags *flags)
{
    const uint32_t seen = kind >= WEIGH_CHANGED ? r->seen[i] : 0;
    const struct row_change change = weigh_change(w, kind, r, i);
    float *scores = r->scores + i * STRIP_KEYS;
    if (kind >= WEIGH_CHANGED && seen)
        change_row(scores, &w->terms[r->row + i], w->scale, w->k_scale[r->strip], w->key[r->strip],
                   w->end);
    if (kind == WEIGH_SCALED) {
        const struct scaled scaled = {w->factors.unit, w->v_unit, w->v_scale[r->strip]};
        float *sums = r->sums + i * TILE_ROWS;
        weigh_row_scaled(scores, seen, &scaled, r->bias[i], r->strip ? sums : no_sums, sums,
                         r->weights + i * STRIP_KEYS, flags);
        return;
    }
    weigh_row(scores, kind, r->seen + i, &change, c, r->bias[i], r->weights + i * STRIP_KEYS,
              flags);
}
