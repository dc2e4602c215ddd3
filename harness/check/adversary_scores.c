/*
 * adversary_scores: scores that a row may have, key by key.
 */
#include "adversary_inputs.h"

#include <math.h>

#include "base/random.h"

#define NEEDLE_SCORE 40 /* e^-40 of every other key: a million of them weigh less than 1e-11 */

size_t adversary_kind(const struct trial *trial, size_t b, size_t g, size_t kinds)
{
    return (trial->heads_before + b * trial->problem.kv_heads + g) % kinds;
}

size_t adversary_rows(const struct attn_problem *problem)
{
    return problem->q_heads / problem->kv_heads * problem->q_len;
}

static void stretch_row(const struct trial *trial, size_t b, size_t h, size_t row, double factor)
{
    const struct attn_tensor *q = &trial->set.tensors.q;
    for (size_t d = 0; d < trial->problem.qk_dim; d++)
        tensors_set(q, b, h, row, d, factor * tensors_get(q, b, h, row, d));
}

void adversary_stretch(struct trial *trial, adversary_factor *factor)
{
    const struct attn_problem *p = &trial->problem;
    for (size_t b = 0; b < p->batch; b++) {
        const struct attn_sequence s = attn_sequence(p, &trial->set.tensors, b);
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < s.q_len; i++)
                stretch_row(trial, b, h, s.q_first + i, factor(trial, b, h, i));
    }
}

/*
 * The score, clamped to the largest of its sign that can be computed without an overflow on the way.
 *
 * The limit lies below the largest number.  A kernel may multiply scores by log2(e), which overflows from 1 /
 * 1.4427 = 0.693 of it on; and it may apply the scale to the finished sum q . k, which is score / scale.
 * (All products have the sign of the score, so no partial sum exceeds it.)  So the limit is 0.68 of the
 * largest number, with room for the rounding of K to bf16 or int8, 0.4 %; 0.64 for f8e4m3, 6.3 %; 0.6 for
 * f8e5m2, 12.5 %, and i4, at most 10 %.  A scale below 1 multiplies it.  With a single dimension an element
 * of K may be twice q . k, so half of it counts; an element in f16 may be 1.5 times the score.
 */
double adversary_held(const struct trial *trial, double score)
{
    const struct attn_problem *p = &trial->problem;
    const double scale = fabs((double)attn_problem_scale(p));
    const double all = p->kv_dtype == ATTN_F8E4M3                             ? 0.64
                       : p->kv_dtype == ATTN_F8E5M2 || p->kv_dtype == ATTN_I4 ? 0.6
                                                                              : 0.68;
    const double part = p->qk_dim == 1 ? all / 2 : all;
    const double most =
        p->dtype == ATTN_F16 ? 3e4 : part * adversary_range(trial)->largest * fmin(scale, 1);
    return isinf(score) ? score : copysign(fmin(fabs(score), most), score);
}

struct prescribed {
    const struct trial *trial;
    patterns_score *score;
};

static double held(const void *context, struct kv_place at)
{
    const struct prescribed *c = context;
    return adversary_held(c->trial, c->score(c->trial, at));
}

void adversary_scores(struct trial *trial, patterns_score *score, double noise)
{
    const struct prescribed all = {trial, score};
    patterns_scores(&trial->set, &trial->problem, trial->key, held, &all, noise);
}

/* Position of a key in [0, 1]. */
static double position(const struct trial *trial, struct kv_place at)
{
    const size_t n = trial->problem.kv_len;
    return n > 1 ? (double)at.j / (double)(n - 1) : 0;
}

double adversary_unit(const struct trial *trial, struct kv_place at)
{
    return random_unit(random_key(trial->key, at.b), ((uint64_t)at.g << 40) + at.j);
}

/* A random number in [-1, 1) for a key. */
static double dither(const struct trial *trial, struct kv_place at)
{
    return 2 * adversary_unit(trial, at) - 1;
}

bool adversary_is_needle(const void *context, struct kv_place at)
{
    const struct trial *trial = context;
    return at.j == trial_needle(trial, at.b, at.g);
}

double scores_needle(const void *context, struct kv_place at)
{
    return adversary_is_needle(context, at) ? NEEDLE_SCORE : 0;
}

/* Needles and negative rows at once, in alternate heads. */
double scores_needle_or_negative(const void *context, struct kv_place at)
{
    return (at.b + at.g) % 2 ? patterns_negative(context, at) : scores_needle(context, at);
}

double scores_ascending(const void *context, struct kv_place at)
{
    return 60 * position(context, at) - 30;
}

double scores_descending(const void *context, struct kv_place at)
{
    return -scores_ascending(context, at);
}

/* Down by 100 (f64: by 802) half-way: later blocks lie more than 88 below the running maximum. */
double scores_falling(const void *context, struct kv_place at)
{
    const struct trial *trial = context;
    const double half = trial->problem.dtype == ATTN_F64 ? 401 : 50;
    return position(context, at) < 0.5 ? half : -half;
}

double scores_rising(const void *context, struct kv_place at)
{
    return -scores_falling(context, at);
}

double scores_exp_edge(const void *context, struct kv_place at)
{
    const struct trial *trial = context;
    return adversary_range(trial)->exp_edge + 2 * dither(context, at);
}

/* One key scores 0, the others around -88 (f64: -709): they weigh around e^-88 of it. */
double scores_exp_edge_below(const void *context, struct kv_place at)
{
    return at.j == 0 ? 0 : -scores_exp_edge(context, at);
}

double scores_tied(const void *context, struct kv_place at)
{
    (void)context;
    (void)at;
    return 1;
}

double scores_spread(const void *context, struct kv_place at)
{
    return 1000 * dither(context, at);
}

/* So small that a softcap must not change them. */
double scores_tiny(const void *context, struct kv_place at)
{
    return 1e-3 * dither(context, at);
}
