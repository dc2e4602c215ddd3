/*
 * tensors_elements: elements of operands and results as float64, and back.
 */
#include "tensors.h"

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
    } else if (t->dtype == ATTN_I8) {
        for (size_t d = 0; d < n; d++)
            x[d] = ((const int8_t *)row)[at + d];
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
            ((int8_t *)row)[at + d] = (int8_t)lrint(fmin(fmax(x[d], -128), 127));
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
