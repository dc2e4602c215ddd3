/*
 * tile_operands.h: part of kernel flash: addresses of a tile's rows of Q and O, and its results stored there,
 * transposed and rounded to the type.
 */
#pragma once

#include "shared/simd16.h"
#include "shared/simd_bf16.h"
#include "shared/transpose.h"
#include "flash_tile.h"

/* Addresses of a column's rows in an operand whose row `q_first` is the sequence's first query's;
 * NULL for lanes without a row. */
static void find_rows(const struct group_block *column, const struct attn_tensor *t, size_t q_first,
                      char *rows[VF_LANES])
{
    const ptrdiff_t element = (ptrdiff_t)attn_dtype_size(t->dtype);
    const ptrdiff_t query = t->stride[2] * element, head = t->stride[1] * element;
    const size_t first = group_head(column, 0);
    char *row = attn_row(t, column->b, first, q_first + group_query(column, 0));
    size_t h = first - column->g * column->group;
    for (size_t r = 0; r < VF_LANES; r++) {
        rows[r] = r < column->rows ? row : NULL;
        row += head;
        if (++h == column->group) {
            row += query - (ptrdiff_t)h * head;
            h = 0;
        }
    }
}

#if BF16_PAIRS
VF_INLINE vi bf16_load(const void *p)
{
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}
#endif

/* First of the VF_LANES dimensions to copy together from d on.  The last vector begins early
 * enough to be whole, and copies some dimensions again, unless there are fewer than VF_LANES in
 * all. */
static int vector_start(int d, int dim)
{
    return d + VF_LANES <= dim || dim < VF_LANES ? d : dim - VF_LANES;
}

/* A column of results times `factor` becomes rows of O; `whole`: there are VF_LANES rows, of
 * VF_LANES elements or more. */
VF_INLINE void store_column(const enum attn_dtype dtype, const bool whole, char *const *rows,
                            int dim, vf factor, vi empty, const float *o)
{
    const size_t bytes = attn_dtype_size(dtype);
    for (int d = 0; d < dim; d += VF_LANES) {
        const int at = vector_start(d, dim), n = whole || dim >= VF_LANES ? VF_LANES : dim;
        vf x[VF_LANES];
        VF_UNROLL
        for (int i = 0; i < VF_LANES; i++) {
            x[i] = vf_load(o + (ptrdiff_t)(whole || i < n ? at + i : at) * FLASH_TILE) * factor;
            x[i] = (vf)((vi)x[i] & ~empty);
        }
        transpose(x);
        VF_UNROLL
        for (int i = 0; i < VF_LANES; i++)
            if (whole || rows[i])
                vf_store_elements(dtype, rows[i] + (size_t)at * bytes, x[i], (size_t)n);
    }
}

/* Two dimensions of a column of results, `factor` times, rounded and joined. */
VF_INLINE vf result_pair(const float *o, vf factor, vi empty)
{
    const vf a = vf_load(o) * factor, b = vf_load(o + FLASH_TILE) * factor;
#if BF16_PAIRS
    const vi pair = bf16_join(a, b);
#else
    const vi pair = (vi)(vf_round_bf16(a) >> 16 | (vf_round_bf16(b) & 0xffff0000));
#endif
    return (vf)(pair & ~empty);
}

/* The same as store_column() in bf16, of 2 * VF_LANES dimensions or more: pairs of them are
 * transposed, half as many vectors. */
VF_INLINE void store_column_of_pairs(char *const *rows, int dim, vf factor, vi empty,
                                     const float *o)
{
    for (int d = 0; d < dim; d += 2 * VF_LANES) {
        const int at = d + 2 * VF_LANES <= dim ? d : dim - 2 * VF_LANES; /* as vector_start() */
        vf x[VF_LANES];
        VF_UNROLL
        for (int i = 0; i < VF_LANES; i++)
            x[i] = result_pair(o + (ptrdiff_t)(at + 2 * i) * FLASH_TILE, factor, empty);
        transpose(x);
        VF_UNROLL
        for (int i = 0; i < VF_LANES; i++)
            if (rows[i])
                memcpy(rows[i] + (size_t)at * 2, &x[i], sizeof x[i]);
    }
}

/* Writes the tile's rows of O, divided by their sums; a row that saw no key gets zeros, unless its sink makes it
 * NaN. */
VF_NOINLINE void store_tile(const struct job *job, const struct tile *t)
{
    const int dim = job->v_dim;
    const enum attn_dtype dtype = job->tensors->o.dtype; /* f32 where parts are merged (ring) */
    for (int c = 0; c < FLASH_COLS && t->column[c].rows; c++) {
        char *rows[VF_LANES];
        find_rows(&t->column[c], &job->tensors->o, t->column[c].sequence.q_first, rows);
        const vi empty = (vi)(t->l[c] == vf_set1(0)) & (vi)(t->inverse[c] == t->inverse[c]);
        const float *o = t->o + c * VF_LANES;
        if (dtype == ATTN_BF16 && dim >= 2 * VF_LANES)
            store_column_of_pairs(rows, dim, t->inverse[c], empty, o);
        else if (dtype == ATTN_F32 && t->column[c].rows == VF_LANES && dim >= VF_LANES)
            store_column(ATTN_F32, true, rows, dim, t->inverse[c], empty, o);
        else
            store_column(dtype, false, rows, dim, t->inverse[c], empty, o);
    }
}
