/*
 * definition: scores, weights and output, element by element.
 */
#include "definition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_call.h"
#include "softmax_facts.h"

void definition_scores(const struct kernel_weights_head *head, double factor, double *x)
{
    for (size_t i = 0; i < head->rows; i++)
        for (size_t j = 0; j < head->keys; j++)
            x[i * head->keys + j] = factor * kernel_call_dot(head->q + i * head->stride,
                                                             head->k + j * head->stride, head->dim);
}

void definition_output(const struct kernel_weights_head *head, const double *p, const float *v,
                       size_t v_stride, size_t v_dim, double *o)
{
    memset(o, 0, head->rows * v_dim * sizeof *o);
    for (size_t i = 0; i < head->rows; i++)
        for (size_t j = 0; j < head->keys; j++)
            for (size_t d = 0; d < v_dim; d++)
                o[i * v_dim + d] += p[i * head->keys + j] * (double)v[j * v_stride + d];
}

void definition_weights(const struct kernel_weights_head *head, double *p)
{
    const struct attn_problem problem = kernel_weights_problem(head, 1);
    double *x = calloc(head->keys, sizeof *x);
    for (size_t i = 0; x && i < head->rows; i++) {
        const struct attn_range range = attn_visible(&problem, (ptrdiff_t)i);
        double *row = p + i * head->keys;
        memset(row, 0, head->keys * sizeof *row);
        bool any = false;
        for (ptrdiff_t j = range.lo; j < range.hi; j++) {
            x[j] = kernel_call_dot(head->q + i * head->stride, head->k + (size_t)j * head->stride,
                                   head->dim) *
                   (double)attn_problem_scale(&problem);
            if (head->added)
                x[j] += (double)head->added[i * head->keys + (size_t)j];
            any |= x[j] > -INFINITY;
        }
        if (any)
            softmax_facts(x + range.lo, (size_t)(range.hi - range.lo), row + range.lo);
    }
    free(x);
}
