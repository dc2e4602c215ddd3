/*
 * flash_bf16_pack.h: operands of kernel flash in pairs of bf16: Q in the lanes, K by rows, V in
 * panels of FLASH_ROWS dimensions with FLASH_ROWS pairs per two keys.
 */
#ifndef ATTN_FLASH_BF16_PACK_H
#define ATTN_FLASH_BF16_PACK_H

#include "flash_rows.h"

VF_INLINE vi bf16_load(const void *p)
{
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Rows of 2 * VF_LANES elements become VF_LANES rows of pairs. */
static void flash_bf16_load(const struct flash_job *job, struct flash_tile *t, size_t b, size_t g,
                            ptrdiff_t first)
{
    const int bytes = job->qk_dim * 2;
    for (int c = 0; c < FLASH_COLS; c++)
        for (int at = 0; at < bytes; at += VF_BYTES) {
            const size_t n = bytes - at < VF_BYTES ? (size_t)(bytes - at) : VF_BYTES;
            vf x[VF_LANES];
            for (int i = 0; i < VF_LANES; i++) {
                const int r = c * VF_LANES + i;
                const char *row =
                    flash_row(job, &job->tensors->q, b, g, first + (r < t->rows ? r : 0));
                x[i] = n == VF_BYTES ? (vf)bf16_load(row + at) : (vf)vi_load_bytes(row + at, n);
            }
            transpose(x);
            for (size_t i = 0; i < (n + 3) / 4; i++)
                vf_store(t->q + ((size_t)at / 4 + i) * FLASH_TILE + (size_t)c * VF_LANES, x[i]);
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

/* The pairs of keys a and b, of which b may be NULL, to their place in the first panel and the
 * same place in those that follow. */
static void flash_bf16_pack_pair(uint16_t *to, int panel, const uint16_t *a, const uint16_t *b,
                                 int dim)
{
    int d = 0;
    for (; d + VF_LANES <= dim; d += VF_LANES) {
        const vi lower = (vi)vf_load_bf16(a + d), upper = b ? (vi)vf_load_bf16(b + d) : (vi){0};
        const vi pairs = (lower >> 16 & 0xffff) | upper;
        for (int half = 0; half < VF_LANES / FLASH_ROWS; half++, to += panel)
            memcpy(to, (const char *)&pairs + half * FLASH_ROWS * 4, FLASH_ROWS * 4);
    }
    for (; d < dim; d++) {
        uint16_t *pair = to + d % VF_LANES / FLASH_ROWS * panel + d % FLASH_ROWS * 2;
        pair[0] = a[d];
        pair[1] = b ? b[d] : 0;
    }
}

static void flash_bf16_pack(struct flash_block *block)
{
    const int panel = FLASH_KEYS * FLASH_ROWS; /* elements */
    uint16_t *to = flash_bf16_pack_k(block, block->packed);
    for (int j = 0; j < block->keys; j += 2) {
        const uint16_t *a = (const uint16_t *)block->v + j * block->v_stride;
        flash_bf16_pack_pair(to + j * FLASH_ROWS, panel, a,
                             j + 1 < block->keys ? a + block->v_stride : NULL, block->job->v_dim);
    }
    block->v = to;
    block->v_stride = panel;
}

static const uint16_t *flash_bf16_element(const struct flash_block *block, int j, int d)
{
    return (const uint16_t *)block->v + d / FLASH_ROWS * block->v_stride +
           (j / 2 * FLASH_ROWS + d % FLASH_ROWS) * 2 + j % 2;
}

static float flash_bf16_value(const struct flash_block *block, int j, int d)
{
    return attn_bf16_to_f32(*flash_bf16_element(block, j, d));
}

static bool flash_bf16_finite(const struct flash_block *block, int from, int to)
{
    bool finite = true;
    if (from >= to)
        return true;
    for (int d = 0; d < block->job->v_dim; d++)
        for (int j = from; j < to; j++)
            finite &= (*flash_bf16_element(block, j, d) & 0x7f80) != 0x7f80;
    return finite;
}

#endif
