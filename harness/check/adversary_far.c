/*
 * adversary_far: scores that are far from each other or from 0: up to the largest numbers, and infinite.
 */
#include <float.h>
#include <math.h>

#include "adversary_inputs.h"
#include "base/random.h"

/* Which keys of a head are special. */
enum special { FIRST, LAST, MIDDLE, FIRST_THIRD, LAST_THIRD, FIRST_BLOCK, ODD, ODD_BLOCKS, ALL };

/* Whether key j of n is. */
static bool is_special(enum special which, size_t j, size_t n)
{
    switch (which) {
    case FIRST:
        return j == 0;
    case LAST:
        return j + 1 == n;
    case MIDDLE:
        return j == n / 2;
    case FIRST_THIRD:
        return j < n / 3;
    case LAST_THIRD:
        return j >= n - n / 3;
    case FIRST_BLOCK: /* the whole first block of keys of most kernels */
        return j < 128 && j + 1 < n;
    case ODD:
        return j % 2;
    case ODD_BLOCKS:
        return j / 16 % 2;
    case ALL:
        break;
    }
    return true;
}

#define BEYOND DBL_MAX /* more than any score */

/* A kind of head: its special keys have `score`, the others `others` times that, or a random score where
 * `others` is 0. */
struct adversary_head {
    enum special special;
    double score, others;
};

static double score_of(const struct trial *trial, struct kv_place at,
                       const struct adversary_heads *heads)
{
    const struct adversary_head *head =
        &heads->kinds[adversary_kind(trial, at.b, at.g, heads->count)];
    if (is_special(head->special, at.j, trial->problem.kv_len))
        return head->score;
    return head->others < 0 ? head->others * head->score : 4 * adversary_unit(trial, at);
}

double far_score_of_head(const void *context, struct kv_place at)
{
    const struct trial *trial = context;
    return score_of(trial, at, trial->heads);
}

/* ---- far below ------------------------------------------------------------------------------- */

/* A kernel must not subtract a number of this size from the other scores: they would lose their low bits. */
static const struct adversary_head below[] = {
    {FIRST_THIRD, -1e30, 0},  {FIRST_BLOCK, -BEYOND, 0}, {FIRST, -1e30, 0},
    {LAST_THIRD, -BEYOND, 0}, {ODD, -1e30, 0},           {ODD_BLOCKS, -BEYOND, 0},
};

const struct adversary_heads far_heads_below = {below, ADVERSARY_COUNT(below)};

/* ---- -inf ------------------------------------------------------------------------------------ */

/* Keys of weight 0 that no mask hides; a row that has no other key must give what a row without keys
 * gives. */
static const struct adversary_head infinite[] = {
    {FIRST_BLOCK, -INFINITY, 0}, {ALL, -INFINITY, 0},  {ODD_BLOCKS, -INFINITY, 0},
    {ODD, -INFINITY, 0},         {LAST, -INFINITY, 0}, {LAST_THIRD, -INFINITY, 0},
};

const struct adversary_heads far_heads_infinite = {infinite, ADVERSARY_COUNT(infinite)};

/* Needs a K that can be infinite, and a V that is no part of it. */
bool far_shape_infinite(struct problem_case *c)
{
    return !attn_dtype_scaled(c->problem.kv_dtype) && !(c->problem.options & ATTN_OPTION_SHARED_KV);
}

/* ---- the largest numbers ----------------------------------------------------------------------- */

static const struct adversary_head largest[] = {
    {FIRST, BEYOND, 0}, {LAST, BEYOND, 0},          {ALL, -BEYOND, 0},
    {ODD, BEYOND, -1},  {FIRST_BLOCK, -BEYOND, -1}, {ODD_BLOCKS, -BEYOND, 0},
};

const struct adversary_heads far_heads_largest = {largest, ADVERSARY_COUNT(largest)};

/* The scale with which scores can be largest: the difference of two of them overflows a float. */
bool far_shape_farthest(struct problem_case *c)
{
    c->problem.scale = 1;
    return weights_shape_own_values(c);
}

/* ---- from below 0 to above --------------------------------------------------------------------- */

/*
 * The maximum rises from a negative score to a positive one that has a larger exponent, so that floats there
 * are further apart.  The difference is rounded, and old maximum + difference may miss the new maximum by an
 * ulp, which from 2^30 on (2^62 in double) is more than any exponent of a weight.  This happens to about
 * every second row.
 */
static const struct adversary_head across[] = {
    {LAST, 0x1p31, -0.6},
    {MIDDLE, 0x1p31, -0.6},
    {LAST, 0x1p45, -0.6},
    {MIDDLE, 1e30, -0.6},
};

/* Rows of each kind, at least. */
#define ACROSS_ROWS 24

size_t far_kinds(const struct attn_problem *p)
{
    const size_t rows = adversary_rows(p);
    return ADVERSARY_COUNT(across) * ((ACROSS_ROWS + rows - 1) / rows);
}

double far_score_across(const void *context, struct kv_place at)
{
    static const struct adversary_heads heads = {across, ADVERSARY_COUNT(across)};
    const struct trial *trial = context;
    const double further = trial->problem.dtype == ATTN_F64 ? 0x1p32 : 1;
    /* Half of it, because far_stretch_to_twice() makes it up to twice as large. */
    return adversary_held(trial, 2 * further * score_of(trial, at, &heads)) / 2;
}

/* A random factor in [1, 2), so that scores have any low bits. */
static double up_to_twice(const struct trial *trial, size_t b, size_t h, size_t i)
{
    return 1 + random_unit(random_key(trial->key, b), h << 20 | i);
}

/* Lengths as those of adversary_rises.c. */
bool far_shape_across(struct problem_case *c)
{
    return rises_shape(c) && weights_shape_own_values(c);
}

void far_stretch_to_twice(struct trial *trial)
{
    adversary_stretch(trial, up_to_twice);
}
