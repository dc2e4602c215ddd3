/*
 * adversary_far: scores that lie far from each other or from 0: as far as numbers go, and beyond.
 */
#include <float.h>
#include <math.h>

#include "adversary_scores.h"
#include "base/random.h"

/* Which keys of a head are special, of n. */
typedef bool special(size_t j, size_t n);

static bool is_in_first_third(size_t j, size_t n)
{
    return j < n / 3;
}

static bool is_in_last_third(size_t j, size_t n)
{
    return j >= n - n / 3;
}

static bool is_odd(size_t j, size_t n)
{
    (void)n;
    return j % 2;
}

static bool is_in_odd_block(size_t j, size_t n)
{
    (void)n;
    return j / 16 % 2;
}

/* The first block of most kernels, whole. */
static bool is_in_first_block(size_t j, size_t n)
{
    return j < 128 && j + 1 < n;
}

static bool is_first(size_t j, size_t n)
{
    (void)n;
    return j == 0;
}

static bool is_last(size_t j, size_t n)
{
    return j + 1 == n;
}

static bool is_in_the_middle(size_t j, size_t n)
{
    return j == n / 2;
}

static bool is_any(size_t j, size_t n)
{
    (void)j;
    (void)n;
    return true;
}

#define BEYOND DBL_MAX /* more than any score */

/* A sort of head: which keys have the score; that of the others is so many times as large, or ordinary
 * where that is 0. */
struct adversary_head {
    special *is_special;
    double score, others;
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static double ordinary(const struct adversary_context *c, struct kv_place at)
{
    return 4 * random_unit(random_key(c->key, at.b), ((uint64_t)at.g << 40) + at.j);
}

static double score_of(const struct adversary_context *c, struct kv_place at,
                       const struct adversary_heads *heads)
{
    const struct adversary_head *head =
        &heads->sorts[adversary_kind(c->trial, at.b, at.g, heads->count)];
    if (head->is_special(at.j, c->trial->problem.kv_len))
        return head->score;
    return head->others < 0 ? head->others * head->score : ordinary(c, at);
}

double score_of_head(const void *context, struct kv_place at)
{
    const struct adversary_context *c = context;
    return score_of(c, at, c->heads);
}

/* ---- far below ------------------------------------------------------------------------------- */

/* What is subtracted from the others must not be of that size: it would take their low bits. */
static const struct adversary_head below[] = {
    {is_in_first_third, -1e30, 0},
    {is_in_first_block, -BEYOND, 0},
    {is_first, -1e30, 0},
    {is_in_last_third, -BEYOND, 0},
    {is_odd, -1e30, 0},
    {is_in_odd_block, -BEYOND, 0},
};

const struct adversary_heads heads_far_below = {below, COUNT(below)};

/* ---- -inf ------------------------------------------------------------------------------------ */

/* A key of no weight, though no mask hides it; a row of them is one that sees no key. */
static const struct adversary_head infinite[] = {
    {is_in_first_block, -INFINITY, 0}, {is_any, -INFINITY, 0},
    {is_in_odd_block, -INFINITY, 0},   {is_odd, -INFINITY, 0},
    {is_last, -INFINITY, 0},           {is_in_last_third, -INFINITY, 0},
};

const struct adversary_heads heads_infinite = {infinite, COUNT(infinite)};

/* Keys that can be infinite, and values that are not the same numbers. */
bool shape_infinite(struct problem_case *c)
{
    return !attn_dtype_scaled(c->problem.kv_dtype) && !(c->problem.options & ATTN_OPTION_SHARED_KV);
}

/* ---- the largest numbers ----------------------------------------------------------------------- */

static const struct adversary_head largest[] = {
    {is_first, BEYOND, 0},
    {is_last, BEYOND, 0},
    {is_any, -BEYOND, 0},
    {is_odd, BEYOND, -1},
    {is_in_first_block, -BEYOND, -1},
    {is_in_odd_block, -BEYOND, 0},
};

const struct adversary_heads heads_largest = {largest, COUNT(largest)};

/* A scale with which scores are as large as they can be: between two of them lies more than a float
 * holds. */
bool shape_far_as_can_be(struct problem_case *c)
{
    c->problem.scale = 1;
    return shape_own_values(c);
}

/* ---- from below 0 to above --------------------------------------------------------------------- */

/*
 * By more than either lies from 0: to a power of two more, where floats are further apart.  So is what a
 * maximum rises by, and added to the old one it may miss the new one by a float, which from 2^30 on is
 * more than exponents of weights can be (a double from 2^62 on).  Every second or so does.
 */
static const struct adversary_head across[] = {
    {is_last, 0x1p31, -0.6},
    {is_in_the_middle, 0x1p31, -0.6},
    {is_last, 0x1p45, -0.6},
    {is_in_the_middle, 1e30, -0.6},
};

/* Rows of a kind at least. */
#define ACROSS_ROWS 24

size_t across_kinds(const struct attn_problem *p)
{
    const size_t rows = adversary_rows(p);
    return COUNT(across) * ((ACROSS_ROWS + rows - 1) / rows);
}

double score_across(const void *context, struct kv_place at)
{
    static const struct adversary_heads heads = {across, COUNT(across)};
    const struct adversary_context *c = context;
    const double further = c->trial->problem.dtype == ATTN_F64 ? 0x1p32 : 1;
    /* stretch_to_twice() makes it up to twice as large. */
    return adversary_held(c->trial, 2 * further * score_of(c, at, &heads)) / 2;
}

/* Up to twice: any bits in the scores. */
static double up_to_twice(const struct trial *trial, uint64_t key, size_t b, size_t h, size_t i)
{
    (void)trial;
    return 1 + random_unit(random_key(key, b), h << 20 | i);
}

/* As short as those of other rises. */
bool shape_across(struct problem_case *c)
{
    return shape_rises(c) && shape_own_values(c);
}

void stretch_to_twice(struct trial *trial, uint64_t key)
{
    adversary_stretch(trial, key, up_to_twice);
}
