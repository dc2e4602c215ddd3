/*
 * patterns: contents of operands.
 *
 * Element (b, h, s, d) gets number ((b H + h) S + s) D + d of its stream, so that layout, padding
 * and thread count change nothing.
 */
#include "patterns.h"

#include <math.h>

#include "base/random.h"
#include "tensors_view.h"

#define CHUNK 256 /* elements generated at a time */

/* Elements below which waking other threads costs more than they save. */
#define WORTH_THREADS 100000

/* ---- random numbers ------------------------------------------------------------------------ */

typedef void generate(float *x, size_t n, uint64_t key, uint64_t first);

static void fill(struct tensor_set *set, const struct attn_problem *p,
                 enum patterns_operand operand, uint64_t key, generate *numbers, double mean,
                 double size)
{
    struct tensors_view views[TENSORS_VIEWS];
    tensors_operands(&set->tensors, p, views);
    const struct tensors_view view = views[operand];
    const size_t elements = view.batch * view.heads * view.rows * view.cols;
#pragma omp parallel for collapse(3) if (elements > WORTH_THREADS)
    for (size_t b = 0; b < view.batch; b++)
        for (size_t h = 0; h < view.heads; h++)
            for (size_t r = 0; r < view.rows; r++)
                for (size_t d = 0; d < view.cols; d += CHUNK) {
                    float x[CHUNK];
                    const size_t n = view.cols - d < CHUNK ? view.cols - d : CHUNK;
                    const uint64_t row = (b * view.heads + h) * view.rows + r;
                    numbers(x, n, key, row * view.cols + d);
                    for (size_t k = 0; k < n; k++)
                        x[k] = (float)(mean + size * (double)x[k]);
                    tensors_store(view.t, b, h, r, d, x, n);
                }
}

void patterns_normal(struct tensor_set *set, const struct attn_problem *problem,
                     enum patterns_operand operand, uint64_t key, double mean, double size)
{
    fill(set, problem, operand, key, random_normal, mean, size);
}

void patterns_uniform(struct tensor_set *set, const struct attn_problem *problem,
                      enum patterns_operand operand, uint64_t key)
{
    fill(set, problem, operand, key, random_uniform, 0, 1);
}

/* ---- prescribed scores --------------------------------------------------------------------- */

/* Element d of the direction w of KV head (b, g): a random sign and a size in [0.5, 1.5) times
 * `size`, so that no dimension is idle and another head's keys mean nothing to this head. */
static double direction(uint64_t key, size_t b, size_t g, size_t d, double size)
{
    const uint64_t bits = random_bits(random_key(key, b), ((uint64_t)g << 32) + d);
    const double x = (double)(bits >> 12) * 0x1p-52 + 0.5;
    return bits & 1 ? size * x : -size * x;
}

/* A size for the elements of w that leaves K's as large as Q's where scores are near 1. */
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
    float x[CHUNK];
    for (size_t at = 0; at < p->qk_dim; at += CHUNK) {
        const size_t n = p->qk_dim - at < CHUNK ? p->qk_dim - at : CHUNK;
        random_normal(x, n, key, row * p->qk_dim + at);
        for (size_t d = 0; d < n; d++)
            x[d] = (float)(along * tensors_get(&set->tensors.q, b, h, 0, at + d) +
                           across * (double)x[d]);
        tensors_store(&set->tensors.k, b, g, j, at, x, n);
    }
}

void patterns_scores(struct tensor_set *set, const struct attn_problem *p, uint64_t key,
                     patterns_score *score, const void *context, double noise)
{
    fill_q(set, p, key);
    const uint64_t noise_key = random_key(key, UINT64_MAX);
    const double scale = fabs((double)attn_problem_scale(p));
    const size_t elements = p->batch * p->kv_heads * p->kv_len * p->qk_dim;
#pragma omp parallel for collapse(2) if (elements > WORTH_THREADS)
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++) {
            const double unit = unit_of(set, p, b, g);
            const double across = noise / sqrt(fabs(unit) * scale);
            for (size_t j = 0; j < p->kv_len; j++)
                fill_key(set, p, b, g, j, score(context, (struct patterns_key){b, g, j}) / unit,
                         across, noise_key);
        }
}

/* ---- values -------------------------------------------------------------------------------- */

void patterns_one_hot(struct tensor_set *set, const struct attn_problem *p,
                      patterns_needle *is_needle, const void *context)
{
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < p->kv_len; j++) {
                const double x = is_needle(context, (struct patterns_key){b, g, j}) ? 1 : -1;
                for (size_t d = 0; d < p->v_dim; d++)
                    tensors_set(&set->tensors.v, b, g, j, d, d == j % p->v_dim ? x : 0);
            }
}

void patterns_scale_v(struct tensor_set *set, const struct attn_problem *p, double factor)
{
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < p->kv_len; j++)
                for (size_t d = 0; d < p->v_dim; d++)
                    tensors_set(&set->tensors.v, b, g, j, d,
                                factor * tensors_get(&set->tensors.v, b, g, j, d));
}
