/*
 * bf16_operands.h: part of kernel flash: queries, keys and values as pairs of bfloat16.
 *
 * K stays where it lies if it can.  V is packed once per block for all tiles of a task, in panels.
 */
#pragma once

#define PAIR 2
#define BF16_PANEL \
    (VF_LANES > FLASH_ROWS ? VF_LANES : FLASH_ROWS) /* a register tile is within one */
#include "bf16_panels.h"

/* Rows of Q become a column of a tile, VF_LANES pairs of elements at a time; `whole`: there are
 * VF_LANES rows, and their length is a multiple of VF_LANES pairs. */
VF_INLINE void load_column_of_pairs(const bool whole, char *const *rows, int bytes, float *q)
{
    for (int at = 0; at < bytes; at += VF_BYTES) {
        const size_t n = whole || bytes - at > VF_BYTES ? VF_BYTES : (size_t)(bytes - at);
        vf x[VF_LANES];
        VF_UNROLL
        for (int i = 0; i < VF_LANES; i++) {
            const char *row = whole || rows[i] ? rows[i] : rows[0];
            assert(row); /* a column has a first row */
            x[i] = n == VF_BYTES ? (vf)bf16_load(row + at) : (vf)vi_load_bytes(row + at, n);
        }
        transpose(x);
        VF_UNROLL
        for (int i = 0; i < VF_LANES; i++)
            if (whole || (size_t)i < (n + 3) / 4)
                vf_store(q + (at / 4 + i) * FLASH_TILE, x[i]);
    }
}

VF_NOINLINE void load_queries(const struct job *job, struct tile *t)
{
    const int bytes = job->qk_dim * 2;
    for (int c = 0; c < FLASH_COLS && t->column[c].rows; c++) {
        char *rows[VF_LANES];
        find_rows(&t->column[c], &job->tensors->q, t->column[c].sequence.q_first, rows);
        if (t->column[c].rows == VF_LANES && bytes % VF_BYTES == 0)
            load_column_of_pairs(true, rows, bytes, t->q + c * VF_LANES);
        else
            load_column_of_pairs(false, rows, bytes, t->q + c * VF_LANES);
    }
}

/* Copies K if its rows end in half a pair, lie in several pages or are named by a list; else leaves it in
 * place.  Returns the end of the copy. */
static uint16_t *pack_keys(struct block *block, uint16_t *to)
{
    const struct attn_tensor *k = &block->job->tensors->k;
    const int dim = block->job->qk_dim, stride = dim + dim % 2;
    block->k = keys_row(&block->source, k, block->first);
    block->k_stride = k->stride[2];
    if (dim % 2 == 0 && keys_together(&block->source, block->first, block->keys))
        return to;
    keys_copy(&block->source, k, block->first, block->keys, 2 * dim, 2 * stride, to);
    block->k = to;
    block->k_stride = stride;
    return to + (FLASH_KEYS + 1) / 2 * 2 * stride;
}

/* Joins the values of keys a and b, zeros where they are NULL, and stores the pairs. */
static void pack_pair_of_values(uint16_t *to, ptrdiff_t panel, const uint16_t *a, const uint16_t *b,
                                int dim)
{
    int d = 0;
    for (; d + 2 * VF_LANES <= dim; d += 2 * VF_LANES, to += in_panels(panel, 2 * VF_LANES)) {
        bf16_vector x = {0}, y = {0};
        if (a)
            memcpy(&x, a + d, sizeof x);
        if (b)
            memcpy(&y, b + d, sizeof y);
        const bf16_vector lower = BF16_ZIP(BF16_LOWER, x, y), upper = BF16_ZIP(BF16_UPPER, x, y);
        memcpy(to, &lower, sizeof lower);
        memcpy(to + in_panels(panel, VF_LANES), &upper, sizeof upper);
    }
    for (const int first = d; d < dim; d++) {
        uint16_t *pair = to + in_panels(panel, d - first);
        pair[0] = a ? a[d] : 0;
        pair[1] = b ? b[d] : 0;
    }
}

VF_NOINLINE void pack(struct block *block)
{
    const int panel = FLASH_KEYS * BF16_PANEL; /* elements */
    const void *rows[FLASH_KEYS];
    uint16_t *to = pack_keys(block, block->packed);
    keys_rows(&block->source, &block->job->tensors->v, block->first, block->keys, rows);
    for (int j = 0; j < block->keys; j += 2)
        pack_pair_of_values(to + j * BF16_PANEL, panel, rows[j],
                            j + 1 < block->keys ? rows[j + 1] : NULL, block->job->v_dim);
    block->v = to;
    block->v_stride = panel;
}

static vf weight_at(const struct block *block, int j, int column)
{
    const vi pair = bf16_load(block->s + (j - j % 2) * FLASH_TILE + column * VF_LANES);
    return (vf)(j % 2 ? pair & (int32_t)0xffff0000 : pair << 16);
}
