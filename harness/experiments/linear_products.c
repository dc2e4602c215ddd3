/*
 * linear_products: y = x w for both layouts of w.
 *
 * The loops use w's strides, so that layouts differ in nothing else; compilers specialize them for an
 * innermost stride of 1.
 */
#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "blas.h"
#include "parts.h"

void linear_gemm(const struct linear_shape *s, const float *x, const float *w,
                 enum linear_layout layout, float *y)
{
    const bool linear = layout == LINEAR_LINEAR;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, linear ? CblasTrans : CblasNoTrans, (int)s->len,
                (int)s->d_out, (int)s->d_in, 1, x, (int)s->d_in, w,
                (int)(linear ? s->d_in : s->d_out), 0, y, (int)s->d_out);
}

/* Elements of w from one input to the next, and from one output to the next. */
static size_t in_stride(const struct linear_shape *s, enum linear_layout layout)
{
    return layout == LINEAR_LINEAR ? 1 : s->d_out;
}

static size_t out_stride(const struct linear_shape *s, enum linear_layout layout)
{
    return layout == LINEAR_LINEAR ? s->d_in : 1;
}

/* Each output as the dot product of a row of x and a column of w. */
void linear_dot(const struct linear_shape *s, const float *restrict x, const float *restrict w,
                enum linear_layout layout, float *restrict y)
{
    const size_t in = in_stride(s, layout), out = out_stride(s, layout);
    for (size_t i = 0; i < s->len; i++)
        for (size_t o = 0; o < s->d_out; o++) {
            float sum = 0;
            for (size_t d = 0; d < s->d_in; d++)
                sum += x[i * s->d_in + d] * w[d * in + o * out];
            y[i * s->d_out + o] = sum;
        }
}

/* Each row of w, times an element of x, added to a row of y. */
void linear_axpy(const struct linear_shape *s, const float *restrict x, const float *restrict w,
                 enum linear_layout layout, float *restrict y)
{
    const size_t in = in_stride(s, layout), out = out_stride(s, layout);
    memset(y, 0, s->len * s->d_out * sizeof *y);
    for (size_t i = 0; i < s->len; i++)
        for (size_t d = 0; d < s->d_in; d++) {
            const float factor = x[i * s->d_in + d];
            for (size_t o = 0; o < s->d_out; o++)
                y[i * s->d_out + o] += factor * w[d * in + o * out];
        }
}

void linear_one_thread(void)
{
    attn_blas_one_thread();
    omp_set_num_threads(1); /* for a BLAS library that uses OpenMP */
}

void linear_transpose(const float *w, size_t d_in, size_t d_out, float *stored)
{
    enum { TILE = 32 }; /* two tiles of 4 KiB stay in the L1 cache */
    for (size_t d = 0; d < d_in; d += TILE)
        for (size_t o = 0; o < d_out; o += TILE)
            for (size_t i = d; i < d_in && i < d + TILE; i++)
                for (size_t j = o; j < d_out && j < o + TILE; j++)
                    stored[j * d_in + i] = w[i * d_out + j];
}

double linear_bound(const struct linear_shape *s, const float *x, const float *stored, size_t i,
                    size_t o)
{
    const double nu = (double)s->d_in * 0x1p-24;
    double sum = 0;
    for (size_t d = 0; d < s->d_in; d++)
        sum += fabs((double)x[i * s->d_in + d] * (double)stored[o * s->d_in + d]);
    return 2 * nu / (1 - nu) * sum;
}
