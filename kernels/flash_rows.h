/*
 * flash_rows.h: kernel flash: queries of any type into a tile of floats, results out of one,
 * transposed.
 */
#ifndef ATTN_FLASH_ROWS_H
#define ATTN_FLASH_ROWS_H

#include "flash_tile.h"
#include "shared/simd16.h"
#include "shared/transpose.h"

/* Addresses of a column's rows in an operand that is laid out like Q; NULL beyond the last. */
static void flash_rows(const struct group_block *column, const struct attn_tensor *t,
                       char *rows[VF_LANES])
{
    const ptrdiff_t element = (ptrdiff_t)attn_dtype_size(t->dtype);
    const ptrdiff_t query = t->stride[2] * element, head = t->stride[1] * element;
    const size_t first = group_head(column, 0);
    char *row = attn_row(t, column->b, first, group_query(column, 0));
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

/* First of the VF_LANES dimensions to move together from d on: the last stretch overlaps its
 * predecessor rather than be short, unless there is none. */
static int flash_stretch(int d, int dim)
{
    return d + VF_LANES <= dim || dim < VF_LANES ? d : dim - VF_LANES;
}

/* Rows of Q into columns of a tile; `whole`: there are VF_LANES rows, of VF_LANES elements or more. */
VF_INLINE void flash_load_column(const enum attn_dtype dtype, const bool whole, char *const *rows,
                                 int dim, vf scale, float *q)
{
    const size_t bytes = attn_dtype_size(dtype);
    for (int d = 0; d < dim; d += VF_LANES) {
        const int at = flash_stretch(d, dim), n = whole || dim >= VF_LANES ? VF_LANES : dim;
        vf x[VF_LANES];
        VF_UNROLL
        for (int i = 0; i < VF_LANES; i++)
            x[i] = whole || rows[i]
                       ? vf_load_elements(dtype, rows[i] + (size_t)at * bytes, (size_t)n)
                       : vf_set1(0);
        transpose(x);
        VF_UNROLL
        for (int i = 0; i < VF_LANES; i++)
            if (whole || i < n)
                vf_store(q + (ptrdiff_t)(at + i) * FLASH_TILE, x[i] * scale);
    }
}

static inline void flash_load(const struct flash_job *job, struct flash_tile *t)
{
    const int dim = job->qk_dim;
    const enum attn_dtype dtype = job->problem->dtype;
    const vf scale = vf_set1(job->scale);
    for (int c = 0; c < FLASH_COLS && t->column[c].rows; c++) {
        char *rows[VF_LANES];
        flash_rows(&t->column[c], &job->tensors->q, rows);
        float *q = t->q + c * VF_LANES;
        if (dtype == ATTN_F32 && t->column[c].rows == VF_LANES && dim >= VF_LANES)
            flash_load_column(ATTN_F32, true, rows, dim, scale, q);
        else
            flash_load_column(dtype, false, rows, dim, scale, q);
    }
}

/* Columns of a tile, times `factor`, into rows of O; `whole` as above. */
VF_INLINE void flash_store_column(const enum attn_dtype dtype, const bool whole, char *const *rows,
                                  int dim, vf factor, vi empty, const float *o)
{
    const size_t bytes = attn_dtype_size(dtype);
    for (int d = 0; d < dim; d += VF_LANES) {
        const int at = flash_stretch(d, dim), n = whole || dim >= VF_LANES ? VF_LANES : dim;
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

/* Writes the tile's rows of O, divided by l; a row that saw no key gets zeros. */
static void flash_store(const struct flash_job *job, const struct flash_tile *t)
{
    const int dim = job->v_dim;
    const enum attn_dtype dtype = job->problem->dtype;
    for (int c = 0; c < FLASH_COLS && t->column[c].rows; c++) {
        char *rows[VF_LANES];
        flash_rows(&t->column[c], &job->tensors->o, rows);
        const vi empty = (vi)(t->l[c] == vf_set1(0));
        const vf inverse = 1.0f / vf_select(empty, vf_set1(1), t->l[c]);
        const float *o = t->o + c * VF_LANES;
        const bool whole = t->column[c].rows == VF_LANES && dim >= VF_LANES;
        if (whole && dtype == ATTN_F32)
            flash_store_column(ATTN_F32, true, rows, dim, inverse, empty, o);
        else if (whole && dtype == ATTN_BF16)
            flash_store_column(ATTN_BF16, true, rows, dim, inverse, empty, o);
        else
            flash_store_column(dtype, false, rows, dim, inverse, empty, o);
    }
}

#endif
