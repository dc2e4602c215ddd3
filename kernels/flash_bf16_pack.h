/*
 * flash_bf16_pack.h: operands of kernel flash in pairs of bf16: Q in the lanes, K by rows, V in
 * panels of BF16_PANEL dimensions, one cache line of pairs per two keys.
 */
#ifndef ATTN_FLASH_BF16_PACK_H
#define ATTN_FLASH_BF16_PACK_H

#include "flash_rows.h"

#define BF16_PANEL VF_LANES

VF_INLINE vi bf16_load(const void *p)
{
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Rows of 2 * VF_LANES elements become VF_LANES rows of pairs; `whole`: there are VF_LANES rows,
 * and they end with such a stretch. */
VF_INLINE void flash_bf16_load_column(const bool whole, char *const *rows, int bytes, float *q)
{
    for (int at = 0; at < bytes; at += VF_BYTES) {
        const size_t n = whole || bytes - at > VF_BYTES ? VF_BYTES : (size_t)(bytes - at);
        vf x[VF_LANES];
        VF_UNROLL
        for (int i = 0; i < VF_LANES; i++) {
            const char *row = whole || rows[i] ? rows[i] : rows[0];
            x[i] = n == VF_BYTES ? (vf)bf16_load(row + at) : (vf)vi_load_bytes(row + at, n);
        }
        transpose(x);
        VF_UNROLL
        for (int i = 0; i < VF_LANES; i++)
            if (whole || (size_t)i < (n + 3) / 4)
                vf_store(q + (at / 4 + i) * FLASH_TILE, x[i]);
    }
}

static void flash_bf16_load(const struct flash_job *job, struct flash_tile *t)
{
    const int bytes = job->qk_dim * 2;
    for (int c = 0; c < FLASH_COLS && t->column[c].rows; c++) {
        char *rows[VF_LANES];
        flash_rows(&t->column[c], &job->tensors->q, rows);
        if (t->column[c].rows == VF_LANES && bytes % VF_BYTES == 0)
            flash_bf16_load_column(true, rows, bytes, t->q + c * VF_LANES);
        else
            flash_bf16_load_column(false, rows, bytes, t->q + c * VF_LANES);
    }
}

/* K where it lies, unless its rows end in half a pair. */
static uint16_t *flash_bf16_pack_k(struct flash_block *block, uint16_t *to)
{
    const int dim = block->job->qk_dim, stride = dim + 1;
    if (dim % 2 == 0)
        return to;
    for (int j = 0; j < block->keys; j++) {
        memcpy(to + j * stride, (const uint16_t *)block->k + j * block->k_stride,
               (size_t)dim * sizeof *to);
        to[j * stride + dim] = 0;
    }
    block->k = to;
    block->k_stride = stride;
    return to + (FLASH_KEYS + 1) / 2 * 2 * stride;
}

typedef uint16_t bf16_vector __attribute__((vector_size(VF_BYTES)));

/* The pairs of keys a and b, of which b may be NULL, to their place in the first panel and the
 * same place in those that follow. */
static void flash_bf16_pack_pair(uint16_t *to, int panel, const uint16_t *a, const uint16_t *b,
                                 int dim)
{
    int d = 0;
    for (; d + 2 * VF_LANES <= dim; d += 2 * VF_LANES, to += 2 * panel) {
        bf16_vector x, y = {0};
        memcpy(&x, a + d, sizeof x);
        if (b)
            memcpy(&y, b + d, sizeof y);
        const bf16_vector lower =
            __builtin_shufflevector(x, y, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8,
                                    40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47);
        const bf16_vector upper = __builtin_shufflevector(
            x, y, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55, 24, 56, 25, 57,
            26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63);
        memcpy(to, &lower, sizeof lower);
        memcpy(to + panel, &upper, sizeof upper);
    }
    for (const int first = d; d < dim; d++) {
        uint16_t *pair = to + (d - first) / BF16_PANEL * panel + d % BF16_PANEL * 2;
        pair[0] = a[d];
        pair[1] = b ? b[d] : 0;
    }
}

static void flash_bf16_pack(struct flash_block *block)
{
    const int panel = FLASH_KEYS * BF16_PANEL; /* elements */
    uint16_t *to = flash_bf16_pack_k(block, block->packed);
    for (int j = 0; j < block->keys; j += 2) {
        const uint16_t *a = (const uint16_t *)block->v + j * block->v_stride;
        flash_bf16_pack_pair(to + j * BF16_PANEL, panel, a,
                             j + 1 < block->keys ? a + block->v_stride : NULL, block->job->v_dim);
    }
    block->v = to;
    block->v_stride = panel;
}

static const uint16_t *flash_bf16_element(const struct flash_block *block, int j, int d)
{
    return (const uint16_t *)block->v + d / BF16_PANEL * block->v_stride +
           (j / 2 * BF16_PANEL + d % BF16_PANEL) * 2 + j % 2;
}

static float flash_bf16_value(const struct flash_block *block, int j, int d)
{
    return attn_bf16_to_f32(*flash_bf16_element(block, j, d));
}

/* Looks at whole pairs of keys: the other key of a pair is multiplied too. */
static bool flash_bf16_finite(const struct flash_block *block, int from, int to)
{
    const int dim = block->job->v_dim, panels = dim / BF16_PANEL * BF16_PANEL;
    bf16_vector wrong = {0};
    bool finite = true;
    for (int j = from / 2 * 2; j < to; j += 2) {
        for (int d = 0; d < panels; d += BF16_PANEL) {
            bf16_vector x;
            memcpy(&x, flash_bf16_element(block, j, d), sizeof x);
            wrong |= (bf16_vector)((x & 0x7f80) == 0x7f80);
        }
        for (int d = panels; d < dim; d++)
            for (int i = 0; i < 2; i++)
                finite &= (*flash_bf16_element(block, j + i, d) & 0x7f80) != 0x7f80;
    }
    return finite && !vi_any((vi)wrong);
}

#endif
