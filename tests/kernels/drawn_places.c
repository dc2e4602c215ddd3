#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "drawn_places.h"
#include "problem/tensors.h"

bool drawn_on(const struct drawn_operands *d, unsigned option)
{
    return d->problem.options & option;
}

bool drawn_keys_packed(const struct drawn_operands *d)
{
    return drawn_on(d, ATTN_OPTION_PACKED) && !drawn_on(d, ATTN_OPTION_RAGGED) &&
           !drawn_on(d, ATTN_OPTION_PAGED);
}

const int32_t *drawn_ints(const struct attn_tensor *t)
{
    return t->data;
}

size_t drawn_q_len(const struct drawn_operands *d, size_t b)
{
    const int32_t *first = drawn_ints(&d->tensors.cu_seqlens);
    return drawn_on(d, ATTN_OPTION_PACKED) ? (size_t)(first[b + 1] - first[b]) : d->problem.q_len;
}

size_t drawn_kv_len(const struct drawn_operands *d, size_t b)
{
    const int32_t *first = drawn_ints(&d->tensors.cu_seqlens_kv);
    if (drawn_on(d, ATTN_OPTION_RAGGED))
        return (size_t)drawn_ints(&d->tensors.kv_lens)[b];
    return drawn_keys_packed(d) ? (size_t)(first[b + 1] - first[b]) : d->problem.kv_len;
}

/* ---- room for elements --------------------------------------------------------------------- */

void *drawn_block(struct drawn_operands *d, size_t elements, enum attn_dtype dtype)
{
    const size_t bytes = (size_t)attn_elements_bytes(dtype, (ptrdiff_t)(elements ? elements : 1));
    void *memory = malloc(bytes);
    assert_non_null(memory);
    assert_true(d->count < sizeof d->blocks / sizeof *d->blocks);
    memset(memory, 0xff, bytes);
    return d->blocks[d->count++] = memory;
}

struct attn_tensor drawn_tensor(struct drawn_operands *d, size_t outer, size_t heads, size_t rows,
                                size_t columns, enum attn_dtype dtype)
{
    const size_t odd = columns + random_below(d->key, d->drawn++, 4);
    const size_t row = dtype == ATTN_I4 ? odd + odd % 2 : odd; /* rows begin at whole bytes */
    struct attn_tensor t = {.dtype = dtype,
                            .data = drawn_block(d, outer * heads * rows * row, dtype)};
    const bool heads_first = d->problem.layout == ATTN_BHSD;
    t.stride[0] = (ptrdiff_t)(heads * rows * row);
    t.stride[1] = (ptrdiff_t)(heads_first ? rows * row : row);
    t.stride[2] = (ptrdiff_t)(heads_first ? row : heads * row);
    t.stride[3] = 1;
    return t;
}

struct attn_tensor drawn_rows_tensor(struct drawn_operands *d, size_t columns,
                                     enum attn_dtype dtype)
{
    const struct attn_problem *p = &d->problem;
    if (!drawn_on(d, ATTN_OPTION_PACKED))
        return drawn_tensor(d, p->batch, p->q_heads, p->q_len, columns, dtype);
    struct attn_tensor t = drawn_tensor(d, 1, p->q_heads, d->tensors.q_rows, columns, dtype);
    t.stride[0] = 0;
    return t;
}

struct attn_tensor drawn_numbers(struct drawn_operands *d, size_t n, enum attn_dtype dtype)
{
    return (struct attn_tensor){.data = drawn_block(d, n, dtype), .dtype = dtype, .stride = {1}};
}

struct attn_tensor drawn_keys_tensor(struct drawn_operands *d, size_t columns)
{
    const struct attn_problem *p = &d->problem;
    const bool paged = drawn_on(d, ATTN_OPTION_PAGED), packed = drawn_keys_packed(d);
    const size_t outer = paged ? d->tensors.pages : packed ? 1 : p->batch;
    const size_t rows = paged ? p->page_size : packed ? d->tensors.kv_rows : p->kv_len;
    struct attn_tensor t = drawn_tensor(d, outer, p->kv_heads, rows, columns, p->kv_dtype);
    if (packed)
        t.stride[0] = 0;
    return t;
}

/* ---- which element ------------------------------------------------------------------------- */

ptrdiff_t drawn_number(const struct attn_tensor *t, size_t a, size_t h, size_t r, ptrdiff_t e)
{
    return (ptrdiff_t)a * t->stride[0] + (ptrdiff_t)h * t->stride[1] + (ptrdiff_t)r * t->stride[2] +
           e;
}

/* Number of element e of key j in K or V. */
ptrdiff_t drawn_key_number(const struct drawn_operands *d, const struct attn_tensor *t, size_t b,
                           size_t g, size_t j, size_t e)
{
    const size_t page_size = d->problem.page_size;
    if (drawn_on(d, ATTN_OPTION_PAGED)) {
        const int32_t *table = drawn_ints(&d->tensors.block_table);
        const size_t width = (d->problem.kv_len + page_size - 1) / page_size;
        const int32_t page = table[b * width + j / page_size];
        assert_true(page >= 0);
        return drawn_number(t, (size_t)page, g, j % page_size, (ptrdiff_t)e);
    }
    const size_t first =
        drawn_keys_packed(d) ? (size_t)drawn_ints(&d->tensors.cu_seqlens_kv)[b] : 0;
    return drawn_number(t, b, g, first + j, (ptrdiff_t)e);
}

size_t drawn_scales(const struct attn_problem *problem, bool channels, size_t dim)
{
    return problem->kv_dtype == ATTN_I4 ? (dim - 1) / problem->kv_group + 1 : channels ? dim : 1;
}

ptrdiff_t drawn_scale_number(const struct drawn_operands *d, const struct attn_tensor *t, size_t b,
                             size_t g, size_t j, ptrdiff_t e)
{
    const size_t first =
        drawn_keys_packed(d) ? (size_t)drawn_ints(&d->tensors.cu_seqlens_kv)[b] : 0;
    return drawn_number(t, b, g, first + j, e);
}

double drawn_get(const struct attn_tensor *t, ptrdiff_t at)
{
    const struct attn_tensor flat = {.data = t->data, .dtype = t->dtype};
    return tensors_get(&flat, 0, 0, 0, (size_t)at);
}

void drawn_set(const struct attn_tensor *t, ptrdiff_t at, double x)
{
    const struct attn_tensor flat = {.data = t->data, .dtype = t->dtype};
    tensors_set(&flat, 0, 0, 0, (size_t)at, x);
}

double drawn_q(const struct drawn_operands *d, size_t b, size_t h, size_t i, size_t e)
{
    const size_t first =
        drawn_on(d, ATTN_OPTION_PACKED) ? (size_t)drawn_ints(&d->tensors.cu_seqlens)[b] : 0;
    return drawn_get(&d->tensors.q, drawn_number(&d->tensors.q, b, h, first + i, (ptrdiff_t)e));
}

/* Element e of key j in K or V: less its zero point, times its scale. */
static double element(const struct drawn_operands *d, const struct attn_tensor *t,
                      const struct attn_tensor *scale, const struct attn_tensor *zero, size_t b,
                      size_t g, size_t j, size_t e)
{
    const struct attn_problem *p = &d->problem;
    const bool i4 = p->kv_dtype == ATTN_I4;
    const ptrdiff_t which = scale->stride[3] ? (ptrdiff_t)(i4 ? e / p->kv_group : e) : 0;
    double x = drawn_get(t, drawn_key_number(d, t, b, g, j, e));
    if (i4)
        x -= zero->data ? drawn_get(zero, drawn_scale_number(d, zero, b, g, j, which)) : 8;
    if (attn_dtype_scaled(p->kv_dtype))
        x *= drawn_get(scale, drawn_scale_number(d, scale, b, g, j, which));
    return x;
}

double drawn_k(const struct drawn_operands *d, size_t b, size_t g, size_t j, size_t e)
{
    const struct attn_tensors *t = &d->tensors;
    return element(d, &t->k, &t->k_scale, &t->k_zero, b, g, j, e);
}

double drawn_v(const struct drawn_operands *d, size_t b, size_t g, size_t j, size_t e)
{
    const struct attn_tensors *t = &d->tensors;
    return element(d, &t->v, &t->v_scale, &t->v_zero, b, g, j, e);
}

double drawn_bias(const struct drawn_operands *d, size_t b, size_t h, size_t i, size_t j)
{
    const struct attn_tensor *bias = &d->tensors.bias;
    return drawn_get(bias, drawn_number(bias, b, h, i, (ptrdiff_t)j));
}

ptrdiff_t drawn_distance(const struct drawn_operands *d, size_t b, size_t i, size_t j)
{
    const ptrdiff_t shift = d->problem.mask & ATTN_MASK_CAUSAL_TOP_LEFT
                                ? 0
                                : (ptrdiff_t)drawn_kv_len(d, b) - (ptrdiff_t)drawn_q_len(d, b);
    return (ptrdiff_t)j - (ptrdiff_t)i - shift;
}

int32_t *drawn_parents(const struct drawn_operands *d, size_t b)
{
    int32_t *all = d->tensors.parents.data;
    return drawn_on(d, ATTN_OPTION_PACKED) ? all + drawn_ints(&d->tensors.cu_seqlens)[b]
                                           : all + b * d->problem.q_len;
}

/* Whether key j is of the cache, or of draft i or one above it. */
static bool in_tree(const struct drawn_operands *d, size_t b, size_t i, size_t j)
{
    const ptrdiff_t cached = (ptrdiff_t)drawn_kv_len(d, b) - (ptrdiff_t)drawn_q_len(d, b);
    bool found = (ptrdiff_t)j < cached;
    for (ptrdiff_t draft = (ptrdiff_t)i; draft != -1; draft = drawn_parents(d, b)[draft])
        found |= cached + draft == (ptrdiff_t)j;
    return found;
}

int32_t *drawn_list(const struct drawn_operands *d, size_t b, size_t g, size_t i)
{
    const struct attn_tensor *t = &d->tensors.indices;
    size_t row = i / d->problem.index_block, outer = b;
    for (size_t a = 0; drawn_on(d, ATTN_OPTION_PACKED) && a < b; a++)
        for (size_t first = 0; first < drawn_q_len(d, a); first += d->problem.index_block)
            row++;
    if (drawn_on(d, ATTN_OPTION_PACKED))
        outer = 0;
    return (int32_t *)t->data + drawn_number(t, outer, g, row, 0);
}

static bool in_list(const struct drawn_operands *d, size_t b, size_t h, size_t i, size_t j)
{
    const size_t group = d->problem.q_heads / d->problem.kv_heads;
    const int32_t *list = drawn_list(d, b, h / group, i);
    bool found = false;
    for (size_t n = 0; n < d->problem.index_count; n++)
        found |= list[n] == (ptrdiff_t)j;
    return found;
}

bool drawn_sees(const struct drawn_operands *d, size_t b, size_t h, size_t i, size_t j)
{
    const struct attn_problem *p = &d->problem;
    const ptrdiff_t distance = drawn_distance(d, b, i, j);
    const struct attn_tensor *mask = &d->tensors.mask;
    if (p->mask & (ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT) && distance > 0)
        return false;
    if (drawn_on(d, ATTN_OPTION_WINDOW) && ((p->window_left >= 0 && distance < -p->window_left) ||
                                            (p->window_right >= 0 && distance > p->window_right)))
        return false;
    if (p->mask & ATTN_MASK_TREE && !in_tree(d, b, i, j))
        return false;
    if (drawn_on(d, ATTN_OPTION_INDEX) && !in_list(d, b, h, i, j))
        return false;
    if (p->mask & ATTN_MASK_BOOL && drawn_get(mask, drawn_number(mask, b, h, i, (ptrdiff_t)j)) == 0)
        return false;
    return !(p->mask & ATTN_MASK_BIAS && drawn_bias(d, b, h, i, j) == -INFINITY);
}
