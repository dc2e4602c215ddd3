/*
 * adversary_caches: sinks, slopes, pages and scales.
 */
#include <math.h>

#include "adversary_scores.h"
#include "base/random.h"
#include "element.h"
#include "problem/kv.h"

/* ---- sinks --------------------------------------------------------------------------------- */

static void set_sink(struct trial *trial, size_t h, float sink)
{
    ((float *)trial->set.tensors.sinks.data)[h] = sink;
}

/* They take all. */
void raise_sinks(struct trial *trial, uint64_t key)
{
    (void)key;
    for (size_t h = 0; h < trial->problem.q_heads; h++)
        set_sink(trial, h, h % 2 ? 1e30F : 100 + (float)h);
}

void vary_sinks(struct trial *trial, uint64_t key)
{
    static const float sinks[] = {-INFINITY, 15, -1e30F, 0};
    (void)key;
    for (size_t h = 0; h < trial->problem.q_heads; h++)
        set_sink(trial, h, sinks[h % 4]);
}

/* ---- slopes -------------------------------------------------------------------------------- */

/* Not those that everyone computes from the number of heads, powers of two: a kernel has to read them. */
void vary_slopes(struct trial *trial, uint64_t key)
{
    static const float slopes[] = {0.7F, 0.03F, 0, 1.3F};
    (void)key;
    for (size_t h = 0; h < trial->problem.q_heads; h++)
        ((float *)trial->set.tensors.slopes.data)[h] = slopes[h % 4];
}

/* ---- pages --------------------------------------------------------------------------------- */

/* Full pages that two sequences begin with. */
static size_t pages_of_both(const struct trial *trial, size_t a, size_t b)
{
    const struct attn_problem *p = &trial->problem;
    const size_t x = attn_sequence(p, &trial->set.tensors, a).kv_len;
    const size_t y = attn_sequence(p, &trial->set.tensors, b).kv_len;
    return (x < y ? x : y) / p->page_size;
}

/* NaN into a page of K and V that is named no more. */
static void poison_page(const struct trial *trial, size_t page)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    for (size_t g = 0; !kv_integers(p->kv_dtype) && g < p->kv_heads; g++)
        for (size_t r = 0; r < p->page_size; r++) {
            for (size_t d = 0; d < p->qk_dim; d++)
                tensors_set(&t->k, page, g, r, d, NAN);
            for (size_t d = 0; d < p->v_dim; d++)
                tensors_set(&t->v, page, g, r, d, NAN);
        }
}

/* All sequences begin with pages of the first one, in another order in every other sequence. */
void share_pages(struct trial *trial, uint64_t key)
{
    const struct attn_tensor *t = &trial->set.tensors.block_table;
    int32_t *first = t->data;
    (void)key;
    for (size_t b = 1; b < trial->problem.batch; b++) {
        int32_t *own = first + (ptrdiff_t)b * t->stride[0];
        const size_t n = pages_of_both(trial, 0, b);
        for (size_t k = 0; k < n; k++) {
            poison_page(trial, (size_t)own[k]);
            own[k] = first[b % 2 ? k : n - 1 - k];
        }
    }
}

/* Sequences 0 and 1 begin with all full pages that both have, which may be all of one, and so do the next
 * two. */
void share_prefixes(struct trial *trial, uint64_t key)
{
    const struct attn_tensor *t = &trial->set.tensors.block_table;
    (void)key;
    for (size_t b = 1; b < trial->problem.batch; b += 2) {
        int32_t *own = (int32_t *)t->data + (ptrdiff_t)b * t->stride[0];
        for (size_t k = 0; k < pages_of_both(trial, b - 1, b); k++) {
            poison_page(trial, (size_t)own[k]);
            own[k] = own[(ptrdiff_t)k - t->stride[0]];
        }
    }
}

/* ---- 8 and 4 bits -------------------------------------------------------------------------------- */

/* Scales of 0: of K's first key, or dimension, and every third one; of V's first and every other. */
void clear_scales(struct trial *trial, uint64_t key)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    const bool groups = kv_step(p) > 1, channels = t->k_scale.stride[3] && !groups;
    (void)key;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < attn_sequence(p, t, b).kv_len; j++) {
                const struct kv_place at = {b, g, j};
                for (size_t d = 0; d < (channels ? p->qk_dim : 1); d++)
                    if ((channels ? d : j) % 3 == 0)
                        *kv_scale(p, t, KV_K, at, d) = 0;
                for (size_t d = 0; groups && d < p->qk_dim; d += kv_step(p))
                    if ((j + d / kv_step(p)) % 3 == 0)
                        *kv_scale(p, t, KV_K, at, d) = 0;
                for (size_t d = 0; d < (groups ? p->v_dim : 1); d += kv_step(p))
                    if ((j + d / kv_step(p)) % 2 == 0)
                        *kv_scale(p, t, KV_V, at, d) = 0;
            }
}

/* Every integer is -128 or 127. */
void fill_extremes(struct trial *trial, uint64_t key)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    uint64_t number = 0;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < attn_sequence(p, t, b).kv_len; j++) {
                const struct attn_sequence s = attn_sequence(p, t, b);
                int8_t *k = attn_kv_row(p, t, &t->k, &s, b, g, j);
                int8_t *v = attn_kv_row(p, t, &t->v, &s, b, g, j);
                for (size_t d = 0; d < p->qk_dim; d++)
                    k[d] = random_bits(key, number++) & 1 ? -128 : 127;
                for (size_t d = 0; v != k && d < p->v_dim; d++)
                    v[d] = random_bits(key, number++) & 1 ? -128 : 127;
            }
}

size_t scale_kinds(const struct attn_problem *problem)
{
    (void)problem;
    return 3;
}

/* Scales of K: a few of them huge; of V: all subnormal; of V: some as large as can be, and 0. */
void vary_scales(struct trial *trial, uint64_t key)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    const double largest = p->kv_dtype == ATTN_I8       ? 128
                           : p->kv_dtype == ATTN_I4     ? 15
                           : p->kv_dtype == ATTN_F8E4M3 ? 448
                                                        : 57344;
    (void)key;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < attn_sequence(p, t, b).kv_len; j++) {
                const struct kv_place at = {b, g, j};
                const size_t d = p->v_dim - 1, last = d / kv_step(p) * kv_step(p);
                const bool groups = kv_step(p) > 1;
                float *k = kv_scale(p, t, KV_K, at, 0);
                float *v = kv_scale(p, t, KV_V, at, groups ? last : 0);
                switch (adversary_kind(trial, b, g, scale_kinds(p))) {
                case 0:
                    *k = j % 7 == 3 ? 1e30F : *k;
                    break;
                case 1:
                    *v = 1e-42F * (float)(1 + j % 3);
                    break;
                default:
                    *v = j % 3 == 0 ? 0 : (float)(adversary_room(trial) / largest);
                }
            }
}

/* A byte of a float of 8 bits whose number is finite: of any size, or subnormal, or the largest. */
static uint8_t byte_of(enum attn_dtype dtype, size_t kind, uint64_t random)
{
    const uint8_t largest = dtype == ATTN_F8E4M3 ? 0x7e : 0x7b;
    const uint8_t subnormal = dtype == ATTN_F8E4M3 ? 0x07 : 0x03;
    const uint8_t sign = (uint8_t)(random & 0x80), size = (uint8_t)(random >> 8 & 0x7f);
    return sign | (kind == 0   ? (size <= largest ? size : 0)
                   : kind == 1 ? size & subnormal
                               : largest);
}

/* Keys in turn: numbers of all sizes, the subnormal ones, the largest; scales make the largest of each 3. */
void fill_bytes(struct trial *trial, uint64_t key)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    const bool e4m3 = p->kv_dtype == ATTN_F8E4M3;
    const float largest = e4m3 ? 448 : 57344, subnormal = e4m3 ? 7 * 0x1p-9F : 3 * 0x1p-16F;
    uint64_t number = 0;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < attn_sequence(p, t, b).kv_len; j++) {
                const struct attn_sequence s = attn_sequence(p, t, b);
                const struct kv_place at = {b, g, j};
                const size_t kind = j % 3;
                uint8_t *k = attn_kv_row(p, t, &t->k, &s, b, g, j);
                uint8_t *v = attn_kv_row(p, t, &t->v, &s, b, g, j);
                *kv_scale(p, t, KV_K, at, 0) = *kv_scale(p, t, KV_V, at, 0) =
                    3 / (kind == 1 ? subnormal : largest);
                for (size_t d = 0; d < p->qk_dim; d++)
                    k[d] = byte_of(p->kv_dtype, kind, random_bits(key, number++));
                for (size_t d = 0; v != k && d < p->v_dim; d++)
                    v[d] = byte_of(p->kv_dtype, kind, random_bits(key, number++));
            }
}

/* All values in turn from another one on in each row, scales from 1 to 8 sixteenths, which differ in
 * neighbouring groups, and zero points from 0 to 15, some between two integers, other ones in K and V. */
void fill_nibbles(struct trial *trial, uint64_t key)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    uint64_t number = 0;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < attn_sequence(p, t, b).kv_len; j++)
                for (int n = KV_K; n <= (p->options & ATTN_OPTION_SHARED_KV ? KV_K : KV_V); n++) {
                    const struct attn_sequence s = attn_sequence(p, t, b);
                    const struct kv_place at = {b, g, j};
                    const size_t dim = n == KV_K ? p->qk_dim : p->v_dim;
                    void *row = attn_kv_row(p, t, n == KV_K ? &t->k : &t->v, &s, b, g, j);
                    for (size_t d = 0; d < dim; d++)
                        attn_set_nibble(row, d, (unsigned)random_bits(key, number++) & 15);
                    for (size_t d = 0; d < dim; d += p->kv_group) {
                        const uint64_t random = random_bits(key, number++);
                        float *zero = kv_zero(p, t, (enum kv_operand)n, at, d);
                        *kv_scale(p, t, (enum kv_operand)n, at, d) =
                            0.0625F * (float)(1 + random % 8);
                        if (zero)
                            *zero = 0.25F * (float)(random >> 8 & 60) +
                                    (random >> 20 & 1 ? 0.375F : 0.0F);
                    }
                    if (dim % 2) /* the other half of the last byte */
                        attn_set_nibble(row, dim, (unsigned)random_bits(key, number++) & 15);
                }
}
