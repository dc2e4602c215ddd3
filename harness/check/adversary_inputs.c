/*
 * adversary_inputs: the inputs.
 *
 * Each is there because some wrong kernel passes all others; tests/wrong/ has those kernels.
 */
#include "adversary_inputs.h"

#include <float.h>
#include <math.h>

#include "base/random.h"

#define NOISE 0.25         /* standard deviation around the prescribed scores */
#define NEEDLE_SCORE 40    /* e^-40 of every other key: a million of them weigh less than 1e-11 */
#define NEGATIVE_SCORE -30 /* a zero beside it weighs 1e13 times as much */
#define EXP_EDGE 88        /* e^88.7 is the largest float, e^-87.3 the smallest normal one */

struct context {
    const struct trial *trial;
    uint64_t key;
};

/* ---- scores -------------------------------------------------------------------------------- */

/* Position of a key in [0, 1]. */
static double position(const struct context *c, struct patterns_key at)
{
    const size_t n = c->trial->problem.kv_len;
    return n > 1 ? (double)at.j / (double)(n - 1) : 0;
}

/* A number in [-1, 1) of a key. */
static double dither(const struct context *c, struct patterns_key at)
{
    return 2 * random_unit(random_key(c->key, at.b), ((uint64_t)at.g << 40) + at.j) - 1;
}

static bool is_needle(const void *context, struct patterns_key at)
{
    const struct context *c = context;
    return at.j == check_needle(c->trial, at.b, at.g);
}

static double needle(const void *context, struct patterns_key at)
{
    return is_needle(context, at) ? NEEDLE_SCORE : 0;
}

/* As an attention sink: the others weigh next to nothing each, and something together. */
static double sink(const void *context, struct patterns_key at)
{
    (void)context;
    return at.j == 0 ? PATTERNS_SINK : 0;
}

static double negative(const void *context, struct patterns_key at)
{
    (void)context;
    (void)at;
    return NEGATIVE_SCORE;
}

/* Needles and negative rows at once, in alternate heads. */
static double needle_or_negative(const void *context, struct patterns_key at)
{
    return (at.b + at.g) % 2 ? negative(context, at) : needle(context, at);
}

static double ascending(const void *context, struct patterns_key at)
{
    return 60 * position(context, at) - 30;
}

static double descending(const void *context, struct patterns_key at)
{
    return -ascending(context, at);
}

/* Down by 100 half-way: later blocks lie more than 88 below the running maximum. */
static double falling(const void *context, struct patterns_key at)
{
    return position(context, at) < 0.5 ? 50 : -50;
}

static double rising(const void *context, struct patterns_key at)
{
    return -falling(context, at);
}

static double exp_edge(const void *context, struct patterns_key at)
{
    return EXP_EDGE + 2 * dither(context, at);
}

/* One key scores 0, the others around -88: they weigh around e^-88 of it. */
static double exp_edge_below(const void *context, struct patterns_key at)
{
    return at.j == 0 ? 0 : -exp_edge(context, at);
}

static double tied(const void *context, struct patterns_key at)
{
    (void)context;
    (void)at;
    return 1;
}

static double spread(const void *context, struct patterns_key at)
{
    return 1000 * dither(context, at);
}

/* Behind a softcap they must come out as they are. */
static double tiny(const void *context, struct patterns_key at)
{
    return 1e-3 * dither(context, at);
}

/* ---- special elements ---------------------------------------------------------------------- */

static double smallest_normal(enum attn_dtype dtype)
{
    return dtype == ATTN_F16 ? 0x1p-14 : 0x1p-126;
}

static void fill_normal(struct trial *trial, uint64_t key)
{
    for (unsigned n = PATTERNS_Q; n <= PATTERNS_V; n++)
        patterns_normal(&trial->set, &trial->problem, n, random_key(key, n), 0, 1);
}

static void subnormal_v(struct trial *trial, uint64_t key)
{
    const double size = smallest_normal(trial->problem.kv_dtype) / 8;
    fill_normal(trial, key);
    patterns_normal(&trial->set, &trial->problem, PATTERNS_V, key, 0, size);
}

static void subnormal_qk(struct trial *trial, uint64_t key)
{
    fill_normal(trial, key);
    for (unsigned n = PATTERNS_Q; n <= PATTERNS_K; n++)
        patterns_normal(&trial->set, &trial->problem, n, key, 0,
                        smallest_normal(trial->problem.kv_dtype) / 8);
}

/* As large as possible if 256 times the sum of all keys must fit, or the largest of the type. */
static void large_v(struct trial *trial, uint64_t key)
{
    const double room = (double)FLT_MAX / (512 * (double)trial->problem.kv_len);
    fill_normal(trial, key);
    patterns_uniform(&trial->set, &trial->problem, PATTERNS_V, key);
    patterns_scale_v(&trial->set, &trial->problem,
                     trial->problem.kv_dtype == ATTN_F16 ? 65000 : room);
}

static void mean_two(struct trial *trial, uint64_t key)
{
    fill_normal(trial, key);
    patterns_normal(&trial->set, &trial->problem, PATTERNS_V, key, 2, 1);
}

/* NaN in the special key of every other KV head (of every head where there is one). */
static void put_nan(struct trial *trial, enum keys_operand operand, size_t dim)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = b % 2; g < p->kv_heads; g += 2) {
            const struct patterns_key at = {b, g, check_needle(trial, b, g)};
            for (size_t d = 0; at.j < attn_sequence(p, t, b).kv_len && d < dim; d++)
                keys_set(p, t, operand, at, d, NAN);
        }
}

static void nan_in_k(struct trial *trial, uint64_t key)
{
    fill_normal(trial, key);
    put_nan(trial, KEYS_K, trial->problem.qk_dim);
}

static void nan_in_v(struct trial *trial, uint64_t key)
{
    fill_normal(trial, key);
    put_nan(trial, KEYS_V, trial->problem.v_dim);
}

static void set_query_nan(struct trial *trial, size_t b, size_t h)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_sequence s = attn_sequence(p, &trial->set.tensors, b);
    if (s.q_len)
        tensors_set(&trial->set.tensors.q, b, h, s.q_first + (h * 31 + 17) % s.q_len, p->qk_dim / 2,
                    NAN);
}

/* In one query of each head; its neighbours must not change. */
static void nan_in_q(struct trial *trial, uint64_t key)
{
    const struct attn_problem *p = &trial->problem;
    fill_normal(trial, key);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            set_query_nan(trial, b, h);
}

/* ---- the list ------------------------------------------------------------------------------ */

#define LEAKS .caveat = ATTN_CAVEAT_NAN_LEAKS

const struct adversary adversaries[] = {
    {"small problem", .fill = fill_normal},
    {"weights", .fill = fill_normal, .shape = shape_weights},
    {"fully masked rows", .fill = fill_normal, .shape = shape_more_queries},
    {"first tile masked", .fill = fill_normal, .shape = shape_narrow_window},
    {"mean 2", .fill = mean_two},
    {"negative", .score = negative, .noise = NOISE, .mean = 2},
    {"needle", .score = needle, .noise = NOISE, .one_hot = true, .special_keys = true},
    {"ascending", .score = ascending, .noise = NOISE, .mean = 2},
    {"descending", .score = descending, .noise = NOISE, .mean = 2},
    {"falling by 100", .score = falling, .noise = NOISE, .mean = 2},
    {"rising by 100", .score = rising, .noise = NOISE, .mean = 2},
    {"exp edge", .score = exp_edge, .mean = 2},
    {"exp edge below", .score = exp_edge_below, .mean = 2},
    {"ties", .score = tied, .mean = 2},
    {"scores of 1000", .score = spread, .mean = 2},
    {"subnormal v", .fill = subnormal_v},
    {"subnormal q and k", .fill = subnormal_qk},
    {"large v", .fill = large_v},
    {"nan in k", .fill = nan_in_k, .special_keys = true, LEAKS},
    {"nan in v", .fill = nan_in_v, .special_keys = true, LEAKS},
    {"nan in q", .fill = nan_in_q},
    {"sink", .score = sink, .noise = NOISE, .mean = 2, .precise = true},
    {"mask hides the needle", .score = needle, .noise = NOISE, .one_hot = true,
     .special_keys = true, .shape = shape_mask, .change = hide_needles},
    {"mask shows the last key", .fill = fill_normal, .shape = shape_mask, .change = show_last_key},
    {"rows masked whole", .fill = fill_normal, .shape = shape_mask, .change = mask_rows},
    {"mask in blocks of 64", .fill = fill_normal, .shape = shape_mask_blocks,
     .change = mark_blocks_of_64},
    {"mask in blocks of 128", .fill = fill_normal, .shape = shape_mask_blocks,
     .change = mark_blocks_of_128},
    {"nan in k behind a mask", .fill = nan_in_k, .special_keys = true, .shape = shape_mask, LEAKS},
    {"nan in v behind a mask", .fill = nan_in_v, .special_keys = true, .shape = shape_mask, LEAKS},
    {"hidden by a mask", .fill = fill_normal, .shape = shape_mask, .change = hide_columns, LEAKS},
    {"hidden by a bias", .fill = fill_normal, .shape = shape_bias, .change = hide_columns, LEAKS},
    {"hidden by a window", .fill = fill_normal, .shape = shape_window, .change = poison_hidden,
     LEAKS},
    {"hidden by causal_top_left", .fill = fill_normal, .shape = shape_top_left,
     .change = poison_hidden, LEAKS},
    {"hidden behind the ends in pages", .fill = fill_normal, .shape = shape_pages_and_lengths,
     .change = poison_hidden, LEAKS},
    {"bias of -inf", .fill = fill_normal, .shape = shape_bias, .change = bias_holes},
    {"bias of -1e30", .fill = fill_normal, .shape = shape_bias, .change = bias_far_below},
    {"bias of 3e38", .fill = fill_normal, .shape = shape_bias, .change = bias_far_above},
    {"capped scores of 1000", .score = spread, .mean = 2, .shape = shape_softcap},
    {"capped scores of 0.001", .score = tiny, .mean = 2, .shape = shape_softcap_small},
    {"softcap of 10000", .fill = fill_normal, .shape = shape_softcap_far, .precise = true},
    {"sinks above all keys", .fill = fill_normal, .shape = shape_sinks, .change = raise_sinks},
    {"sinks of all sizes", .fill = fill_normal, .shape = shape_sinks, .change = vary_sinks},
    {"masked rows and sinks", .fill = fill_normal, .shape = shape_sinks_and_masked_rows},
    {"sequences of 0 to 2 keys", .fill = fill_normal, .shape = shape_short},
    {"packed sequences of 0 to 2", .fill = fill_normal, .shape = shape_short_packed},
    {"pages", .fill = fill_normal, .shape = shape_pages},
    {"pages of several sequences", .fill = fill_normal, .shape = shape_pages,
     .change = share_pages},
    {"scales of 0", .fill = fill_normal, .shape = shape_int8, .change = clear_scales},
    {"scales of 0 for channels", .fill = fill_normal, .shape = shape_int8_channels,
     .change = clear_scales},
    {"int8 of -128 and 127", .fill = fill_normal, .shape = shape_int8, .change = take_extremes},
};

const size_t adversary_count = sizeof adversaries / sizeof *adversaries;

/* ---- at the case's own lengths ------------------------------------------------------------- */

const struct adversary adversary_needle_or_negative = {.phase = "needle or negative, full length",
                                                       .score = needle_or_negative,
                                                       .noise = NOISE,
                                                       .mean = 2,
                                                       .special_keys = true};
const struct adversary adversary_negative = {
    .phase = "negative, full length", .score = negative, .noise = NOISE, .mean = 2};
const struct adversary adversary_needle = {.phase = "needle, full length",
                                           .score = needle,
                                           .noise = NOISE,
                                           .one_hot = true,
                                           .special_keys = true};

void adversary_fill(struct trial *trial, const struct adversary *adversary, uint64_t key)
{
    const struct context context = {trial, key};
    const struct attn_problem *p = &trial->problem;
    if (adversary->fill)
        adversary->fill(trial, key);
    else
        patterns_scores(&trial->set, p, key, adversary->score, &context, adversary->noise);
    if (adversary->one_hot)
        patterns_one_hot(&trial->set, p, is_needle, &context);
    else if (adversary->score)
        patterns_normal(&trial->set, p, PATTERNS_V, key, adversary->mean, 1);
    if (adversary->change)
        adversary->change(trial, key);
    tensors_seal(&trial->set, p);
}
