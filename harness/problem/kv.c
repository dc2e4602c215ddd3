/*
 * kv: reads and writes elements of K and V, and quantises floats to 8 and 4 bits with scales.
 */
#include "kv.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "clause.h"

bool kv_reaches(const struct attn_problem *p, const struct attn_tensors *t, struct kv_place *at)
{
    while (at->b < p->batch && at->j >= attn_sequence(p, t, at->b).kv_len) {
        const bool last = at->g + 1 == p->kv_heads;
        *at = (struct kv_place){at->b + last, last ? 0 : at->g + 1, 0};
    }
    return at->b < p->batch;
}

static const struct attn_tensor *tensor_of(const struct attn_tensors *t, enum kv_operand operand)
{
    return operand == KV_K ? &t->k : &t->v;
}

static size_t dim_of(const struct attn_problem *p, enum kv_operand operand)
{
    return operand == KV_K ? p->qk_dim : p->v_dim;
}

void *kv_row(const struct attn_problem *p, const struct attn_tensors *t, enum kv_operand operand,
             struct kv_place at)
{
    const struct attn_sequence sequence = attn_sequence(p, t, at.b);
    return attn_kv_row(p, t, tensor_of(t, operand), &sequence, at.b, at.g, at.j);
}

/* A tensor whose data is the row of a key: element d is (0, 0, 0, d). */
static struct attn_tensor row_of(const struct attn_problem *p, const struct attn_tensors *t,
                                 enum kv_operand operand, struct kv_place at)
{
    return (struct attn_tensor){kv_row(p, t, operand, at), tensor_of(t, operand)->dtype, {0}};
}

float *kv_scale(const struct attn_problem *p, const struct attn_tensors *t, enum kv_operand operand,
                struct kv_place at, size_t d)
{
    const struct attn_tensor *scale = operand == KV_K ? &t->k_scale : &t->v_scale;
    const size_t j = attn_sequence(p, t, at.b).kv_first + at.j;
    return (float *)attn_row(scale, at.b, at.g, j) +
           (ptrdiff_t)attn_scale_index(p, d) * scale->stride[3];
}

float *kv_zero(const struct attn_problem *p, const struct attn_tensors *t, enum kv_operand operand,
               struct kv_place at, size_t d)
{
    const struct attn_tensor *zero = operand == KV_K ? &t->k_zero : &t->v_zero;
    const size_t j = attn_sequence(p, t, at.b).kv_first + at.j;
    if (!(p->options & ATTN_OPTION_ZERO_POINTS))
        return NULL;
    return (float *)attn_row(zero, at.b, at.g, j) +
           (ptrdiff_t)attn_scale_index(p, d) * zero->stride[3];
}

void kv_rescale(const struct attn_problem *p, const struct attn_tensors *t, enum kv_operand operand,
                struct kv_place at, float scale)
{
    for (size_t d = 0; d < (kv_step(p) > 1 ? dim_of(p, operand) : 1); d += kv_step(p)) {
        float *zero = kv_zero(p, t, operand, at, d);
        *kv_scale(p, t, operand, at, d) = scale;
        if (zero)
            *zero = 8.0F;
    }
}

void kv_set_type(struct attn_problem *p, enum attn_dtype dtype)
{
    p->kv_dtype = dtype;
    p->kv_group = dtype != ATTN_I4 ? 0 : p->kv_group ? p->kv_group : 32;
    if (dtype != ATTN_I4)
        p->options &= ~(unsigned)ATTN_OPTION_ZERO_POINTS;
}

static double zero_point(const struct attn_problem *p, const struct attn_tensors *t,
                         enum kv_operand operand, struct kv_place at, size_t d)
{
    const size_t j = attn_sequence(p, t, at.b).kv_first + at.j;
    return (double)attn_zero_point(p, operand == KV_K ? &t->k_zero : &t->v_zero, at.b, at.g, j, d);
}

double kv_get(const struct attn_problem *p, const struct attn_tensors *t, enum kv_operand operand,
              struct kv_place at, size_t d)
{
    const struct attn_tensor row = row_of(p, t, operand, at);
    const double x = tensors_get(&row, 0, 0, 0, d);
    return attn_dtype_scaled(row.dtype)
               ? (x - zero_point(p, t, operand, at, d)) * (double)*kv_scale(p, t, operand, at, d)
               : x;
}

void kv_set(const struct attn_problem *p, const struct attn_tensors *t, enum kv_operand operand,
            struct kv_place at, size_t d, double x)
{
    const struct attn_tensor row = row_of(p, t, operand, at);
    if (attn_dtype_scaled(row.dtype)) {
        float *scale = kv_scale(p, t, operand, at, d);
        if (isfinite(x))
            x = x == 0 ? 0 : x / (double)*scale;
        else if (row.dtype == ATTN_F8E4M3)
            x = copysign(NAN, x);
        else if (kv_integers(row.dtype)) {
            *scale = (float)x;
            x = 1;
        }
        x += zero_point(p, t, operand, at, d);
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

/* The scale that maps an element of this magnitude to the largest number of the type.  A subnormal one has few
 * bits and is rounded up: with a smaller scale the element would be infinite. */
static float scale_for(const struct filling *f, float largest)
{
    const enum attn_dtype dtype = f->p->kv_dtype;
    const float most = dtype == ATTN_I8       ? 127.0F
                       : dtype == ATTN_I4     ? 7.0F
                       : dtype == ATTN_F8E4M3 ? 448.0F
                                              : 57344.0F;
    const float scale = largest / most;
    return scale < FLT_MIN && scale * most < largest ? nextafterf(scale, INFINITY) : scale;
}

/* The larger number; `largest` if x is NaN.  libm's fmaxf() is a call for each element. */
static float larger(float largest, float x)
{
    return x > largest ? x : largest;
}

/* Sets scale and zero point of a group of i4, n elements from dimension d on. */
static void scale_group(const struct filling *f, struct kv_place at, size_t d, const double *x,
                        size_t n)
{
    float *zero = kv_zero(f->p, &f->set->tensors, f->operand, at, d), below = 0, high = 0;
    for (size_t k = 0; k < n; k++) {
        below = larger(below, -(float)x[k]);
        high = larger(high, (float)x[k]);
    }
    const float scale = zero ? (high + below) / 15.0F : scale_for(f, larger(below, high));
    if (zero)
        *zero = scale > 0 ? below / scale : 0.0F;
    *kv_scale(f->p, &f->set->tensors, f->operand, at, d) = scale;
}

/* Sets the scale of a key whose elements are those of key `from`. */
static void scale_token(const struct filling *f, struct kv_place at, struct kv_place from)
{
    double x[KV_CHUNK];
    float largest = 0;
    for (size_t d = 0; d < dim_of(f->p, f->operand); d += KV_CHUNK) {
        const size_t n = chunk(f, d);
        f->generate(f->context, from, d, n, x);
        for (size_t k = 0; k < n; k++)
            largest = larger(largest, fabsf((float)x[k]));
        const size_t each = kv_step(f->p);
        for (size_t k = 0; each > 1 && k < n; k += each)
            scale_group(f, at, d + k, x + k, n - k < each ? n - k : each);
    }
    if (kv_step(f->p) == 1)
        *kv_scale(f->p, &f->set->tensors, f->operand, at, 0) = scale_for(f, largest);
}

/* Largest magnitudes of channels [first, first + n) over KV heads [g, g_end) of sequences [b, b_end). */
static void find_largest(const struct filling *f, size_t b, size_t b_end, size_t g, size_t g_end,
                         size_t first, size_t n, float largest[KV_CHUNK])
{
    const size_t keys = f->p->kv_len;
    memset(largest, 0, KV_CHUNK * sizeof *largest);
#pragma omp parallel for collapse(3) \
    reduction(max                    \
              : largest[:KV_CHUNK]) if (keys * n > TENSORS_PARALLEL)
    for (size_t r = b; r < b_end; r++)
        for (size_t h = g; h < g_end; h++)
            for (size_t j = 0; j < keys; j++) {
                double x[KV_CHUNK];
                if (j >= attn_sequence(f->p, &f->set->tensors, r).kv_len)
                    continue;
                f->generate(f->context, (struct kv_place){r, h, j}, first, n, x);
                for (size_t k = 0; k < n; k++)
                    largest[k] = larger(largest[k], fabsf((float)x[k]));
            }
}

/* Sets the scale that keys of KV heads [g, g_end) of sequences [b, b_end) share, or one for each channel. */
static void scale_keys(const struct filling *f, size_t b, size_t b_end, size_t g, size_t g_end,
                       bool channels)
{
    float largest[KV_CHUNK], all = 0;
    for (size_t d = 0; d < dim_of(f->p, f->operand); d += KV_CHUNK) {
        const size_t n = chunk(f, d);
        find_largest(f, b, b_end, g, g_end, d, n, largest);
        for (size_t k = 0; k < n; k++) {
            all = channels ? largest[k] : larger(all, largest[k]);
            *kv_scale(f->p, &f->set->tensors, f->operand, (struct kv_place){b, g, 0},
                      channels ? d + k : 0) = scale_for(f, all);
        }
        const size_t each = kv_step(f->p);
        for (size_t k = 0; each > 1 && k < n; k += each) {
            float most = 0;
            for (size_t e = k; e < n && e < k + each; e++)
                most = larger(most, largest[e]);
            const double both[2] = {-(double)most, (double)most};
            scale_group(f, (struct kv_place){b, g, 0}, d + k, both, 2);
        }
    }
}

/* Sets all scales that keys share. */
static void scale_all(const struct filling *f)
{
    const struct attn_tensors *t = &f->set->tensors;
    const ptrdiff_t *stride = f->operand == KV_K ? t->k_scale.stride : t->v_scale.stride;
    const size_t batch = f->p->batch, heads = f->p->kv_heads;
    const size_t b_each = stride[0] ? 1 : batch, g_each = stride[1] ? 1 : heads;
    for (size_t b = 0; b < batch; b += b_each)
        for (size_t g = 0; g < heads; g += g_each)
            scale_keys(f, b, b + b_each, g, g + g_each, stride[3] || kv_step(f->p) > 1);
}

/* Fills a row.  A page that sequences share has the first one's numbers, and the others get the same
 * scales. */
static void fill_row(const struct filling *f, struct kv_place at, bool token)
{
    const struct attn_tensors *t = &f->set->tensors;
    const bool shared = at.b && clause_prefix_holds(f->p, t, at.b, at.j);
    const struct attn_tensor row = row_of(f->p, t, f->operand, at);
    double x[KV_CHUNK];
    if (token)
        scale_token(f, at, (struct kv_place){shared ? 0 : at.b, at.g, at.j});
    for (size_t d = 0; !shared && d < dim_of(f->p, f->operand); d += KV_CHUNK) {
        const size_t n = chunk(f, d);
        f->generate(f->context, at, d, n, x);
        for (size_t k = 0; attn_dtype_scaled(row.dtype) && k < n; k++)
            x[k] = (x[k] == 0 ? 0
                              : (double)((float)x[k] / *kv_scale(f->p, t, f->operand, at, d + k))) +
                   zero_point(f->p, t, f->operand, at, d + k);
        tensors_set_row(&row, 0, 0, 0, d, x, n);
    }
}

/* The scale of a V that is part of K: that of K, or the mean over channels. */
static void copy_scale(const struct filling *f, struct kv_place at)
{
    const struct attn_tensors *t = &f->set->tensors;
    double sum = 0;
    for (size_t d = 0; f->p->kv_dtype == ATTN_I4 && d < f->p->v_dim; d += f->p->kv_group) {
        *kv_scale(f->p, t, KV_V, at, d) = *kv_scale(f->p, t, KV_K, at, d);
        if (f->p->options & ATTN_OPTION_ZERO_POINTS)
            *kv_zero(f->p, t, KV_V, at, d) = *kv_zero(f->p, t, KV_K, at, d);
    }
    if (f->p->kv_dtype == ATTN_I4)
        return;
    for (size_t d = 0; d < f->p->v_dim; d++)
        sum += (double)*kv_scale(f->p, t, KV_K, at, d);
    *kv_scale(f->p, t, KV_V, at, 0) = (float)(sum / (double)f->p->v_dim);
}

void kv_fill(struct tensor_set *set, const struct attn_problem *p, enum kv_operand operand,
             kv_generate *generate, const void *context)
{
    const struct filling f = {set, p, operand, generate, context};
    const bool shared = p->options & ATTN_OPTION_SHARED_KV;
    const bool scaled = attn_dtype_scaled(p->kv_dtype);
    const struct attn_tensor *scale =
        operand == KV_K ? &set->tensors.k_scale : &set->tensors.v_scale;
    const bool token = scaled && scale->stride[2];
    const size_t elements = p->batch * p->kv_heads * p->kv_len * dim_of(p, operand);
    if (shared && operand == KV_V)
        return;
    if (scaled && !token)
        scale_all(&f);
#pragma omp parallel for collapse(3) if (elements > TENSORS_PARALLEL)
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < p->kv_len; j++) {
                const struct kv_place at = {b, g, j};
                if (j < attn_sequence(p, &set->tensors, b).kv_len)
                    fill_row(&f, at, token);
            }
    for (struct kv_place at = {0}; shared && scaled && kv_reaches(p, &set->tensors, &at); at.j++)
        copy_scale(&f, at);
}
