/*
 * tensors_shape: determines sizes of operands that a problem leaves open.
 */
#include <string.h>

#include "base/message.h"
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

/* Adds up rows and pages of `count` sequences of q queries and kv keys. */
static void add_up(const struct attn_problem *p, size_t count, size_t q, size_t kv,
                   struct tensors_shape *shape)
{
    if (p->options & ATTN_OPTION_PACKED)
        shape->q_rows += count * q;
    if (p->options & ATTN_OPTION_PACKED && p->options & ATTN_OPTION_INDEX)
        shape->lists += count * attn_lists(p, q);
    if (attn_keys_packed(p))
        shape->kv_rows += count * kv;
    if (p->options & ATTN_OPTION_PAGED)
        shape->pages += count * kv_pages(p, kv);
}

/* Sets the rows and pages of a case; `lengths` NULL: each sequence has the problem's. */
static void shape_rows(const struct problem_case *c, const struct lengths *lengths,
                       struct tensors_shape *shape)
{
    const struct attn_problem *p = &c->problem;
    for (size_t b = 0; lengths && b < p->batch; b++)
        add_up(p, 1, lengths->q[b], lengths->kv[b], shape);
    if (!lengths)
        add_up(p, p->batch, p->q_len, p->kv_len, shape);
    if (p->options & ATTN_OPTION_PAGED) {
        shape->pages -= (p->batch - 1) * clause_prefix_pages(c);
        shape->pages += UNNAMED(shape->pages);
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

bool tensors_shape_of(const struct problem_case *c, struct tensors_shape *shape,
                      struct message message)
{
    const bool counted = c->problem.options & (ATTN_OPTION_PACKED | ATTN_OPTION_PAGED);
    struct lengths lengths = {0};
    *shape = (struct tensors_shape){0};
    if (c->input.kind == INPUT_FILE && operands_file_has_more(&c->problem))
        return operands_file_shape_of(c, shape, message);
    if (counted && !lengths_of(c, &lengths))
        return refuse(message, "no memory for the lengths of %zu sequences", c->problem.batch);
    if (counted)
        shape_rows(c, &lengths, shape);
    lengths_free(&lengths);
    if (shape->q_rows > INT32_MAX || shape->kv_rows > INT32_MAX || shape->pages > INT32_MAX)
        return refuse(message,
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
    shape_rows(&most, NULL, &shape);
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

double tensors_case_bytes(const struct problem_case *c)
{
    struct tensors_view views[TENSORS_SPANS];
    struct tensors_shape shape = {0};
    double bytes = 0;
    shape_rows(c, NULL, &shape);
    shape_masks(c, &shape);
    shape_scales(c, &shape);
    size_t count = tensors_operands(NULL, &c->problem, &shape, views);
    count += tensors_results(NULL, &c->problem, &shape, views + count);
    for (size_t n = 0; n < count; n++)
        bytes += (double)tensors_extent(&views[n], 0);
    return bytes;
}
