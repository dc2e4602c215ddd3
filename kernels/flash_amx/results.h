/*
 * results.h: part of kernel flash for matrix units: what a block writes when its queries have seen their keys.
 *
 * A sink enters last, as a key whose value is 0.
 */
#ifndef ATTN_FLASH_AMX_RESULTS_H
#define ATTN_FLASH_AMX_RESULTS_H

#include "multiply.h"
#include "shared/softmax.h"

/* Where value dimension d of row i is among a block's results. */
static inline size_t result_at(int d, int i)
{
    const int tile = i / TILE_ROWS * 2 + d % 8 / 4, column = d % STEP_DIMS / 8 * 4 + d % 4;
    return (size_t)(d / STEP_DIMS * RESULT_FLOATS + (tile * TILE_ROWS + i % TILE_ROWS) * TILE_ROWS +
                    column);
}

/* One row of results, times `factor`, which is 0 for a row that saw nothing. */
VF_INLINE void store_row(const struct block *block, int i, float factor, size_t dim, uint16_t *to)
{
    const float *o = block->o + (i / TILE_ROWS * 2 * TILE_ROWS + i % TILE_ROWS) * TILE_ROWS;
    for (size_t d = 0; d < dim; d += STEP_DIMS, o += RESULT_FLOATS) {
        const float *right = o + TILE_ROWS * TILE_ROWS;
        uint16_t x[STEP_DIMS] __attribute__((aligned(64)));
#ifdef ATTN_TILES_EMULATED
        for (int c = 0; c < TILE_ROWS; c++) {
            x[RESULT_DIM(0, c)] = attn_f32_to_bf16(o[c] * factor);
            x[RESULT_DIM(1, c)] = attn_f32_to_bf16(right[c] * factor);
        }
#else
        const __m512i fours = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
        const __m512i both =
            (__m512i)_mm512_cvtne2ps_pbh(vf_load(right) * factor, vf_load(o) * factor);
        _mm512_store_si512(x, _mm512_permutexvar_epi64(fours, both));
#endif
        memcpy(to + d, x, (dim - d < STEP_DIMS ? dim - d : STEP_DIMS) * sizeof *x);
    }
}

/* m of a row as it enters its LSE. */
static double natural_m(const struct call *call, const struct block *block, int i)
{
    const double m = (double)block->m[i];
    return isnan(block->bias[i]) ? m * (double)call->unit * M_LN2 : m * M_LN2;
}

/* Writes a block's results but weights, which need `inverse`. */
static void finish_block(const struct call *call, struct block *block)
{
    const struct attn_problem *p = call->problem;
    const float *sinks = p->options & ATTN_OPTION_SINKS ? call->tensors->sinks.data : NULL;
    for (int i = 0; (size_t)i < block->rows.rows; i++) {
        const size_t row = (size_t)i;
        float sum = 0;
        for (int lane = 0; lane < TILE_ROWS; lane++)
            sum += block->l[block->sums][i][lane];
        double m = natural_m(call, block, i), l = (double)sum;
        double factor = l == 0 ? 0 : 1 / l;
        const float sink = sinks ? sinks[group_head(&block->rows, row)] : -INFINITY;
        if (sink != -INFINITY)
            factor = softmax_add_sink((double)sink, &m, &l);
        block->inverse[i] = (float)factor;
        if (p->outputs & ATTN_OUTPUT_LSE)
            *group_row_real(&block->rows, &call->tensors->lse, row) =
                (float)(m + log(l) - (sink == -INFINITY ? WEIGHT_MEAN : 0));
        if (!(p->outputs & ATTN_OUTPUT_O))
            continue;
        uint16_t *to = group_row(&block->rows, &call->tensors->o, row);
        if (block->started)
            store_row(block, i, (float)factor, p->v_dim, to);
        else
            memset(to, 0, p->v_dim * sizeof *to);
    }
}

#endif
