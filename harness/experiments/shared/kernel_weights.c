/*
 * kernel_weights: one head through a kernel, and through the definition.
 */
#include "kernel_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_call.h"
#include "softmax_facts.h"

static struct attn_problem problem_of(const struct weights_head *head, size_t v_dim)
{
    struct attn_problem problem;
    attn_problem_init(&problem);
    problem.q_len = head->rows;
    problem.kv_len = head->keys;
    problem.qk_dim = head->dim;
    problem.v_dim = v_dim;
    problem.scale = head->scale;
    problem.mask = head->mask;
    problem.dtype = problem.kv_dtype = head->dtype;
    return problem;
}

bool kernel_weights_takes(const char *name, unsigned mask)
{
    const struct weights_head head = {.rows = 1, .keys = 1, .dim = 1, .mask = mask};
    const struct attn_problem problem = problem_of(&head, 1);
    struct experiment_work work;
    return kernel_call_find(name, &problem, &work);
}

/* Stores the mask operand's row of query i. */
static void store_added(const struct weights_head *head, const struct attn_tensors *t, size_t i)
{
    const float *added = head->added + i * head->keys;
    uint8_t *mask = head->mask & ATTN_MASK_BOOL ? attn_row(&t->mask, 0, 0, i) : NULL;
    if (head->mask & ATTN_MASK_BIAS)
        tensors_store(&t->bias, 0, 0, i, 0, added, head->keys);
    for (size_t j = 0; mask && j < head->keys; j++)
        mask[j] = added[j] != -INFINITY;
}

/* v NULL: the identity. */
bool kernel_values(const char *name, const struct weights_head *head, const float *v, size_t v_dim,
                   double *o, struct experiment_work *work)
{
    const struct attn_problem problem = problem_of(head, v_dim);
    struct kernel_call call;
    const struct attn_kernel *kernel = kernel_call_find(name, &problem, work);
    if (!kernel || !kernel_call_open(&call, kernel, &problem, work->threads, work))
        return false;
    const struct attn_tensors *t = &call.set.tensors;
    for (size_t i = 0; i < head->rows; i++) {
        tensors_store(&t->q, 0, 0, i, 0, head->q + i * head->stride, head->dim);
        if (head->added)
            store_added(head, t, i);
    }
    for (size_t j = 0; j < head->keys; j++) {
        tensors_store(&t->k, 0, 0, j, 0, head->k + j * head->stride, head->dim);
        if (v)
            tensors_store(&t->v, 0, 0, j, 0, v + j * v_dim, v_dim);
        else
            tensors_set(&t->v, 0, 0, j, j, 1);
    }
    kernel_call_run(&call);
    for (size_t i = 0; i < head->rows; i++)
        for (size_t d = 0; d < v_dim; d++)
            o[i * v_dim + d] = tensors_get(&t->o, 0, 0, i, d);
    kernel_call_close(&call);
    return true;
}

bool kernel_weights(const char *name, const struct weights_head *head, double *p,
                    struct experiment_work *work)
{
    return kernel_values(name, head, NULL, head->keys, p, work);
}

void definition_scores(const struct weights_head *head, double factor, double *x)
{
    for (size_t i = 0; i < head->rows; i++)
        for (size_t j = 0; j < head->keys; j++)
            x[i * head->keys + j] = factor * kernel_dot(head->q + i * head->stride,
                                                        head->k + j * head->stride, head->dim);
}

void definition_output(const struct weights_head *head, const double *p, const float *v,
                       size_t v_stride, size_t v_dim, double *o)
{
    memset(o, 0, head->rows * v_dim * sizeof *o);
    for (size_t i = 0; i < head->rows; i++)
        for (size_t j = 0; j < head->keys; j++)
            for (size_t d = 0; d < v_dim; d++)
                o[i * v_dim + d] += p[i * head->keys + j] * (double)v[j * v_stride + d];
}

void definition_weights(const struct weights_head *head, double *p)
{
    const struct attn_problem problem = problem_of(head, 1);
    double *x = calloc(head->keys, sizeof *x);
    for (size_t i = 0; x && i < head->rows; i++) {
        const struct attn_range range = attn_visible(&problem, (ptrdiff_t)i);
        double *row = p + i * head->keys;
        memset(row, 0, head->keys * sizeof *row);
        bool any = false;
        for (ptrdiff_t j = range.lo; j < range.hi; j++) {
            x[j] = kernel_dot(head->q + i * head->stride, head->k + (size_t)j * head->stride,
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
