#include "testing.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "drawn_places.h"

static size_t below(struct drawn_operands *d, size_t n)
{
    return random_below(d->key, d->drawn++, n);
}

/* Of a problem in f64 with more digits than a float has. */
static double normal(struct drawn_operands *d)
{
    float x, rest = 0;
    random_normal(&x, 1, d->key, d->drawn++);
    if (d->problem.dtype == ATTN_F64)
        random_normal(&rest, 1, d->key, d->drawn++);
    return (double)x + 0x1p-26 * (double)rest;
}

/* (B, heads, rows, columns), each of the first three dimensions shared or not. */
static struct attn_tensor broadcast(struct drawn_operands *d, size_t heads, size_t rows,
                                    size_t columns, enum attn_dtype dtype)
{
    const size_t batch = d->problem.batch, a = below(d, 2), b = below(d, 2), c = below(d, 2);
    struct attn_tensor t =
        drawn_tensor(d, a ? batch : 1, b ? heads : 1, c ? rows : 1, columns, dtype);
    t.stride[0] *= (ptrdiff_t)a;
    t.stride[1] *= (ptrdiff_t)b;
    t.stride[2] *= (ptrdiff_t)c;
    return t;
}

/* 0, all or anything between. */
static size_t length(struct drawn_operands *d, size_t most)
{
    const size_t kind = below(d, 5);
    return kind == 0 ? 0 : kind == 1 ? most : below(d, most + 1);
}

static struct attn_tensor offsets(struct drawn_operands *d, size_t most, size_t *rows)
{
    struct attn_tensor t = drawn_numbers(d, d->problem.batch + 1, ATTN_I32);
    int32_t *first = t.data;
    first[0] = 0;
    for (size_t b = 0; b < d->problem.batch; b++)
        first[b + 1] = first[b] + (int32_t)length(d, most);
    *rows = (size_t)first[d->problem.batch];
    return t;
}

static void draw_lengths(struct drawn_operands *d)
{
    const struct attn_problem *p = &d->problem;
    struct attn_tensors *t = &d->tensors;
    if (drawn_on(d, ATTN_OPTION_PACKED))
        t->cu_seqlens = offsets(d, p->q_len, &t->q_rows);
    if (drawn_keys_packed(d))
        t->cu_seqlens_kv = offsets(d, p->kv_len, &t->kv_rows);
    if (drawn_on(d, ATTN_OPTION_RAGGED)) {
        t->kv_lens = drawn_numbers(d, p->batch, ATTN_I32);
        for (size_t b = 0; b < p->batch; b++)
            ((int32_t *)t->kv_lens.data)[b] = (int32_t)length(d, p->kv_len);
    }
}

/* Pages in any order, two of them nobody's; some sequences begin with the page of the one before. */
static void draw_pages(struct drawn_operands *d)
{
    const struct attn_problem *p = &d->problem;
    struct attn_tensors *t = &d->tensors;
    const size_t width = (p->kv_len + p->page_size - 1) / p->page_size;
    t->pages = p->batch * width + 2;
    t->block_table = drawn_numbers(d, p->batch * width, ATTN_I32);
    t->block_table.stride[0] = (ptrdiff_t)width;
    int32_t *table = t->block_table.data, *order = drawn_block(d, t->pages, ATTN_I32);
    for (size_t n = 0; n < t->pages; n++)
        order[n] = (int32_t)n;
    for (size_t n = t->pages - 1; n > 0; n--) {
        const size_t other = below(d, n + 1);
        const int32_t page = order[n];
        order[n] = order[other];
        order[other] = page;
    }
    for (size_t b = 0; b < p->batch; b++)
        for (size_t n = 0; n * p->page_size < drawn_kv_len(d, b); n++)
            table[b * width + n] = order[b * width + n];
    for (size_t b = 1; b < p->batch; b++)
        if (below(d, 3) == 0 && drawn_kv_len(d, b) && drawn_kv_len(d, b - 1)) {
            table[b * width] = table[(b - 1) * width];
            d->pages_shared = true;
        }
}

static void draw_key(struct drawn_operands *d, const struct attn_tensor *t, size_t b, size_t g,
                     size_t j, size_t n)
{
    for (size_t e = 0; e < n; e++)
        drawn_set(t, drawn_key_number(d, t, b, g, j, e),
                  t->dtype == ATTN_I8   ? (double)below(d, 255) - 127
                  : t->dtype == ATTN_I4 ? (double)below(d, 16)
                                        : normal(d));
}

static struct attn_tensor draw_keys(struct drawn_operands *d, size_t columns)
{
    const struct attn_problem *p = &d->problem;
    const struct attn_tensor t = drawn_keys_tensor(d, columns);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < drawn_kv_len(d, b); j++)
                draw_key(d, &t, b, g, j, columns);
    return t;
}

/* Scales one a token, or one a channel, or one a group of each token's row of `dim`; K and V come to N(0, 1)
 * or so. */
static struct attn_tensor draw_scales(struct drawn_operands *d, bool channels, size_t dim)
{
    const struct attn_problem *p = &d->problem;
    const size_t rows = drawn_keys_packed(d) ? d->tensors.kv_rows : p->kv_len;
    const size_t columns = drawn_scales(p, channels, dim);
    const bool groups = p->kv_dtype == ATTN_I4;
    struct attn_tensor t = broadcast(d, p->kv_heads, channels ? 1 : rows, columns, ATTN_F32);
    if (channels)
        t.stride[2] = 0;
    if (drawn_keys_packed(d))
        t.stride[0] = 0;
    t.stride[3] = channels || groups;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < drawn_kv_len(d, b); j++)
                for (size_t e = 0; e < columns; e++)
                    drawn_set(&t, drawn_scale_number(d, &t, b, g, j, (ptrdiff_t)e),
                              below(d, 20) == 0 ? 0 : normal(d) / (groups ? 5 : 70));
    return t;
}

/* A number from 0 to 15, in quarters, beside each scale. */
static struct attn_tensor draw_zeros(struct drawn_operands *d, size_t dim)
{
    const struct attn_problem *p = &d->problem;
    struct attn_tensor t = draw_scales(d, false, dim);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < drawn_kv_len(d, b); j++)
                for (size_t e = 0; e < drawn_scales(p, false, dim); e++)
                    drawn_set(&t, drawn_scale_number(d, &t, b, g, j, (ptrdiff_t)e),
                              (double)below(d, 61) / 4);
    return t;
}

/* Hides a third of the keys, and all of some rows. */
static void draw_terms(struct drawn_operands *d, const struct attn_tensor *t, double shown,
                       double hidden)
{
    const struct attn_problem *p = &d->problem;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < drawn_q_len(d, b); i++) {
                const bool all = below(d, 8) == 0;
                for (size_t j = 0; j < drawn_kv_len(d, b); j++)
                    drawn_set(t, drawn_number(t, b, h, i, (ptrdiff_t)j),
                              all || below(d, 3) == 0 ? hidden
                              : t->dtype == ATTN_BOOL ? shown
                                                      : normal(d));
            }
}

/* Chains, stars and anything between: parents are often the last draft or the cache. */
static void draw_parents(struct drawn_operands *d)
{
    const struct attn_problem *p = &d->problem;
    const bool packed = drawn_on(d, ATTN_OPTION_PACKED);
    struct attn_tensor *t = &d->tensors.parents;
    *t = drawn_numbers(d, packed ? d->tensors.q_rows : p->batch * p->q_len, ATTN_I32);
    t->stride[0] = packed ? 0 : (ptrdiff_t)p->q_len;
    t->stride[1] = 1;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t i = 0; i < drawn_q_len(d, b); i++) {
            const size_t kind = below(d, 4);
            drawn_parents(d, b)[i] = kind == 0   ? -1
                                     : kind == 1 ? (int32_t)i - 1
                                                 : (int32_t)below(d, i + 1) - 1;
        }
}

/* Each key of a sequence in its turn, about one in two, and -1 between. */
static void draw_lists(struct drawn_operands *d)
{
    const struct attn_problem *p = &d->problem;
    const bool packed = drawn_on(d, ATTN_OPTION_PACKED);
    const size_t rows = p->batch * p->q_len, count = p->index_count;
    struct attn_tensor *t = &d->tensors.indices;
    *t = drawn_numbers(d, rows * p->kv_heads * count, ATTN_I32);
    t->stride[0] = packed ? 0 : (ptrdiff_t)(p->kv_heads * p->q_len * count);
    t->stride[1] = (ptrdiff_t)((packed ? rows : p->q_len) * count);
    t->stride[2] = (ptrdiff_t)count;
    t->stride[3] = 1;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t i = 0; i < drawn_q_len(d, b); i += p->index_block) {
                const size_t keys = drawn_kv_len(d, b), first = keys ? below(d, keys) : 0;
                int32_t *list = drawn_list(d, b, g, i);
                for (size_t n = 0; n < count; n++) /* round the sequence, backwards */
                    list[n] = n < keys && below(d, 4) ? (int32_t)((first + keys - n) % keys) : -1;
            }
}

static void draw_options(struct drawn_operands *d)
{
    const struct attn_problem *p = &d->problem;
    struct attn_tensors *t = &d->tensors;
    if (p->mask & ATTN_MASK_BIAS) {
        t->bias = broadcast(d, p->q_heads, p->q_len, p->kv_len, below(d, 2) ? ATTN_F32 : p->dtype);
        draw_terms(d, &t->bias, 0, below(d, 2) ? -INFINITY : -2);
    }
    if (p->mask & ATTN_MASK_BOOL) {
        t->mask = broadcast(d, p->q_heads, p->q_len, p->kv_len, ATTN_BOOL);
        draw_terms(d, &t->mask, 1, 0);
    }
    if (p->mask & ATTN_MASK_TREE)
        draw_parents(d);
    if (drawn_on(d, ATTN_OPTION_INDEX))
        draw_lists(d);
    if (drawn_on(d, ATTN_OPTION_SINKS)) {
        t->sinks = drawn_numbers(d, p->q_heads, ATTN_F32);
        for (size_t h = 0; h < p->q_heads; h++)
            drawn_set(&t->sinks, (ptrdiff_t)h, below(d, 4) == 0 ? -INFINITY : 2 * normal(d));
    }
    if (drawn_on(d, ATTN_OPTION_ALIBI)) {
        t->slopes = drawn_numbers(d, p->q_heads, ATTN_F32);
        for (size_t h = 0; h < p->q_heads; h++)
            drawn_set(&t->slopes, (ptrdiff_t)h, exp2(-8 * (double)(h + 1) / (double)p->q_heads));
    }
}

bool drawn_group_sees(const struct drawn_operands *d, size_t b, size_t g, size_t j)
{
    const size_t group = d->problem.q_heads / d->problem.kv_heads;
    for (size_t h = g * group; h < (g + 1) * group; h++)
        for (size_t i = 0; i < drawn_q_len(d, b); i++)
            if (drawn_sees(d, b, h, i, j))
                return true;
    return false;
}

/* Keys that no query sees become NaN; of integers the scales, where they are the key's own. */
static void poison_hidden(struct drawn_operands *d)
{
    const struct attn_problem *p = &d->problem;
    const struct attn_tensors *t = &d->tensors;
    const bool i8 = p->kv_dtype == ATTN_I8 || p->kv_dtype == ATTN_I4,
               one = p->batch == 1 || drawn_keys_packed(d);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < drawn_kv_len(d, b); j++) {
                if (drawn_group_sees(d, b, g, j))
                    continue;
                for (size_t e = 0; !i8 && e < p->qk_dim; e++)
                    drawn_set(&t->k, drawn_key_number(d, &t->k, b, g, j, e), NAN);
                for (size_t e = 0; !i8 && e < p->v_dim; e++)
                    drawn_set(&t->v, drawn_key_number(d, &t->v, b, g, j, e), NAN);
                const struct attn_tensor *scale = &t->v_scale;
                if (i8 && scale->stride[2] && (scale->stride[1] || p->kv_heads == 1) &&
                    (scale->stride[0] || one))
                    for (size_t e = 0; e < drawn_scales(p, false, p->v_dim); e++)
                        drawn_set(scale, drawn_scale_number(d, scale, b, g, j, (ptrdiff_t)e), NAN);
            }
}

void drawn_open(struct drawn_operands *d, const struct attn_problem *problem, bool poison,
                uint64_t seed)
{
    const struct attn_problem *p = problem;
    struct attn_tensors *t = &d->tensors;
    *d = (struct drawn_operands){
        .problem = *p, .tensors.size = sizeof *t, .key = random_key(seed, 2)};
    draw_lengths(d);
    if (drawn_on(d, ATTN_OPTION_PAGED))
        draw_pages(d);
    t->q = drawn_rows_tensor(d, p->qk_dim, p->dtype);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < drawn_q_len(d, b); i++)
                for (size_t e = 0; e < p->qk_dim; e++) {
                    const size_t first =
                        drawn_on(d, ATTN_OPTION_PACKED) ? (size_t)drawn_ints(&t->cu_seqlens)[b] : 0;
                    drawn_set(&t->q, drawn_number(&t->q, b, h, first + i, (ptrdiff_t)e), normal(d));
                }
    t->k = draw_keys(d, p->qk_dim);
    t->v = drawn_on(d, ATTN_OPTION_SHARED_KV) ? t->k : draw_keys(d, p->v_dim);
    if (attn_dtype_scaled(p->kv_dtype)) {
        t->k_scale = draw_scales(d, p->kv_dtype != ATTN_I4 && below(d, 2), p->qk_dim);
        t->v_scale = draw_scales(d, false, p->v_dim);
    }
    if (drawn_on(d, ATTN_OPTION_ZERO_POINTS)) {
        t->k_zero = draw_zeros(d, p->qk_dim);
        t->v_zero = draw_zeros(d, p->v_dim);
    }
    draw_options(d);
    t->o = drawn_rows_tensor(d, p->v_dim, p->dtype);
    t->lse = drawn_rows_tensor(d, 1, attn_statistics_dtype(p));
    t->weights = drawn_rows_tensor(d, p->kv_len, attn_statistics_dtype(p));
    if (poison && !d->pages_shared)
        poison_hidden(d);
}

void drawn_close(struct drawn_operands *d)
{
    for (size_t n = 0; n < d->count; n++)
        free(d->blocks[n]);
}
