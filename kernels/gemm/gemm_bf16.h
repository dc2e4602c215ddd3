/*
 * gemm_bf16.h: part of kernel gemm: the products on bf16, for libraries that have them.
 *
 * cblas_sbgemm of OpenBLAS (builds with BUILD_BFLOAT16) and cblas_gemm_bf16bf16f32 of MKL multiply
 * bf16 and add in float. K and V are read in place, or copied from pages; weights are rounded to bf16 for
 * the second product, and l is the sum of the unrounded ones. int8 is not supported: int8 times its scale
 * does not fit bf16.
 */
#include "gemm_block.h"

#define GEMM_DTYPES ATTN_BIT(ATTN_BF16)
#define GEMM_KV_DTYPES 0
#define GEMM_COMPUTE ATTN_BF16
#define GEMM_ROUNDS_P true

static const char *refusal(void)
{
    return GEMM_CBLAS.bf16 ? NULL : "this library multiplies no bf16";
}

static void load_queries(struct block *block)
{
    const size_t dim = block->rows.problem->qk_dim;
    if (find_queries(block))
        return;
    for (size_t r = 0; r < block->rows.rows; r++)
        memcpy((uint16_t *)block->packed + r * dim, group_row(&block->rows, &block->t->q, r),
               dim * sizeof(uint16_t));
    block->q = block->packed;
    block->q_stride = (ptrdiff_t)dim;
}

/* Keys [j, j + n) of K or V: where they lie, or copied together where that is no matrix. */
static const uint16_t *load_keys(struct block *block, const struct attn_tensor *kv, ptrdiff_t j,
                                 ptrdiff_t n, size_t dim, ptrdiff_t *stride)
{
    const ptrdiff_t row = (ptrdiff_t)(dim * sizeof(uint16_t));
    *stride = kv->stride[2];
    if (is_matrix(*stride, dim) && keys_together(&block->source, j, n))
        return keys_row(&block->source, kv, j);
    keys_copy(&block->source, kv, j, n, row, row, block->wide);
    *stride = (ptrdiff_t)dim;
    return (const uint16_t *)block->wide;
}

/* s = scale * q k^T for rows [r, end) and keys [j, j + n). */
static void scores(struct block *block, size_t r, size_t end, ptrdiff_t j, ptrdiff_t n)
{
    const size_t dim = block->rows.problem->qk_dim;
    const float scale = attn_problem_scale(block->rows.problem);
    const uint16_t *q = block->q;
    ptrdiff_t stride;
    const uint16_t *k = load_keys(block, &block->t->k, j, n, dim, &stride);
    GEMM_CBLAS.bf16(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(end - r), (int)n, (int)dim,
                    scale, q + (ptrdiff_t)r * block->q_stride, (int)block->q_stride, k, (int)stride,
                    0, block->s + (ptrdiff_t)r * block->keys, (int)block->keys);
}

/* Weights of rows [r, end) on n keys, rounded. */
static void round_weights(struct block *block, size_t r, size_t end, ptrdiff_t n)
{
    for (; r < end; r++)
        row_narrow(block->p + (ptrdiff_t)r * block->keys, ATTN_BF16,
                   block->s + (ptrdiff_t)r * block->keys, 1, (size_t)n);
}

/* o += s v for rows [r, end) and keys [j, j + n).  A weight of 0 hides a key from the product
 * unless its V holds an infinity or NaN. */
static void weigh(struct block *block, size_t r, size_t end, ptrdiff_t j, ptrdiff_t n)
{
    const size_t dim = block->rows.problem->v_dim;
    ptrdiff_t stride;
    if (cut(block, j, n)) {
        const float *wide =
            keys_reals(&block->source, &block->t->v, j, n, dim, block->wide, &stride);
        if (!rows_finite(wide, stride, n, dim)) {
            weigh_rows(block, r, end, j, n, wide, stride);
            return;
        }
    }
    const uint16_t *v = load_keys(block, &block->t->v, j, n, dim, &stride);
    round_weights(block, r, end, n);
    GEMM_CBLAS.bf16(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)(end - r), (int)dim, (int)n, 1,
                    block->p + (ptrdiff_t)r * block->keys, (int)block->keys, v, (int)stride, 1,
                    block->o + r * dim, (int)dim);
}
