/*
 * single: gathers the keys of a row.
 */
#include "row_view.h"

#include <stdlib.h>

/* Type of its operands. */
static enum attn_dtype type_of(const struct attn_problem *p)
{
    return attn_statistics_dtype(p);
}

bool single_open(struct single *single, const struct attn_problem *p)
{
    const size_t each = p->qk_dim + p->v_dim + 1;
    *single = (struct single){.tensors.size = sizeof single->tensors};
    single->block = malloc((p->qk_dim + p->kv_len * each) * attn_dtype_size(type_of(p)));
    return single->block;
}

void single_close(struct single *single)
{
    free(single->block);
    single->block = NULL;
}

/* Converts n elements to f32, or to f64 for a problem in f64, without applying scales. */
static void widen(void *row, enum attn_dtype dtype, size_t n, enum attn_dtype type, void *to)
{
    const struct attn_tensor from = {row, dtype, {0}}, wide = {to, type, {0}};
    double x[KV_CHUNK];
    for (size_t d = 0; d < n; d += KV_CHUNK) {
        const size_t count = n - d < KV_CHUNK ? n - d : KV_CHUNK;
        tensors_get_row(&from, 0, 0, 0, d, x, count);
        tensors_set_row(&wide, 0, 0, 0, d, x, count);
    }
}

static void copy_key(const struct row_view *s, enum kv_operand operand, size_t j, void *to)
{
    const struct attn_problem *p = s->problem;
    const struct attn_tensor *t = operand == KV_K ? &s->tensors->k : &s->tensors->v;
    const size_t b = operand == KV_K ? s->b : s->v_b, g = operand == KV_K ? s->g : s->v_g;
    const struct attn_sequence sequence =
        b == s->at.b ? s->sequence : attn_sequence(p, s->tensors, b);
    const size_t n = operand == KV_K ? p->qk_dim : p->v_dim;
    const enum attn_dtype type = type_of(p);
    widen(attn_kv_row(p, s->tensors, t, &sequence, b, g, j), t->dtype, n, type, to);
    for (size_t d = 0; attn_dtype_scaled(p->kv_dtype) && d < n; d++) {
        const struct kv_place at = {b, g, j};
        const float scale = *kv_scale(p, s->tensors, operand, at, d);
        const float *own = kv_zero(p, s->tensors, operand, at, d);
        const float zero = own ? *own : p->kv_dtype == ATTN_I4 ? 8.0F : 0.0F;
        if (type == ATTN_F64)
            ((double *)to)[d] = (((double *)to)[d] - (double)zero) * (double)scale;
        else
            ((float *)to)[d] = (((float *)to)[d] - zero) * scale;
    }
}

/* The problem of one query and n keys, and its tensors in the block. */
static void lay_out(struct single *single, const struct row_view *s, size_t n)
{
    const struct attn_problem *p = s->problem;
    struct attn_problem *one = &single->problem;
    const ptrdiff_t d = (ptrdiff_t)p->qk_dim, dv = (ptrdiff_t)p->v_dim;
    const bool terms = p->mask & ATTN_MASK_BIAS || p->options & ATTN_OPTION_ALIBI;
    const enum attn_dtype type = type_of(p);
    const size_t size = attn_dtype_size(type);
    char *q = single->block, *k = q + p->qk_dim * size, *v = k + n * p->qk_dim * size,
         *bias = v + n * p->v_dim * size;
    attn_problem_init(one);
    one->dtype = one->kv_dtype = type;
    one->kv_len = n;
    one->qk_dim = p->qk_dim;
    one->v_dim = p->v_dim;
    one->scale = p->scale; /* 0 means 1/sqrt(D), and D is the same */
    one->softcap = p->softcap;
    one->options = p->options & (ATTN_OPTION_SOFTCAP | ATTN_OPTION_SINKS);
    one->mask = terms ? ATTN_MASK_BIAS : ATTN_MASK_NONE;
    one->outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE;
    single->sink = (float)s->sink;
    single->tensors.q = (struct attn_tensor){q, type, {d, d, d, 1}};
    single->tensors.k = (struct attn_tensor){k, type, {0, 0, d, 1}};
    single->tensors.v = (struct attn_tensor){v, type, {0, 0, dv, 1}};
    single->tensors.bias = (struct attn_tensor){terms ? bias : NULL, type, {0, 0, 0, 1}};
    single->tensors.sinks = (struct attn_tensor){&single->sink, ATTN_F32, {1, 1, 1, 1}};
}

bool single_gather(struct single *single, const struct row_view *s)
{
    const struct attn_problem *p = s->problem;
    size_t n = 0;
    for (ptrdiff_t j = s->range.lo; j < s->range.hi; j++)
        n += !row_view_hider(s, (size_t)j);
    if (!n)
        return false;
    lay_out(single, s, n);
    widen(attn_row(&s->tensors->q, s->at.b, s->at.h, s->at.row), s->tensors->q.dtype, p->qk_dim,
          type_of(p), single->block);
    const struct attn_tensors *t = &single->tensors;
    n = 0;
    for (ptrdiff_t j = s->range.lo; j < s->range.hi; j++) {
        if (row_view_hider(s, (size_t)j))
            continue;
        copy_key(s, KV_K, (size_t)j, attn_row(&t->k, 0, 0, n));
        copy_key(s, KV_V, (size_t)j, attn_row(&t->v, 0, 0, n));
        if (t->bias.data)
            tensors_set(&t->bias, 0, 0, 0, n, row_view_term(s, (size_t)j));
        n++;
    }
    return true;
}
