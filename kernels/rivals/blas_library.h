/*
 * blas_library.h: the CBLAS libraries of kernel gemm, one per kernel: gemm uses the one that the program
 * is linked with; gemm_blis and gemm_mkl load theirs at run time.
 *
 * Functions are NULL until the library is loaded.  All are called from several threads at a time,
 * each call on one.
 */
#pragma once

#include <cblas.h>
#include <stdint.h>

#include "attention.h"

/* C = alpha op(A) op(B) + beta C of bf16 operands: sums, C and both factors are float. */
typedef void cblas_bf16(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE a_transposed,
                        enum CBLAS_TRANSPOSE b_transposed, blasint m, blasint n, blasint k,
                        float alpha, const uint16_t *a, blasint a_stride, const uint16_t *b,
                        blasint b_stride, float beta, float *c, blasint c_stride);

struct cblas {
    struct attn_library library;
    __typeof__(cblas_sgemm) *sgemm;
    cblas_bf16 *bf16;         /* NULL: the library has none */
    void (*one_thread)(void); /* from now on, in this process */
    bool reads_on;            /* past the end of A and C, by less than a vector of 8 floats */
};

extern struct cblas attn_cblas_linked, attn_cblas_blis, attn_cblas_mkl;
