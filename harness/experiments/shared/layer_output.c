/*
 * layer_output: how far an output is from the one in a layer's file.
 */
#include <math.h>

#include "layer_file.h"

/* Tolerance, as a share of the output's largest element: sums of 384 float32 products, twice, were
 * seen to differ by 8e-7 of it (all-MiniLM-L6-v2, Zen 4, 2026-11-21), and this is ten times that.
 * It grows in proportion to the length of the sums. */
#define MATCH 8e-6
#define MATCH_D_IN 384.0

size_t layer_file_outputs(const struct layer_file *file)
{
    const struct attn_self_attention *l = &file->layer;
    return l->batch * l->len * (l->d_out ? l->d_out : l->heads * l->v_dim);
}

/* Element i of the layer's output, as the file has it: o is (B, H, S, D) and y is (B, S, H * D). */
static double expected(const struct layer_file *file, size_t i)
{
    const struct attn_self_attention *l = &file->layer;
    if (file->output == LAYER_Y)
        return (double)file->data[LAYER_Y][i];
    const size_t d = i % l->v_dim, h = i / l->v_dim % l->heads, row = i / l->v_dim / l->heads;
    const size_t b = row / l->len, s = row % l->len;
    return (double)file->data[LAYER_O][((b * l->heads + h) * l->len + s) * l->v_dim + d];
}

double layer_file_difference(const struct layer_file *file, const float *y)
{
    const size_t n = layer_file_outputs(file);
    double worst = 0;
    if (!file->data[file->output])
        return NAN;
    for (size_t i = 0; i < n; i++) {
        const double e = fabs((double)y[i] - expected(file, i));
        worst = e <= worst ? worst : e;
    }
    return worst;
}

double layer_file_allowed(double largest, size_t d_in, enum attn_dtype dtype)
{
    const double unit = dtype == ATTN_BF16 ? 0x1p-8 : dtype == ATTN_F16 ? 0x1p-11 : 0;
    return largest * (MATCH * fmax(1, (double)d_in / MATCH_D_IN) + unit);
}

double layer_file_tolerance(const struct layer_file *file)
{
    const size_t n = file->data[file->output] ? layer_file_outputs(file) : 0;
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        const double size = fabs(expected(file, i));
        largest = size > largest ? size : largest; /* GCC 12.2 for AArch64 fails at fmax() here */
    }
    return layer_file_allowed(largest, file->layer.d_in, file->dtype);
}
