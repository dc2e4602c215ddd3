/*
 * kernel_weights: one head through a kernel.
 */
#include "kernel_weights.h"

#include <math.h>

#include "kernel_call.h"

struct attn_problem kernel_weights_problem(const struct kernel_weights_head *head, size_t v_dim)
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
    const struct kernel_weights_head head = {.rows = 1, .keys = 1, .dim = 1, .mask = mask};
    const struct attn_problem problem = kernel_weights_problem(&head, 1);
    struct experiment_work work;
    return kernel_call_find(name, &problem, &work);
}

/* Stores the mask operand's row of query i. */
static void store_added(const struct kernel_weights_head *head, const struct attn_tensors *t,
                        size_t i)
{
    const float *added = head->added + i * head->keys;
    uint8_t *mask = head->mask & ATTN_MASK_BOOL ? attn_row(&t->mask, 0, 0, i) : NULL;
    if (head->mask & ATTN_MASK_BIAS)
        tensors_store(&t->bias, 0, 0, i, 0, added, head->keys);
    for (size_t j = 0; mask && j < head->keys; j++)
        mask[j] = added[j] != -INFINITY;
}

/* v NULL: the identity. */
bool kernel_weights_values(const char *name, const struct kernel_weights_head *head, const float *v,
                           size_t v_dim, double *o, struct experiment_work *work)
{
    const struct attn_problem problem = kernel_weights_problem(head, v_dim);
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

bool kernel_weights(const char *name, const struct kernel_weights_head *head, double *p,
                    struct experiment_work *work)
{
    return kernel_weights_values(name, head, NULL, head->keys, p, work);
}
