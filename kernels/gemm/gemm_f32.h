/*
 * gemm_f32.h: part of kernel gemm: the products on floats.
 *
 * Operands that are not matrices of floats are converted first, as any user of sgemm has to: Q once per
 * block of rows, K and V per block of keys, in cache: copied from pages, widened from 16 bits, or 8 bits
 * times their scales. A block of keys serves up to ROWS rows, so the conversion costs little beside the
 * product.
 */
#include "gemm_block.h"

#define GEMM_DTYPES (ATTN_BIT(ATTN_F32) | ATTN_BIT(ATTN_BF16) | ATTN_BIT(ATTN_F16))
#define GEMM_KV_DTYPES ATTN_DTYPES_SCALED
#define GEMM_COMPUTE ATTN_F32
#define GEMM_ROUNDS_P false

static const char *refusal(void)
{
    return NULL;
}

static void load_queries(struct block *block)
{
    const struct attn_tensor *q = &block->t->q;
    const size_t dim = block->rows.problem->qk_dim;
    if (find_queries(block) && q->dtype == ATTN_F32 && !(GEMM_CBLAS.reads_on && dim % 8))
        return;
    for (size_t r = 0; r < block->rows.rows; r++)
        row_widen((float *)block->packed + r * dim, q->dtype, group_row(&block->rows, q, r), dim);
    block->q = block->packed;
    block->q_stride = (ptrdiff_t)dim;
}

/* s = scale * q k^T for rows [r, end) and keys [j, j + n). */
static void scores(struct block *block, size_t r, size_t end, ptrdiff_t j, ptrdiff_t n)
{
    const size_t dim = block->rows.problem->qk_dim;
    const float scale = attn_problem_scale(block->rows.problem);
    const float *q = block->q;
    ptrdiff_t stride;
    const float *k = keys_reals(&block->source, &block->t->k, j, n, dim, block->wide, &stride);
    if (is_matrix(stride, dim))
        GEMM_CBLAS.sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(end - r), (int)n, (int)dim,
                         scale, q + (ptrdiff_t)r * block->q_stride, (int)block->q_stride, k,
                         (int)stride, 0, block->s + (ptrdiff_t)r * block->keys, (int)block->keys);
    else
        for (; r < end; r++)
            row_scores(q + (ptrdiff_t)r * block->q_stride, k, stride, n, dim, scale,
                       block->s + (ptrdiff_t)r * block->keys);
}

/* o += s v for rows [r, end) and keys [j, j + n).  A weight of 0 hides a key from the product
 * unless its V holds an infinity or NaN. */
static void weigh(struct block *block, size_t r, size_t end, ptrdiff_t j, ptrdiff_t n)
{
    const size_t dim = block->rows.problem->v_dim;
    ptrdiff_t stride;
    const float *v = keys_reals(&block->source, &block->t->v, j, n, dim, block->wide, &stride);
    const bool leaks = cut(block, j, n) && !rows_finite(v, stride, n, dim);
    if (is_matrix(stride, dim) && !leaks)
        GEMM_CBLAS.sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)(end - r), (int)dim,
                         (int)n, 1, block->s + (ptrdiff_t)r * block->keys, (int)block->keys, v,
                         (int)stride, 1, block->o + r * dim, (int)dim);
    else
        weigh_rows(block, r, end, j, n, v, stride);
}
