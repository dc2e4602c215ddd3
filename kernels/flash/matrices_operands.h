/*
 * matrices_operands.h: part of kernel flash: queries, keys and values as matrices of two rows by four
 * bfloat16, which one instruction multiplies (BFMMLA).
 *
 * Every operand is such matrices: of two queries by four dimensions, of two keys by four dimensions, of two
 * value dimensions by four keys.  K and V are packed once per block for all tiles of a task: K by pairs of
 * keys, V in panels.  The last matrices are filled up with zeros.
 */
#pragma once

#define PAIR 4
#define MATRIX 8                 /* elements */
#define BF16_PANEL FLASH_ROWS    /* a register tile is within one */
#define LINE (BF16_PANEL * PAIR) /* elements of a panel's line */
#include "bf16_panels.h"

/* Elements of a row whose last four are completed. */
static int in_fours(int dim)
{
    return (dim + 3) / 4 * 4;
}

/* Up to MATRIX elements from p, zeros behind them and where p is NULL. */
VF_INLINE vf load_up_to(const uint16_t *p, int n)
{
    uint16_t x[MATRIX] = {0};
    if (n >= MATRIX && p)
        return (vf)bf16_load(p);
    if (p)
        memcpy(x, p, (size_t)n * sizeof *x);
    return (vf)bf16_load(x);
}

/* Rows of Q become a column of a tile: four dimensions are two matrices, of the column's first two queries
 * and of its others, each in a row of the tile. */
VF_NOINLINE void load_queries(const struct job *job, struct tile *t)
{
    const int dim = job->qk_dim;
    for (int c = 0; c < FLASH_COLS && t->column[c].rows; c++) {
        char *rows[VF_LANES];
        find_rows(&t->column[c], &job->tensors->q, t->column[c].sequence.q_first, rows);
        for (int i = 0; i < VF_LANES; i += 2) {
            float *q = t->q + c * VF_LANES + i / 2 * FLASH_TILE;
            const uint16_t *a = (const uint16_t *)rows[i], *b = (const uint16_t *)rows[i + 1];
            for (int d = 0; d < dim; d += MATRIX, q += 4 * FLASH_TILE) {
                const vf x = load_up_to(a ? a + d : a, dim - d);
                const vf y = load_up_to(b ? b + d : b, dim - d);
                vf_store(q, bf16_halves(false, x, y));
                if (dim - d > 4)
                    vf_store(q + 2 * FLASH_TILE, bf16_halves(true, x, y));
            }
        }
    }
}

/* Two rows of K, zeros where they are NULL. */
static void pack_two_keys(uint16_t *to, const uint16_t *a, const uint16_t *b, int dim)
{
    for (int d = 0; d < dim; d += MATRIX, to += 2 * MATRIX) {
        const vf x = load_up_to(a ? a + d : a, dim - d), y = load_up_to(b ? b + d : b, dim - d);
        const vf lower = bf16_halves(false, x, y), upper = bf16_halves(true, x, y);
        memcpy(to, &lower, sizeof lower);
        if (dim - d > 4)
            memcpy(to + MATRIX, &upper, sizeof upper);
    }
}

/* Values of four keys, zeros where there is none, become a line of each panel: those of a dimension side by
 * side. */
static void pack_four_values(uint16_t *to, ptrdiff_t panel, const void *const rows[PAIR], int dim)
{
    for (int d = 0; d < dim; d += MATRIX, to += panel) {
        bf16_vector x[PAIR], line[PAIR];
        for (int i = 0; i < PAIR; i++)
            x[i] = (bf16_vector)load_up_to(rows[i] ? (const uint16_t *)rows[i] + d : NULL, dim - d);
        const bf16_vector a = BF16_ZIP(BF16_LOWER, x[0], x[2]);
        const bf16_vector b = BF16_ZIP(BF16_LOWER, x[1], x[3]);
        const bf16_vector c = BF16_ZIP(BF16_UPPER, x[0], x[2]);
        const bf16_vector e = BF16_ZIP(BF16_UPPER, x[1], x[3]);
        line[0] = BF16_ZIP(BF16_LOWER, a, b);
        line[1] = BF16_ZIP(BF16_UPPER, a, b);
        line[2] = BF16_ZIP(BF16_LOWER, c, e);
        line[3] = BF16_ZIP(BF16_UPPER, c, e);
        memcpy(to, line, sizeof line);
    }
}

VF_NOINLINE void pack(struct block *block)
{
    const struct job *job = block->job;
    const int keys = block->keys, k_stride = in_fours(job->qk_dim);
    const void *rows[FLASH_KEYS + PAIR] = {0};
    uint16_t *k = block->packed, *v = k + FLASH_KEYS * k_stride;
    keys_rows(&block->source, &job->tensors->k, block->first, keys, rows);
    for (int j = 0; j < keys; j += 2)
        pack_two_keys(k + j * k_stride, rows[j], rows[j + 1], job->qk_dim);
    keys_rows(&block->source, &job->tensors->v, block->first, keys, rows);
    for (int j = 0; j < keys; j += PAIR)
        pack_four_values(v + j * BF16_PANEL, FLASH_KEYS * BF16_PANEL, rows + j, job->v_dim);
    block->k = k;
    block->k_stride = k_stride;
    block->v = v;
    block->v_stride = FLASH_KEYS * BF16_PANEL;
}

/* The weights of four keys lie in two rows: of the column's first two queries and of its others. */
static vf weight_at(const struct block *block, int j, int column)
{
    const float *s = block->s + (j - j % PAIR) * FLASH_TILE + column * VF_LANES;
    const vi a = bf16_load(s), b = bf16_load(s + FLASH_TILE);
    const int word = j % PAIR / 2;
    const vi pair = {a[word], a[2 + word], b[word], b[2 + word]};
    return (vf)(j % 2 ? pair & (int32_t)0xffff0000 : pair << 16);
}
