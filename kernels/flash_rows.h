/*
 * flash_rows.h: kernel flash: queries of any type into a tile of floats, results out of one,
 * transposed.
 */
#ifndef ATTN_FLASH_ROWS_H
#define ATTN_FLASH_ROWS_H

#include "flash_tile.h"
#include "simd16.h"
#include "transpose.h"

/* Row of a tensor that holds query r of KV head g, the heads of one position side by side. */
static char *flash_row(const struct flash_job *job, const struct attn_tensor *t, size_t b, size_t g,
                       ptrdiff_t r)
{
    const size_t i = (size_t)r / job->group;
    return attn_row(t, b, g * job->group + (size_t)r % job->group, i);
}

/* First of the VF_LANES dimensions to move together from d on: the last stretch overlaps its
 * predecessor rather than be short, unless there is none. */
static int flash_stretch(int d, int dim)
{
    return d + VF_LANES <= dim || dim < VF_LANES ? d : dim - VF_LANES;
}

static inline void flash_load(const struct flash_job *job, struct flash_tile *t, size_t b, size_t g,
                              ptrdiff_t first)
{
    const int dim = job->qk_dim;
    const enum attn_dtype dtype = job->problem->dtype;
    const size_t bytes = attn_dtype_size(dtype);
    const vf scale = vf_set1(job->scale);
    for (int c = 0; c < FLASH_COLS; c++) {
        const char *rows[VF_LANES];
        for (int i = 0; i < VF_LANES; i++) {
            const int r = c * VF_LANES + i;
            rows[i] = r < t->rows ? flash_row(job, &job->tensors->q, b, g, first + r) : NULL;
        }
        for (int d = 0; d < dim; d += VF_LANES) {
            const int at = flash_stretch(d, dim), n = dim < VF_LANES ? dim : VF_LANES;
            vf x[VF_LANES];
            for (int i = 0; i < VF_LANES; i++)
                x[i] = rows[i] ? vf_load_elements(dtype, rows[i] + (size_t)at * bytes, (size_t)n)
                               : vf_set1(0);
            transpose(x);
            for (int i = 0; i < n; i++)
                vf_store(t->q + (ptrdiff_t)(at + i) * FLASH_TILE + c * VF_LANES, x[i] * scale);
        }
    }
}

/* Writes the tile's rows of O, divided by l; a row that saw no key gets zeros. */
static void flash_store(const struct flash_job *job, const struct flash_tile *t, size_t b, size_t g,
                        ptrdiff_t first)
{
    const int dim = job->v_dim;
    const enum attn_dtype dtype = job->problem->dtype;
    const size_t bytes = attn_dtype_size(dtype);
    for (int c = 0; c < FLASH_COLS && c * VF_LANES < t->rows; c++) {
        const int rows = t->rows - c * VF_LANES < VF_LANES ? t->rows - c * VF_LANES : VF_LANES;
        const vf empty = (vf)(t->l[c] == vf_set1(0));
        const vf inverse = 1.0f / vf_select((vi)empty, vf_set1(1), t->l[c]);
        for (int d = 0; d < dim; d += VF_LANES) {
            const int at = flash_stretch(d, dim), n = dim < VF_LANES ? dim : VF_LANES;
            vf x[VF_LANES];
            for (int i = 0; i < VF_LANES; i++) {
                const int row = i < n ? at + i : at;
                x[i] = vf_load(t->o + (ptrdiff_t)row * FLASH_TILE + c * VF_LANES);
                x[i] = vf_select((vi)empty, vf_set1(0), x[i] * inverse);
            }
            transpose(x);
            for (int i = 0; i < rows; i++) {
                char *o = flash_row(job, &job->tensors->o, b, g, first + c * VF_LANES + i);
                vf_store_elements(dtype, o + (size_t)at * bytes, x[i], (size_t)n);
            }
        }
    }
}

#endif
