/*
 * tensors_elements: reads and writes elements of operands and results as float64.
 */
#include "tensors_view.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "element.h"

void tensors_get_row(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t at,
                     double *x, size_t n)
{
    const void *row = attn_row(t, b, h, i);
    if (t->dtype == ATTN_F64) {
        memcpy(x, (const double *)row + at, n * sizeof *x);
    } else if (t->dtype == ATTN_F32) {
        for (size_t d = 0; d < n; d++)
            x[d] = (double)((const float *)row)[at + d];
    } else if (t->dtype == ATTN_BF16) {
        for (size_t d = 0; d < n; d++)
            x[d] = (double)attn_bf16_to_f32(((const uint16_t *)row)[at + d]);
    } else if (t->dtype == ATTN_F16) {
        for (size_t d = 0; d < n; d++)
            x[d] = (double)attn_f16_to_f32(((const uint16_t *)row)[at + d]);
    } else if (t->dtype == ATTN_I4) {
        for (size_t d = 0; d < n; d++)
            x[d] = attn_nibble(row, at + d);
    } else if (attn_dtype_scaled(t->dtype)) {
        for (size_t d = 0; d < n; d++)
            x[d] = (double)attn_byte_to_f32(t->dtype, ((const uint8_t *)row)[at + d]);
    } else if (t->dtype == ATTN_I32) {
        for (size_t d = 0; d < n; d++)
            x[d] = ((const int32_t *)row)[at + d];
    } else {
        assert(t->dtype == ATTN_BOOL);
        for (size_t d = 0; d < n; d++)
            x[d] = ((const uint8_t *)row)[at + d];
    }
}

double tensors_get(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t d)
{
    double x;
    tensors_get_row(t, b, h, i, d, &x, 1);
    return x;
}

/* x rounded to an integer from low to high; low if x is NaN.  libm's fmin() is a call for each element. */
static long nearest(double x, double low, double high)
{
    return lrint(x > low ? (x < high ? x : high) : low);
}

void tensors_set_row(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t at,
                     const double *x, size_t n)
{
    void *row = attn_row(t, b, h, i);
    if (t->dtype == ATTN_F64) {
        memcpy((double *)row + at, x, n * sizeof *x);
    } else if (t->dtype == ATTN_F32) {
        for (size_t d = 0; d < n; d++)
            ((float *)row)[at + d] = (float)x[d];
    } else if (t->dtype == ATTN_BF16) {
        for (size_t d = 0; d < n; d++)
            ((uint16_t *)row)[at + d] = attn_f32_to_bf16((float)x[d]);
    } else if (t->dtype == ATTN_I8) {
        for (size_t d = 0; d < n; d++)
            ((int8_t *)row)[at + d] = (int8_t)nearest(x[d], -128, 127);
    } else if (t->dtype == ATTN_I4) {
        for (size_t d = 0; d < n; d++)
            attn_set_nibble(row, at + d, (unsigned)nearest(x[d], 0, 15));
    } else if (t->dtype == ATTN_F8E4M3) {
        for (size_t d = 0; d < n; d++)
            ((uint8_t *)row)[at + d] = attn_f32_to_f8e4m3((float)x[d]);
    } else if (t->dtype == ATTN_F8E5M2) {
        for (size_t d = 0; d < n; d++)
            ((uint8_t *)row)[at + d] = attn_f32_to_f8e5m2((float)x[d]);
    } else if (t->dtype == ATTN_BOOL) {
        for (size_t d = 0; d < n; d++)
            ((uint8_t *)row)[at + d] = x[d] != 0;
    } else {
        assert(t->dtype == ATTN_F16);
        for (size_t d = 0; d < n; d++)
            ((uint16_t *)row)[at + d] = attn_f32_to_f16((float)x[d]);
    }
}

void tensors_store(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t at,
                   const float *x, size_t n)
{
    for (size_t d = 0; d < n; d++)
        tensors_set_row(t, b, h, i, at + d, &(double){(double)x[d]}, 1);
}

void tensors_set(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t d, double x)
{
    tensors_set_row(t, b, h, i, d, &x, 1);
}

double tensors_rounded(enum attn_dtype dtype, double x)
{
    double room = 0;
    const struct attn_tensor one = {&room, dtype, {0}};
    tensors_set(&one, 0, 0, 0, 0, x);
    return tensors_get(&one, 0, 0, 0, 0);
}

void tensors_copy_row(const struct tensors_view *view, const struct attn_tensor *from,
                      const struct attn_tensor *to, const size_t at[3], size_t cols)
{
    const size_t b = at[0], h = at[1], i = at[2], step = from->stride[view->dense] != 0;
    if (from->dtype == to->dtype && step)
        memcpy(attn_row(to, b, h, i), attn_row(from, b, h, i),
               (size_t)attn_elements_bytes(to->dtype, (ptrdiff_t)cols));
    else /* a bias, or scales */
        for (size_t j = 0; j < cols; j++)
            tensors_set(to, b, h, i, j, tensors_get(from, b, h, i, j * step));
}

/* ---- rows of results, sequence by sequence --------------------------------------------------- */

/* Queries of all sequences before sequence b. */
static size_t queries_before(const struct attn_problem *p, const struct attn_tensors *t, size_t b)
{
    return p->options & ATTN_OPTION_PACKED ? (size_t)((const int32_t *)t->cu_seqlens.data)[b]
                                           : b * p->q_len;
}

size_t tensors_rows(const struct attn_problem *p, const struct attn_tensors *t)
{
    return p->q_heads * queries_before(p, t, p->batch);
}

struct tensors_place tensors_place(const struct attn_problem *p, const struct attn_tensors *t,
                                   size_t number)
{
    size_t b = 0, end = p->batch;
    while (end - b > 1) { /* the last sequence that begins at or before the row */
        const size_t middle = b + (end - b) / 2;
        if (queries_before(p, t, middle) * p->q_heads <= number)
            b = middle;
        else
            end = middle;
    }
    const struct attn_sequence s = attn_sequence(p, t, b);
    const size_t within = number - queries_before(p, t, b) * p->q_heads;
    const size_t i = within % s.q_len;
    return (struct tensors_place){b, within / s.q_len, i, s.q_first + i};
}
