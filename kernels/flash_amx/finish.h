/*
 * finish.h: part of kernel flash for matrix units: what a block writes when its queries have seen their keys.
 *
 * A sink enters last, as a key whose value is 0.
 */
#pragma once

#include "shared/simd_reduce.h"
#include "shared/softmax.h"
#include "multiply.h"

/* One row of results, times `factor`, which is 0 for a row that saw nothing, and times the block's scale of
 * values. */
VF_INLINE void store_row(const struct block *block, int i, float factor, size_t dim, uint16_t *to)
{
    const float scale = block->v_scale;
    const float *o = block->o + (i / TILE_ROWS * 2 * TILE_ROWS + i % TILE_ROWS) * TILE_ROWS;
    for (size_t d = 0; d < dim; d += STEP_DIMS, o += RESULT_FLOATS) {
        const float *right = o + TILE_ROWS * TILE_ROWS;
        uint16_t x[STEP_DIMS] __attribute__((aligned(64)));
#ifdef ATTN_TILES_EMULATED
        for (int c = 0; c < TILE_ROWS; c++) {
            x[RESULT_DIM(0, c)] = attn_f32_to_bf16(o[c] * factor * scale);
            x[RESULT_DIM(1, c)] = attn_f32_to_bf16(right[c] * factor * scale);
        }
#else
        const __m512i fours = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
        const __m512i both = (__m512i)_mm512_cvtne2ps_pbh(vf_load(right) * factor * scale,
                                                          vf_load(o) * factor * scale);
        const __m512i ordered = _mm512_permutexvar_epi64(fours, both);
        if (d + STEP_DIMS <= dim) {
            _mm512_storeu_si512(to + d, ordered);
            continue;
        }
        _mm512_store_si512(x, ordered);
#endif
        memcpy(to + d, x, (dim - d < STEP_DIMS ? dim - d : STEP_DIMS) * sizeof *x);
    }
}

/* One row that saw nothing; `inverse` is NaN if its sink is. */
static void store_none(float inverse, size_t dim, uint16_t *to)
{
    const uint16_t x = attn_f32_to_bf16(0 * inverse);
    for (size_t d = 0; d < dim; d++)
        to[d] = x;
}

/* m of a row for its LSE, in which ALiBi counts from the row's own key (set_rises() in blocks.h). */
static double natural_m(const struct call *call, const struct block *block, int i)
{
    const struct attn_problem *p = call->problem;
    const double m = (double)block->m[i] * (isnan(block->bias[i]) ? (double)call->unit : 1) * M_LN2;
    if (!(p->options & ATTN_OPTION_ALIBI))
        return m;
    const struct attn_sequence *s = &block->rows.sequence;
    const ptrdiff_t at = attn_position(p, (ptrdiff_t)group_query(&block->rows, (size_t)i),
                                       (ptrdiff_t)s->q_len, (ptrdiff_t)s->kv_len);
    return m - (double)block->terms[i].slope * (double)(at - block->terms[i].at);
}

/* The row's LSE, and 1 / l with its sink in block->inverse. */
static void finish_row(const struct call *call, struct block *block, int i, float sum)
{
    const struct attn_problem *p = call->problem;
    const float sink = softmax_sink(p, call->tensors, group_head(&block->rows, (size_t)i));
    double m = natural_m(call, block, i), l = (double)sum;
    if (sink != -INFINITY)
        block->inverse[i] = (float)softmax_add_sink((double)sink, &m, &l);
    if (p->outputs & ATTN_OUTPUT_LSE)
        *group_row_real(&block->rows, &call->tensors->lse, (size_t)i) =
            (float)(m + log(l) - (sink == -INFINITY && !call->v_tokens ? WEIGHT_MEAN : 0));
}

/* Writes a block's results but weights, which need `inverse`. */
VF_NOINLINE void finish_block(const struct call *call, struct block *block)
{
    const struct attn_problem *p = call->problem;
    float sums[BLOCK_ROWS];
    for (int first = 0; first < BLOCK_ROWS; first += VF_LANES) {
        vf lanes[VF_LANES];
        for (int i = 0; i < VF_LANES; i++) {
            const float *l[] = {block->l[0][first + i], block->l[1][first + i]};
            lanes[i] = vf_set1(0);
            for (int at = 0; block->started && at < TILE_ROWS; at += VF_LANES)
                lanes[i] += vf_load(l[0] + at) + vf_load(l[1] + at);
        }
        const vf sum = vf_hsum_each(lanes), one = vf_set1(1);
        const vi none = (vi)(sum == vf_set1(0));
        vf_store(sums + first, sum);
        vf_store(block->inverse + first,
                 vf_select(none, vf_set1(0), one / vf_select(none, one, sum)));
    }
    const bool o = p->outputs & ATTN_OUTPUT_O;
    const struct rows rows = o ? rows_of(&block->rows, &call->tensors->o) : (struct rows){0};
    for (int i = 0; (size_t)i < block->rows.rows; i++) {
        if (p->outputs & ATTN_OUTPUT_LSE || p->options & ATTN_OPTION_SINKS)
            finish_row(call, block, i, sums[i]);
        if (!o)
            continue;
        uint16_t *to = rows_at(&rows, (size_t)i);
        if (block->started)
            store_row(block, i, block->inverse[i] * (call->v_tokens ? 1 : call->v_unit), p->v_dim,
                      to);
        else
            store_none(block->inverse[i], p->v_dim, to);
    }
}
