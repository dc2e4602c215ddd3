/*
 * logits: Q and K with prescribed scores.
 */
#include "logits.h"

#include <math.h>

#include "random.h"

/* Element d of the direction w of KV head (b, g): a random sign and a size in [0.5, 1.5) times
 * `size`, so that no dimension is idle and another head's keys mean nothing to this head. */
static double direction(uint64_t key, size_t b, size_t g, size_t d, double size)
{
    const uint64_t bits = random_bits(random_key(key, b), ((uint64_t)g << 32) + d);
    const double x = (double)(bits >> 12) * 0x1p-52 + 0.5;
    return bits & 1 ? size * x : -size * x;
}

/* A size for the elements of w that leaves K's as large as Q's where logits are near 1. */
static double balanced_size(const struct attn_problem *problem)
{
    const double scale = fabs((double)attn_problem_scale(problem));
    return 1 / sqrt(scale * sqrt((double)problem->qk_dim));
}

static void fill_q(struct tensor_set *set, const struct attn_problem *p, uint64_t key)
{
    const double size = balanced_size(p);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t d = 0; d < p->qk_dim; d++) {
                const double w = direction(key, b, attn_kv_head(p, h), d, size);
                for (size_t i = 0; i < p->q_len; i++)
                    tensors_set(&set->tensors.q, b, h, i, d, w);
            }
}

/* Score of a key w / unit is 1; computed from Q as it was stored. */
static double unit_of(const struct tensor_set *set, const struct attn_problem *p, size_t b,
                      size_t g)
{
    const size_t h = g * (p->q_heads / p->kv_heads);
    double norm2 = 0;
    for (size_t d = 0; d < p->qk_dim; d++) {
        const double w = tensors_get(&set->tensors.q, b, h, 0, d);
        norm2 += w * w;
    }
    return (double)attn_problem_scale(p) * norm2;
}

/* Row j of K: `along` times the head's w (read from its first query), plus noise. */
static void fill_key(struct tensor_set *set, const struct attn_problem *p, size_t b, size_t g,
                     size_t j, double along, double across, uint64_t key)
{
    const size_t h = g * (p->q_heads / p->kv_heads);
    const uint64_t row = (b * p->kv_heads + g) * p->kv_len + j;
    float x[256];
    for (size_t at = 0; at < p->qk_dim; at += 256) {
        const size_t n = p->qk_dim - at < 256 ? p->qk_dim - at : 256;
        random_normal(x, n, key, row * p->qk_dim + at);
        for (size_t d = 0; d < n; d++)
            x[d] = (float)(along * tensors_get(&set->tensors.q, b, h, 0, at + d) +
                           across * (double)x[d]);
        tensors_store(&set->tensors.k, b, g, j, at, x, n);
    }
}

void logits_fill(struct tensor_set *set, const struct attn_problem *p, uint64_t key,
                 logits_of *logit, const void *context, double noise)
{
    fill_q(set, p, key);
    const uint64_t noise_key = random_key(key, UINT64_MAX);
    const double scale = fabs((double)attn_problem_scale(p));
#pragma omp parallel for collapse(2)
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++) {
            const double unit = unit_of(set, p, b, g);
            const double across = noise / sqrt(fabs(unit) * scale);
            for (size_t j = 0; j < p->kv_len; j++)
                fill_key(set, p, b, g, j, logit(context, b, g, j) / unit, across, noise_key);
        }
}
