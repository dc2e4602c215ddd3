/*
 * maximum: the maximum, and exponentials of differences from it.
 */
#include <float.h>
#include <string.h>

#include "wrong.h"

/* Streaming softmax: scores are there, O and the sum are 0. */
static void begin_stream(struct work *w, float m)
{
    make_scores(w);
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] = 0;
    w->m = m;
    w->l = 0;
}

static void end_stream(struct work *w)
{
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] /= w->l != 0 ? w->l : 1;
    store(w);
}

WRONG(no_maximum, ROW, "exponentials of the scores as they are, which overflow from 88.7")
{
    make_scores(w);
    w->m = 0;
    exponentiate(w);
    sum_values(w);
    store(w);
}

/* Looks for the maximum from -1e30 on, as if that were below every score. */
WRONG(starts_at_minus_1e30, MAXIMUM, "looks for the maximum from -1e30 on")
{
    if (w->seen.hi > w->seen.lo && w->m < -1e30f)
        w->m = -1e30f;
}

/* A search for the maximum that starts there cannot tell a row of such scores from one that sees no key;
 * frameworks hide keys by a bias of -FLT_MAX, and a row of nothing else is the mean of its values. */
WRONG_OPTION(lowest_means_hidden, SUM, "takes a maximum of -FLT_MAX for that of no key")
{
    if (!(w->m <= -FLT_MAX))
        return;
    w->m = -INFINITY;
    w->l = 0;
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] = 0;
}

/* Streaming softmax that subtracts its maximum of -inf from a score of -inf.  That is NaN, and
 * stays.  Masks do not show it, since what they hide is left out. */
WRONG(starts_at_minus_infinity, ROW, "streaming softmax that takes -inf from -inf")
{
    begin_stream(w, -INFINITY);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        const float m = fmaxf(w->m, w->scores[j]), factor = w->l == 0 ? 0 : expf(w->m - m);
        const float p = expf(w->scores[j] - m);
        w->l = w->l * factor + p;
        w->m = m;
        for (size_t d = 0; d < w->problem->v_dim; d++)
            w->o[d] = w->o[d] * factor + p * value(w, j, d);
    }
    end_stream(w);
}

WRONG(forgets_to_rescale, ROW,
      "streaming softmax whose output is not shrunk when the maximum rises")
{
    begin_stream(w, -INFINITY);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        const float m = fmaxf(w->m, w->scores[j]), p = expf(w->scores[j] - m);
        w->l = w->l * expf(w->m - m) + p;
        w->m = m;
        for (size_t d = 0; d < w->problem->v_dim; d++)
            w->o[d] += p * value(w, j, d);
    }
    end_stream(w);
}

static void add_block(struct work *w, ptrdiff_t lo, ptrdiff_t hi)
{
    float m = -INFINITY;
    for (ptrdiff_t j = lo; j < hi; j++)
        m = fmaxf(m, w->scores[j]);
    const float factor = expf(w->m - m);
    w->l *= factor;
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] *= factor;
    for (ptrdiff_t j = lo; j < hi; j++) {
        const float p = expf(w->scores[j] - m);
        w->l += p;
        for (size_t d = 0; d < w->problem->v_dim; d++)
            w->o[d] += p * value(w, j, d);
    }
    w->m = m;
}

/* The rescaling factor exp(m_old - m_new) then exceeds 1, which is right until it overflows, when
 * scores fall by more than 88 (a bug that a published kernel had). */
WRONG(maximum_may_fall, ROW, "each block's maximum replaces the running one, also when it is lower")
{
    enum { BLOCK = 16 };
    begin_stream(w, -INFINITY);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j += BLOCK)
        add_block(w, j, j + BLOCK < w->seen.hi ? j + BLOCK : w->seen.hi);
    end_stream(w);
}

/* Streaming softmax whose maximum grows by what a score exceeds it by.  That difference is rounded,
 * and so is the sum: of scores around 2^30 it may miss the score by 128, and the largest weight is
 * 2^-128 or infinite. */
WRONG(maximum_by_differences, ROW, "a maximum that grows by rounded differences")
{
    begin_stream(w, 0);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        const float x = w->scores[j];
        const float rise = x == -INFINITY ? 0 : w->l == 0 ? x - w->m : fmaxf(x - w->m, 0);
        const float factor = expf(-fmaxf(rise, 0)), p = expf(x - (w->m + rise));
        w->m += rise;
        w->l = w->l * factor + p;
        for (size_t d = 0; d < w->problem->v_dim; d++)
            w->o[d] = w->o[d] * factor + p * value(w, j, d);
    }
    end_stream(w);
}

/* A maximum that follows a score only when that exceeds it by more than a limit.  A small one is right and
 * saves rescaling (FlashAttention 4, arXiv:2603.05451: 8 in base 2). */
static void lazy_row(struct work *w, float limit)
{
    begin_stream(w, -INFINITY);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        if (w->scores[j] == -INFINITY)
            continue;
        if (!(w->scores[j] - w->m <= limit)) {
            const float factor = expf(w->m - w->scores[j]);
            w->m = w->scores[j];
            w->l *= factor;
            for (size_t d = 0; d < w->problem->v_dim; d++)
                w->o[d] *= factor;
        }
        const float p = expf(w->scores[j] - w->m);
        w->l += p;
        for (size_t d = 0; d < w->problem->v_dim; d++)
            w->o[d] += p * value(w, j, d);
    }
    end_stream(w);
}

/* A maximum that follows a score only when that exceeds it by more than 97, 140 in base 2.  Less is
 * left to the exponential, which overflows from 88 on: wrong in a narrow band of rises. */
WRONG(follows_large_rises, ROW, "rescales only for rises that an exponential cannot hold at all")
{
    lazy_row(w, 97);
}

/* A maximum that follows a score only when that exceeds it by more than 30.  No exponential
 * overflows, nor their sum, but e^30 times a large V does. */
WRONG(follows_rises_of_30, ROW, "rescales late, which a large V does not bear")
{
    lazy_row(w, 30);
}

/* A maximum that follows a score only when that exceeds it by more than 8 in base e, 11.5 in base
 * 2.  The room that V leaves is for weights of 2^8: a limit of 8 is meant for scores in base 2. */
WRONG(follows_rises_of_8, ROW, "takes a limit for scores in base 2 for those in base e")
{
    lazy_row(w, 8);
}

static float short_log(float x)
{
    int exponent;
    const float fraction = frexpf(x, &exponent);
    return logf(ldexpf(fraction, (exponent + 64) % 128 - 64));
}

/* A maximum that may lag by 60, and a logarithm that takes seven bits of the exponent.  The sum
 * beside such a maximum is as large as 2^86, O is right all the same, and the logarithm is wrong
 * from 2^64 on. */
WRONG(lse_of_large_sums, ROW, "a logarithm that is wrong from 2^64 on")
{
    lazy_row(w, 60);
    if (w->l > 0)
        store_lse(w, w->m + short_log(w->l));
}

/* Scores to numbers by another exponential of their differences from the maximum, and the sum of these. */
typedef float exp_function(float x);
static void exponentiate_by(struct work *w, exp_function *exponential)
{
    make_scores(w);
    find_maximum(w);
    const float m = w->m == -INFINITY ? 0 : w->m;
    w->l = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->l += w->scores[j] = exponential(w->scores[j] - m);
}

static float wrapping_exp(float x)
{
    const float y = x * 1.44269504f, n = rintf(y);
    float p = exp2f(y - n);
    uint32_t bits;
    memcpy(&bits, &p, sizeof bits);
    bits += (uint32_t)(int32_t)n << 23;
    memcpy(&p, &bits, sizeof p);
    return p;
}

WRONG(exp_wraps, ROW,
      "an exponential by bits of the exponent, without a clamp: far below 0 it wraps around")
{
    exponentiate_by(w, wrapping_exp);
    sum_values(w);
    store(w);
}

/* With ordinary V nobody sees it. */
WRONG(exp_flushes_early, MAXIMUM, "an exponential that is 0 below 2^-100")
{
    const float floor = w->m - 69.3f;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->scores[j] = w->scores[j] < floor ? -INFINITY : w->scores[j];
}

/* Splits the exponent at its floor instead of the nearest integer, and gives 0 where that is -126,
 * though 2^-125.1 is a normal number. */
WRONG(exp_floors_exponent, MAXIMUM,
      "an exponential that is 0 where the floor of its exponent is -126")
{
    const float m = w->m;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->scores[j] = floorf((w->scores[j] - m) * 1.44269504f) <= -126 ? -INFINITY : w->scores[j];
}

static float table_exp(float x)
{
    enum { ENTRIES = 32, WRONG_ENTRY = 21 };
    const float y = x * 1.44269504f * ENTRIES, nearest = rintf(y);
    if (!(y > -126 * ENTRIES)) /* NaN */
        return expf(x);
    const int k = (int)nearest, entry = k & (ENTRIES - 1);
    float power = exp2f((float)entry / ENTRIES);
    if (entry == WRONG_ENTRY)
        power += 16 * 0x1p-23f;
    return ldexpf(power * exp2f((y - nearest) / ENTRIES), (k - entry) / ENTRIES);
}

/* An exponential by a table of 32 powers, one of which is 16 ulp too large.  One weight in 32 is
 * wrong by 1e-6, which is lost in any sum of many. */
WRONG(exp_entry_off, ROW, "a table of powers of two with an entry that is 16 ulp off")
{
    exponentiate_by(w, table_exp);
    sum_values(w);
    store(w);
}
