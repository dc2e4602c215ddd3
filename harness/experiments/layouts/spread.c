/*
 * spread: how far layouts are apart, and how far by chance.
 */
#include <math.h>
#include <stddef.h>

#include "base/random.h"
#include "base/stats.h"
#include "layouts.h"

enum { DRAWS = 2000, BOOTSTRAP_STREAM = 1, SHUFFLE_STREAM = 2 };

/* Takes each round's median off its times. */
static void level(struct layouts_times *t)
{
    double round[LAYOUTS_PLACES];
    for (size_t r = 0; r < t->rounds; r++) {
        for (size_t l = 0; l < t->layouts; l++)
            round[l] = t->logs[l][r];
        const double middle = stats_median_of(round, t->layouts);
        for (size_t l = 0; l < t->layouts; l++)
            t->logs[l][r] -= middle;
    }
}

/* Between the farthest medians over rounds, of times that are level: a difference of logarithms. */
static double apart(const struct layouts_times *t)
{
    double lo = INFINITY, hi = -INFINITY;
    for (size_t l = 0; l < t->layouts; l++) {
        const double place = stats_median_of(t->logs[l], t->rounds);
        lo = fmin(lo, place);
        hi = fmax(hi, place);
    }
    return hi - lo;
}

static bool enough(const struct layouts_times *t)
{
    return t->layouts >= 2 && t->rounds >= 1;
}

double layouts_spread(const struct layouts_times *times)
{
    struct layouts_times t = *times;
    if (!enough(times))
        return NAN;
    level(&t);
    return expm1(apart(&t));
}

/* The quantiles of the spread of rounds that are drawn with replacement. */
static void bootstrap(const struct layouts_times *times, uint64_t seed, double *lo, double *hi)
{
    static double draws[DRAWS];
    const uint64_t key = random_key(seed, BOOTSTRAP_STREAM);
    struct layouts_times t = *times, drawn = *times;
    level(&t);
    for (size_t i = 0; i < DRAWS; i++) {
        for (size_t r = 0; r < t.rounds; r++) {
            const size_t from = (size_t)random_below(key, i * t.rounds + r, t.rounds);
            for (size_t l = 0; l < t.layouts; l++)
                drawn.logs[l][r] = t.logs[l][from];
        }
        draws[i] = expm1(apart(&drawn));
    }
    stats_sort(draws, DRAWS);
    *lo = stats_quantile(draws, DRAWS, 0.025);
    *hi = stats_quantile(draws, DRAWS, 0.975);
}

/* Shuffles the launches of a round among the layouts of both. */
static void shuffle(struct layouts_times *a, struct layouts_times *b, size_t round, uint64_t key,
                    uint64_t first)
{
    double *all[2 * LAYOUTS_PLACES];
    size_t n = 0;
    for (size_t l = 0; l < a->layouts; l++)
        all[n++] = &a->logs[l][round];
    for (size_t l = 0; l < b->layouts; l++)
        all[n++] = &b->logs[l][round];
    for (size_t i = n; i-- > 1;) {
        const size_t j = (size_t)random_below(key, first + i, i + 1);
        const double x = *all[i];
        *all[i] = *all[j];
        *all[j] = x;
    }
}

/* By how much more the layouts of `a` spread than those of `b`, which are not level yet. */
static double excess(const struct layouts_times *a, const struct layouts_times *b)
{
    struct layouts_times x = *a, y = *b;
    level(&x);
    level(&y);
    return apart(&x) - apart(&y);
}

/* The share of shuffles, the one that was measured among them, that spread by as much more. */
static double chance_of(const struct layouts_times *times, const struct layouts_times *again,
                        uint64_t seed)
{
    const uint64_t key = random_key(seed, SHUFFLE_STREAM);
    const double measured = excess(times, again);
    struct layouts_times a = *times, b = *again;
    size_t as_much = 1;
    for (size_t i = 0; i < DRAWS; i++) {
        for (size_t r = 0; r < a.rounds; r++)
            shuffle(&a, &b, r, key, (i * a.rounds + r) * 2 * LAYOUTS_PLACES);
        as_much += excess(&a, &b) >= measured;
    }
    return (double)as_much / (DRAWS + 1);
}

struct layouts_finding layouts_judge(const struct layouts_times *times,
                                     const struct layouts_times *again, uint64_t seed)
{
    struct layouts_finding found = {layouts_spread(times), NAN, NAN, NAN};
    if (!enough(times))
        return found;
    bootstrap(times, seed, &found.lo, &found.hi);
    if (times != again && enough(again) && again->rounds == times->rounds)
        found.chance = chance_of(times, again, seed);
    return found;
}
