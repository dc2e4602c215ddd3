/*
 * flash_f32_rows.h: kernel flash in float32: queries into a tile, results out of it, transposed.
 */
#ifndef ATTN_FLASH_F32_ROWS_H
#define ATTN_FLASH_F32_ROWS_H

#include "flash_tile.h"
#include "transpose.h"

/* Row of a tensor that holds query r of KV head g, the heads of one position side by side. */
static float *flash_f32_row(const struct flash_job *job, const struct attn_tensor *t, size_t b,
                            size_t g, ptrdiff_t r)
{
    const size_t i = (size_t)r / job->group;
    return attn_row_f32(t, b, g * job->group + (size_t)r % job->group, i);
}

/* First of the VF_LANES dimensions to move together from d on: the last stretch overlaps its
 * predecessor rather than be short, unless there is none. */
static int flash_stretch(int d, int dim)
{
    return d + VF_LANES <= dim || dim < VF_LANES ? d : dim - VF_LANES;
}

static void flash_f32_load(const struct flash_job *job, struct flash_tile *t, size_t b, size_t g,
                           ptrdiff_t first)
{
    const int dim = job->qk_dim;
    const vf scale = vf_set1(job->scale);
    for (int c = 0; c < FLASH_COLS; c++) {
        const float *rows[VF_LANES];
        for (int i = 0; i < VF_LANES; i++) {
            const int r = c * VF_LANES + i;
            rows[i] = r < t->rows ? flash_f32_row(job, &job->tensors->q, b, g, first + r) : NULL;
        }
        for (int d = 0; d < dim; d += VF_LANES) {
            const int at = flash_stretch(d, dim), n = dim < VF_LANES ? dim : VF_LANES;
            vf x[VF_LANES];
            for (int i = 0; i < VF_LANES; i++)
                x[i] = !rows[i]        ? vf_set1(0)
                       : n == VF_LANES ? vf_load(rows[i] + at)
                                       : vf_load_partial(rows[i] + at, (size_t)n);
            transpose(x);
            for (int i = 0; i < n; i++)
                vf_store(t->q + (ptrdiff_t)(at + i) * FLASH_TILE + c * VF_LANES, x[i] * scale);
        }
    }
}

/* Writes the tile's rows of O, divided by l; a row that saw no key gets zeros. */
static void flash_f32_store(const struct flash_job *job, const struct flash_tile *t, size_t b,
                            size_t g, ptrdiff_t first)
{
    const int dim = job->v_dim;
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
                float *o = flash_f32_row(job, &job->tensors->o, b, g, first + c * VF_LANES + i);
                if (n == VF_LANES)
                    vf_store(o + at, x[i]);
                else
                    vf_store_partial(o + at, x[i], (size_t)n);
            }
        }
    }
}

#endif
