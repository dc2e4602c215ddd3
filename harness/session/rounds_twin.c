/*
 * rounds_twin: the twin of a cell, an A/A test inside the session.
 *
 * One cell of a case is launched twice per round, as two different kernels would be.  Any difference between
 * the two is noise: the interval of their ratio should contain 1, and its width is the smallest difference
 * between two kernels that this session could detect.
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/random.h"
#include "rounds_private.h"
#include "base/stats.h"
#include "base/number.h"

/* Cells that may get a twin: unfinished ones of at most median cost, since a twin doubles it. */
static size_t candidates(const struct rounds *rounds, size_t *indices)
{
    double *costs = alloc_zeroed(rounds->count + 1, sizeof *costs);
    size_t live = 0, n = 0;
    for (size_t i = 0; costs && i < rounds->count; i++)
        if (!rounds->cells[i].done)
            costs[live++] = rounds->cells[i].cost_s;
    const double usual = live ? stats_median_of(costs, live) : 0;
    for (size_t i = 0; live > 1 && i < rounds->count; i++)
        if (!rounds->cells[i].done && rounds->cells[i].cost_s <= usual)
            indices[n++] = i;
    free(costs);
    return n;
}

bool rounds_twin_pick(struct rounds *rounds)
{
    size_t *indices = alloc_zeroed(rounds->count + 1, sizeof *indices);
    const size_t n = indices ? candidates(rounds, indices) : 0;
    if (n) {
        const uint64_t key = random_key(rounds->session->seed, rounds->count);
        rounds->twin_of = indices[random_below(key, 0, n)];
        const struct cell *like = &rounds->cells[rounds->twin_of];
        cell_init_like(&rounds->twin, like->c, like);
        rounds->twin.work = like->work;
        rounds->twin.blas = json_incref(like->blas);
        rounds->twin.cost_s = like->cost_s;
    }
    free(indices);
    return n;
}

/* The median of the launch in a round, in seconds; NaN if there was none. */
static double of_round(const struct cell *cell, json_int_t round)
{
    size_t i;
    const json_t *launch;
    json_array_foreach (cell->launches, i, launch)
        if (json_integer_value(json_object_get(launch, "round")) == round)
            return json_number_value(json_object_get(launch, "median_s"));
    return NAN;
}

/* Fills a and b with the medians of the rounds in which both were launched; returns how many. */
static size_t pairs(const struct rounds *rounds, double *a, double *b)
{
    size_t i, n = 0;
    const json_t *launch;
    json_array_foreach (rounds->twin.launches, i, launch) {
        const json_int_t round = json_integer_value(json_object_get(launch, "round"));
        a[n] = of_round(&rounds->cells[rounds->twin_of], round);
        b[n] = json_number_value(json_object_get(launch, "median_s"));
        n += !isnan(a[n]);
    }
    return n;
}

json_t *rounds_twin_noise(const struct rounds *rounds)
{
    const size_t most = json_array_size(rounds->twin.launches);
    double *a = alloc_zeroed(most + 1, sizeof *a), *b = alloc_zeroed(most + 1, sizeof *b);
    json_t *line = NULL;
    const size_t n = a && b && rounds->twin.c ? pairs(rounds, a, b) : 0;
    if (n) {
        const struct stats_ratio ratio = stats_paired_ratio(a, b, n);
        line = json_pack("{s:s, s:I, s:o, s:o, s:o}", "type", "noise", "rounds", (json_int_t)n,
                         "ratio", number_json(ratio.ratio), "ci95",
                         ratio.interval ? json_pack("[f, f]", ratio.lo, ratio.hi) : json_null(),
                         "detectable", number_json(stats_detectable(a, b, n)));
        json_object_update_new(line, cell_identity(&rounds->twin));
    }
    free(a);
    free(b);
    return line;
}
