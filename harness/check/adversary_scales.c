/*
 * adversary_scales: elements of 8 and 4 bits, and their scales.
 */
#include <float.h>
#include <math.h>

#include "adversary_inputs.h"
#include "base/random.h"
#include "element.h"
#include "problem/kv.h"

/* ---- scales -------------------------------------------------------------------------------- */

/* Sets scales to 0: K's first and every third one (of keys, or of dimensions), V's first and every second
 * one. */
void scales_clear(struct trial *trial)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    const bool groups = kv_step(p) > 1, channels = t->k_scale.stride[3] && !groups;
    for (struct kv_place at = {0}; kv_reaches(p, t, &at); at.j++) {
        for (size_t d = 0; d < (channels ? p->qk_dim : 1); d++)
            if ((channels ? d : at.j) % 3 == 0)
                *kv_scale(p, t, KV_K, at, d) = 0;
        for (size_t d = 0; groups && d < p->qk_dim; d += kv_step(p))
            if ((at.j + d / kv_step(p)) % 3 == 0)
                *kv_scale(p, t, KV_K, at, d) = 0;
        for (size_t d = 0; d < (groups ? p->v_dim : 1); d += kv_step(p))
            if ((at.j + d / kv_step(p)) % 2 == 0)
                *kv_scale(p, t, KV_V, at, d) = 0;
    }
}

/* The largest number of the type; for 4 bits, above a zero point of 8. */
static double largest_of(enum attn_dtype dtype)
{
    return dtype == ATTN_I8 ? 127 : dtype == ATTN_I4 ? 7 : dtype == ATTN_F8E4M3 ? 448 : 57344;
}

/* Gives all elements of a row one scale and one value, which the type can hold. */
static void fill_row(struct trial *trial, enum kv_operand operand, struct kv_place at, float scale,
                     double element)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    const size_t dim = operand == KV_K ? p->qk_dim : p->v_dim;
    kv_rescale(p, t, operand, at, scale);
    for (size_t d = 0; d < dim; d++) {
        *kv_scale(p, t, operand, at, d) = scale;
        kv_set(p, t, operand, at, d, element * (double)scale);
    }
}

/* Heads in turn: some scales of K are huge; all scales of V are subnormal; every third scale of V is 0,
 * the others are as large as possible; scales of V are so small that weight * scale is subnormal, while
 * scale * element is not. */
void scales_vary(struct trial *trial)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    const double largest = largest_of(p->kv_dtype);
    for (struct kv_place at = {0}; kv_reaches(p, t, &at); at.j++) {
        const size_t d = p->v_dim - 1, last = d / kv_step(p) * kv_step(p);
        const bool groups = kv_step(p) > 1;
        float *k = kv_scale(p, t, KV_K, at, 0);
        float *v = kv_scale(p, t, KV_V, at, groups ? last : 0);
        switch (adversary_kind(trial, at.b, at.g, SCALE_KINDS)) {
        case 0:
            *k = at.j % 7 == 3 ? 1e30F : *k;
            break;
        case 1:
            *v = 1e-42F * (float)(1 + at.j % 3);
            break;
        case 2:
            *v = at.j % 3 == 0 ? 0 : (float)(adversary_room(trial) / (2 * largest + 1));
            break;
        default:
            if (!(p->options & ATTN_OPTION_SHARED_KV))
                fill_row(trial, KV_V, at, 0x1p-130F, largest);
        }
    }
}

/* Elements of V are 0 to 3 times the smallest of its type, f8e5m2, and all its scales the largest with which they
 * leave adversary_room(), for which the type's own largest numbers do not: weights may be multiplied by scales, but
 * not be so large, nor what elements are divided by, that this overflows. */
void scales_enlarge_v(struct trial *trial)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    const double smallest = 0x1p-16, room = adversary_room(trial) / (3 * smallest);
    const float scale = (float)fmin(room, (double)FLT_MAX);
    uint64_t number = 0;
    if (p->options & ATTN_OPTION_SHARED_KV) /* scores would be large, too */
        return;
    for (struct kv_place at = {0}; kv_reaches(p, t, &at); at.j++) {
        kv_rescale(p, t, KV_V, at, scale);
        for (size_t d = 0; d < p->v_dim; d++) {
            const int n = (int)(random_bits(trial->key, number++) % 7) - 3;
            kv_set(p, t, KV_V, at, d, n * smallest * (double)scale);
        }
    }
}

/* Makes all elements of Q positive, and times `factor`. */
static void make_positive(struct trial *trial, double factor)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensor *q = &trial->set.tensors.q;
    for (size_t b = 0; b < p->batch; b++) {
        const struct attn_sequence s = attn_sequence(p, &trial->set.tensors, b);
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = s.q_first; i < s.q_first + s.q_len; i++)
                for (size_t d = 0; d < p->qk_dim; d++)
                    tensors_set(q, b, h, i, d,
                                factor * fmax(fabs(tensors_get(q, b, h, i, d)), 0x1p-10));
    }
}

/* Elements times Q add up to more than a float holds, while scales of K are so small that scores are ordinary: a
 * kernel that multiplies sums by scales must not lose these.  Q of f16 cannot be as large. */
void scales_shrink_k(struct trial *trial)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    if (p->dtype == ATTN_F16)
        return;
    make_positive(trial, 0x1p121);
    for (struct kv_place at = {0}; kv_reaches(p, t, &at); at.j++)
        fill_row(trial, KV_K, at, 0x1p-123F * (float)(1 + at.j % 3), (double)(at.j % 15) - 7);
}

/* A key of each KV head: the first, one in the middle, or the last. */
static struct kv_place key_of(const struct trial *trial, size_t b, size_t g)
{
    const size_t keys = attn_sequence(&trial->problem, &trial->set.tensors, b).kv_len;
    return (struct kv_place){b, g, adversary_kind(trial, b, g, 3) * (keys - 1) / 2};
}

/* One key of each head is -inf, so that its weight is 0.  The scales of K's channels, which a kernel may
 * multiply into the query, are in turn powers of two, these times 1.5, numbers with all bits set, nearly 0, and
 * subnormal: the product with many elements of a query then rounds to 0. */
void scales_infinite_keys(struct trial *trial)
{
    static const double factors[] = {1, 1.5, 0x1.fffffep0, 0x1p-60, 0};
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    if (p->options & ATTN_OPTION_SHARED_KV) /* its value would be infinite */
        return;
    make_positive(trial, 1);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads && attn_sequence(p, t, b).kv_len; g++)
            for (size_t d = 0; d < p->qk_dim; d++) {
                float *scale = kv_scale(p, t, KV_K, key_of(trial, b, g), d);
                const double factor = factors[d % ADVERSARY_COUNT(factors)];
                *scale = (float)fmax(exp2(floor(log2((double)*scale))) * factor, 0x1p-149);
                kv_set(p, t, KV_K, key_of(trial, b, g), d, -INFINITY);
            }
}

/* Sets the scale of all elements of a key; where K has scales by channel, that of one channel. */
static void set_scale(struct trial *trial, enum kv_operand operand, struct kv_place at, float scale)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    const bool channels = operand == KV_K && t->k_scale.stride[3] && kv_step(p) == 1;
    const size_t dim = operand == KV_K ? p->qk_dim : p->v_dim, first = channels ? dim / 2 : 0;
    for (size_t d = first; d < (channels ? first + 1 : dim); d++)
        *kv_scale(p, t, operand, at, d) = scale;
}

/* Heads in turn: a scale of K, of one key or of all that share it, is NaN; is infinite, so that products
 * of both signs add up to NaN; is -inf with positive elements, so that the key's weight is 0.  Of the products
 * of a single key with an infinite scale all but one are negative: a kernel that multiplies their sum by the
 * scale finds -inf, and gives the key no weight, where the row should be NaN. */
void scales_infinite_k(struct trial *trial)
{
    static const float scales[] = {NAN, INFINITY, -INFINITY};
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    const bool own = t->k_scale.stride[2] != 0;
    make_positive(trial, 1);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads && attn_sequence(p, t, b).kv_len; g++) {
            const size_t kind = adversary_kind(trial, b, g, INFINITE_K_KINDS);
            const struct kv_place at = key_of(trial, b, g);
            const size_t end = own ? at.j + 1 : attn_sequence(p, t, b).kv_len;
            for (size_t j = own ? at.j : 0; kind == 2 && j < end; j++)
                fill_row(trial, KV_K, (struct kv_place){b, g, j}, 1, 1);
            if (kind == 1 && own) {
                fill_row(trial, KV_K, at, 1, -1);
                kv_set(p, t, KV_K, at, 0, 1);
            }
            set_scale(trial, KV_K, at, scales[kind]);
        }
}

/* The same for V: a scale is NaN or infinite, for elements of both signs and 0. */
void scales_infinite_v(struct trial *trial)
{
    const struct attn_problem *p = &trial->problem;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads && attn_sequence(p, &trial->set.tensors, b).kv_len; g++)
            set_scale(trial, KV_V, key_of(trial, b, g),
                      adversary_kind(trial, b, g, 2) ? INFINITY : NAN);
}

/* ---- elements ------------------------------------------------------------------------------ */

/* Every integer is -128 or 127. */
void scales_fill_extremes(struct trial *trial)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    uint64_t number = 0;
    for (struct kv_place at = {0}; kv_reaches(p, t, &at); at.j++) {
        int8_t *k = kv_row(p, t, KV_K, at);
        int8_t *v = kv_row(p, t, KV_V, at);
        for (size_t d = 0; d < p->qk_dim; d++)
            k[d] = random_bits(trial->key, number++) & 1 ? -128 : 127;
        for (size_t d = 0; v != k && d < p->v_dim; d++)
            v[d] = random_bits(trial->key, number++) & 1 ? -128 : 127;
    }
}

/* A byte that is a finite 8-bit float: of any size, subnormal, or the largest, by `kind`. */
static uint8_t byte_of(enum attn_dtype dtype, size_t kind, uint64_t random)
{
    const uint8_t largest = dtype == ATTN_F8E4M3 ? 0x7e : 0x7b;
    const uint8_t subnormal = dtype == ATTN_F8E4M3 ? 0x07 : 0x03;
    const uint8_t sign = (uint8_t)(random & 0x80), size = (uint8_t)(random >> 8 & 0x7f);
    return sign | (kind == 0   ? (size <= largest ? size : 0)
                   : kind == 1 ? size & subnormal
                               : largest);
}

/* Keys hold in turn numbers of all sizes, subnormal ones, and the largest; each scale makes the largest
 * number 3. */
void scales_fill_bytes(struct trial *trial)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    const bool e4m3 = p->kv_dtype == ATTN_F8E4M3;
    const float largest = e4m3 ? 448 : 57344, subnormal = e4m3 ? 7 * 0x1p-9F : 3 * 0x1p-16F;
    uint64_t number = 0;
    for (struct kv_place at = {0}; kv_reaches(p, t, &at); at.j++) {
        const size_t kind = at.j % 3;
        uint8_t *k = kv_row(p, t, KV_K, at);
        uint8_t *v = kv_row(p, t, KV_V, at);
        *kv_scale(p, t, KV_K, at, 0) = *kv_scale(p, t, KV_V, at, 0) =
            3 / (kind == 1 ? subnormal : largest);
        for (size_t d = 0; d < p->qk_dim; d++)
            k[d] = byte_of(p->kv_dtype, kind, random_bits(trial->key, number++));
        for (size_t d = 0; v != k && d < p->v_dim; d++)
            v[d] = byte_of(p->kv_dtype, kind, random_bits(trial->key, number++));
    }
}

/* Each row holds all 16 values in turn, beginning with another one.  Scales are 1/16 to 8/16 and differ
 * between neighbouring groups; zero points are 0 to 15, some of them fractions, and differ between K and
 * V. */
void scales_fill_nibbles(struct trial *trial)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    uint64_t number = 0;
    for (struct kv_place at = {0}; kv_reaches(p, t, &at); at.j++)
        for (int n = KV_K; n <= (p->options & ATTN_OPTION_SHARED_KV ? KV_K : KV_V); n++) {
            const size_t dim = n == KV_K ? p->qk_dim : p->v_dim;
            void *row = kv_row(p, t, (enum kv_operand)n, at);
            for (size_t d = 0; d < dim; d++)
                attn_set_nibble(row, d, (unsigned)random_bits(trial->key, number++) & 15);
            for (size_t d = 0; d < dim; d += p->kv_group) {
                const uint64_t random = random_bits(trial->key, number++);
                float *zero = kv_zero(p, t, (enum kv_operand)n, at, d);
                *kv_scale(p, t, (enum kv_operand)n, at, d) = 0.0625F * (float)(1 + random % 8);
                if (zero)
                    *zero = 0.25F * (float)(random >> 8 & 60) + (random >> 20 & 1 ? 0.375F : 0.0F);
            }
            if (dim % 2) /* the unused half of the last byte */
                attn_set_nibble(row, dim, (unsigned)random_bits(trial->key, number++) & 15);
        }
}
