/*
 * tensors_shape: determines sizes of operands that a problem leaves open.
 */
#include <string.h>

#include "base/refuse.h"
#include "clause.h"
#include "kv.h"
#include "lengths.h"
#include "operands_file.h"
#include "tensors_view.h"

/* Number of pages that no table names, to catch kernels that ignore the table. */
#define UNNAMED(named) (2 + (named) / 16)

static void set_dims(size_t dims[4], size_t b, size_t h, size_t i, size_t j)
{
    const size_t all[] = {b, h, i, j};
    memcpy(dims, all, sizeof all);
}

/* Adds up rows and pages of all sequences; `lengths` NULL: each has the problem's. */
static void add_up(const struct problem_case *c, const struct lengths *lengths,
                   struct tensors_shape *shape)
{
    const struct attn_problem *p = &c->problem;
    size_t named = 0;
    for (size_t b = 0; b < p->batch; b++) {
        const size_t q = lengths ? lengths->q[b] : p->q_len,
                     kv = lengths ? lengths->kv[b] : p->kv_len;
        shape->q_rows += p->options & ATTN_OPTION_PACKED ? q : 0;
        if (p->options & ATTN_OPTION_INDEX && p->options & ATTN_OPTION_PACKED)
            shape->lists += attn_lists(p, q);
        shape->kv_rows += attn_keys_packed(p) ? kv : 0;
        named += p->options & ATTN_OPTION_PAGED ? kv_pages(p, kv) : 0;
    }
    named -= (p->batch - 1) * prefix_pages(c);
    if (p->options & ATTN_OPTION_PAGED) {
        shape->pages = named + UNNAMED(named);
        shape->table_cols = kv_pages(p, p->kv_len);
    }
}

static void shape_masks(const struct problem_case *c, struct tensors_shape *shape)
{
    const struct attn_problem *p = &c->problem;
    const bool varies = lengths_vary_q(p) || lengths_vary_kv(p);
    shape->bias_dtype = p->dtype;
    if (c->input.mask_full)
        set_dims(shape->mask, p->batch, p->q_heads, p->q_len, p->kv_len);
    else
        set_dims(shape->mask, 1, 1, p->q_len, p->kv_len);
    switch (c->input.bias) {
    case INPUT_BIAS_HEADS:
        set_dims(shape->bias, 1, p->q_heads, p->q_len, p->kv_len);
        break;
    case INPUT_BIAS_KEYS:
        set_dims(shape->bias, 1, 1, 1, p->kv_len);
        break;
    case INPUT_BIAS_FULL:
        set_dims(shape->bias, p->batch, p->q_heads, p->q_len, p->kv_len);
        break;
    case INPUT_BIAS_CAUSAL: /* aligned to the end of each sequence */
        set_dims(shape->bias, varies ? p->batch : 1, 1, p->q_len, p->kv_len);
        break;
    }
}

static void shape_scales(const struct problem_case *c, struct tensors_shape *shape)
{
    const struct attn_problem *p = &c->problem;
    const bool packed = attn_keys_packed(p);
    const size_t batch = packed ? 1 : p->batch, rows = packed ? shape->kv_rows : p->kv_len;
    const size_t k = kv_groups(p, p->qk_dim), v = kv_groups(p, p->v_dim);
    set_dims(shape->k_scale, batch, p->kv_heads, rows, k);
    set_dims(shape->v_scale, batch, p->kv_heads, rows, v);
    if (c->input.scales == INPUT_SCALES_CHANNEL)
        set_dims(shape->k_scale, batch, p->kv_heads, 1, p->qk_dim);
    if (c->input.scales == INPUT_SCALES_HEAD || c->input.scales == INPUT_SCALES_TENSOR) {
        const size_t heads = c->input.scales == INPUT_SCALES_HEAD ? p->kv_heads : 1;
        set_dims(shape->k_scale, 1, heads, 1, k);
        set_dims(shape->v_scale, 1, heads, 1, v);
    }
}

bool tensors_shape_of(const struct problem_case *c, struct tensors_shape *shape, char *message,
                      size_t message_size)
{
    const bool counted = c->problem.options & (ATTN_OPTION_PACKED | ATTN_OPTION_PAGED);
    struct lengths lengths = {0};
    *shape = (struct tensors_shape){0};
    if (c->input.kind == INPUT_FILE && operands_file_has_more(&c->problem))
        return operands_file_shape_of(c, shape, message, message_size);
    if (counted && !lengths_of(c, &lengths))
        return refuse(message, message_size, "no memory for the lengths of %zu sequences",
                      c->problem.batch);
    if (counted)
        add_up(c, &lengths, shape);
    lengths_free(&lengths);
    if (shape->q_rows > INT32_MAX || shape->kv_rows > INT32_MAX || shape->pages > INT32_MAX)
        return refuse(message, message_size,
                      "%zu queries, %zu keys and %zu pages are more than 32-bit offsets can count",
                      shape->q_rows, shape->kv_rows, shape->pages);
    shape_masks(c, shape);
    shape_scales(c, shape);
    return true;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

struct tensors_shape tensors_shape_most(const struct attn_problem *p,
                                        const struct attn_tensors *tensors)
{
    const struct attn_tensors t = tensors ? *tensors : (struct attn_tensors){0};
    const struct problem_case most = {.problem = *p,
                                      .input = {.mask_full = true, .bias = INPUT_BIAS_FULL}};
    struct tensors_shape shape = {0};
    add_up(&most, NULL, &shape);
    shape.q_rows = larger(shape.q_rows, t.q_rows);
    shape.kv_rows = larger(shape.kv_rows, t.kv_rows);
    shape.pages = larger(shape.pages, t.pages);
    shape_masks(&most, &shape);
    shape_scales(&most, &shape);
    shape.bias_dtype = attn_statistics_dtype(p);
    if (p->kv_dtype != ATTN_I4)
        shape.k_scale[3] = p->qk_dim; /* for each channel */
    return shape;
}

/* Elements of a bias or a mask. */
static double elements(const size_t dims[4])
{
    return (double)dims[0] * (double)dims[1] * (double)dims[2] * (double)dims[3];
}

/* Rows of K in whole pages, with those that no table names, if every sequence has kv_len keys. */
static double paged_keys(const struct problem_case *c)
{
    const struct attn_problem *p = &c->problem;
    const double named = (double)p->batch * (double)kv_pages(p, p->kv_len) -
                         (double)(p->batch - 1) * (double)prefix_pages(c);
    return (named + UNNAMED(named)) * (double)p->page_size * (double)p->kv_heads;
}

double tensors_case_bytes(const struct problem_case *c)
{
    const struct attn_problem *p = &c->problem;
    const double rows = (double)p->batch * (double)p->q_heads * (double)p->q_len;
    const double keys = (double)p->batch * (double)p->kv_heads * (double)p->kv_len;
    const double dims = (double)(p->qk_dim + p->v_dim);
    const double of_key = (double)attn_elements_bytes(p->kv_dtype, (ptrdiff_t)p->qk_dim) +
                          (double)attn_elements_bytes(p->kv_dtype, (ptrdiff_t)p->v_dim);
    const double stored = p->options & ATTN_OPTION_PAGED ? paged_keys(c) : keys;
    struct tensors_shape shape = {0};
    shape_masks(c, &shape);
    double bytes = rows * dims * (double)attn_dtype_size(p->dtype) + stored * of_key;
    if (p->outputs & ATTN_OUTPUT_WEIGHTS)
        bytes += rows * (double)p->kv_len * (double)attn_dtype_size(attn_statistics_dtype(p));
    if (p->outputs & ATTN_OUTPUT_SCORES)
        bytes += rows * (double)p->kv_len * (double)attn_dtype_size(attn_statistics_dtype(p));
    if (p->mask & ATTN_MASK_BIAS)
        bytes += elements(shape.bias) * (double)attn_dtype_size(shape.bias_dtype);
    if (p->mask & ATTN_MASK_BOOL)
        bytes += elements(shape.mask);
    if (p->options & ATTN_OPTION_INDEX)
        bytes += (double)p->batch * (double)p->kv_heads * (double)attn_lists(p, p->q_len) *
                 (double)p->index_count * sizeof(int32_t);
    return bytes;
}
