/*
 * kv: elements of K and V, and how floats become int8.
 */
#include "kv.h"

#include <math.h>

/* Elements below which waking other threads costs more than they save. */
#define WORTH_THREADS 100000

static const struct attn_tensor *tensor_of(const struct attn_tensors *t, enum kv_operand operand)
{
    return operand == KV_K ? &t->k : &t->v;
}

static size_t dim_of(const struct attn_problem *p, enum kv_operand operand)
{
    return operand == KV_K ? p->qk_dim : p->v_dim;
}

/* The tensor with its data at the row of a key: its element d is (0, 0, 0, d). */
static struct attn_tensor row_of(const struct attn_problem *p, const struct attn_tensors *t,
                                 enum kv_operand operand, struct kv_place at)
{
    const struct attn_sequence sequence = attn_sequence(p, t, at.b);
    const struct attn_tensor *kv = tensor_of(t, operand);
    return (struct attn_tensor){attn_kv_row(p, t, kv, &sequence, at.b, at.g, at.j), kv->dtype, {0}};
}

float *kv_scale(const struct attn_problem *p, const struct attn_tensors *t, enum kv_operand operand,
                struct kv_place at, size_t d)
{
    const struct attn_tensor *scale = operand == KV_K ? &t->k_scale : &t->v_scale;
    const size_t j = attn_sequence(p, t, at.b).kv_first + at.j;
    return (float *)attn_row(scale, at.b, at.g, j) + (ptrdiff_t)d * scale->stride[3];
}

double kv_get(const struct attn_problem *p, const struct attn_tensors *t, enum kv_operand operand,
              struct kv_place at, size_t d)
{
    const struct attn_tensor row = row_of(p, t, operand, at);
    const double x = tensors_get(&row, 0, 0, 0, d);
    return row.dtype == ATTN_I8 ? x * (double)*kv_scale(p, t, operand, at, d) : x;
}

void kv_set(const struct attn_problem *p, const struct attn_tensors *t, enum kv_operand operand,
            struct kv_place at, size_t d, double x)
{
    const struct attn_tensor row = row_of(p, t, operand, at);
    if (row.dtype == ATTN_I8) {
        float *scale = kv_scale(p, t, operand, at, d);
        if (!isfinite(x))
            *scale = (float)x;
        x = !isfinite(x) ? 1 : x == 0 ? 0 : x / (double)*scale;
    }
    tensors_set(&row, 0, 0, 0, d, x);
}

/* ---- filling ------------------------------------------------------------------------------- */

struct filling {
    struct tensor_set *set;
    const struct attn_problem *p;
    enum kv_operand operand;
    kv_generate *generate;
    const void *context;
};

static size_t chunk(const struct filling *f, size_t at)
{
    const size_t left = dim_of(f->p, f->operand) - at;
    return left < KV_CHUNK ? left : KV_CHUNK;
}

/* The scale that makes the largest of some elements 127. */
static float scale_for(float largest)
{
    return largest / 127;
}

static void scale_token(const struct filling *f, struct kv_place at)
{
    double x[KV_CHUNK];
    float largest = 0;
    for (size_t d = 0; d < dim_of(f->p, f->operand); d += KV_CHUNK) {
        const size_t n = chunk(f, d);
        f->generate(f->context, at, d, n, x);
        for (size_t k = 0; k < n; k++)
            largest = fmaxf(largest, fabsf((float)x[k]));
    }
    *kv_scale(f->p, &f->set->tensors, f->operand, at, 0) = scale_for(largest);
}

/* Scales of channels [first, first + n) of one KV head, over the keys of sequences [from, to). */
static void scale_channels(const struct filling *f, size_t from, size_t to, size_t g, size_t first,
                           size_t n)
{
    double x[KV_CHUNK];
    float largest[KV_CHUNK] = {0};
    for (size_t b = from; b < to; b++)
        for (size_t j = 0; j < attn_sequence(f->p, &f->set->tensors, b).kv_len; j++) {
            f->generate(f->context, (struct kv_place){b, g, j}, first, n, x);
            for (size_t k = 0; k < n; k++)
                largest[k] = fmaxf(largest[k], fabsf((float)x[k]));
        }
    for (size_t k = 0; k < n; k++)
        *kv_scale(f->p, &f->set->tensors, f->operand, (struct kv_place){from, g, 0}, first + k) =
            scale_for(largest[k]);
}

static void scale_all_channels(const struct filling *f)
{
    const bool shared = !f->set->tensors.k_scale.stride[0];
    const size_t groups = shared ? 1 : f->p->batch;
#pragma omp parallel for collapse(3)
    for (size_t b = 0; b < groups; b++)
        for (size_t g = 0; g < f->p->kv_heads; g++)
            for (size_t d = 0; d < f->p->qk_dim; d += KV_CHUNK)
                scale_channels(f, b, shared ? f->p->batch : b + 1, g, d, chunk(f, d));
}

static void fill_row(const struct filling *f, struct kv_place at, bool token)
{
    const struct attn_tensors *t = &f->set->tensors;
    const struct attn_tensor row = row_of(f->p, t, f->operand, at);
    double x[KV_CHUNK];
    if (token)
        scale_token(f, at);
    for (size_t d = 0; d < dim_of(f->p, f->operand); d += KV_CHUNK) {
        const size_t n = chunk(f, d);
        f->generate(f->context, at, d, n, x);
        for (size_t k = 0; row.dtype == ATTN_I8 && k < n; k++)
            x[k] =
                x[k] == 0 ? 0 : (double)((float)x[k] / *kv_scale(f->p, t, f->operand, at, d + k));
        tensors_set_row(&row, 0, 0, 0, d, x, n);
    }
}

/* V shares the integers of K: their scale, or the mean one of the channels. */
static void copy_scale(const struct filling *f, struct kv_place at)
{
    const struct attn_tensors *t = &f->set->tensors;
    double sum = 0;
    for (size_t d = 0; d < f->p->v_dim; d++)
        sum += (double)*kv_scale(f->p, t, KV_K, at, d);
    *kv_scale(f->p, t, KV_V, at, 0) = (float)(sum / (double)f->p->v_dim);
}

void kv_fill(struct tensor_set *set, const struct attn_problem *p, enum kv_operand operand,
             kv_generate *generate, const void *context)
{
    const struct filling f = {set, p, operand, generate, context};
    const bool shared = p->options & ATTN_OPTION_SHARED_KV, i8 = p->kv_dtype == ATTN_I8;
    const bool channels = i8 && operand == KV_K && set->tensors.k_scale.stride[3];
    const size_t elements = p->batch * p->kv_heads * p->kv_len * dim_of(p, operand);
    if (shared && operand == KV_V)
        return;
    if (channels)
        scale_all_channels(&f);
#pragma omp parallel for collapse(3) if (elements > WORTH_THREADS)
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < p->kv_len; j++) {
                const struct kv_place at = {b, g, j};
                if (j >= attn_sequence(p, &set->tensors, b).kv_len)
                    continue;
                fill_row(&f, at, i8 && !channels);
                if (shared && i8)
                    copy_scale(&f, at);
            }
}
