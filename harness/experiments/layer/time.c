/*
 * time: the three parts of a layer, in turns.
 */
#include "time.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "experiments/experiment.h"
#include "base/stats.h"

#define PARTS 3

/* Seconds of the parts, `rounds` of them; the first call is not kept. */
static void measure(const struct layer_call *call, const struct attn_self_attention_tensors *t,
                    size_t rounds, double *times[PARTS])
{
    static void (*const parts[PARTS])(const struct attn_self_attention_plan *,
                                      const struct attn_self_attention_tensors *) = {
        attn_self_attention_project, attn_self_attention_attend, attn_self_attention_output};
    attn_self_attention_execute(&call->plan, t);
    for (size_t r = 0; r < rounds; r++)
        for (size_t p = 0; p < PARTS; p++) {
            const double start = clock_now();
            parts[p](&call->plan, t);
            times[p][r] = clock_now() - start;
        }
}

/* Attention's part of each round, sorted. */
static void take_shares(double *const times[PARTS], size_t rounds, double *shares)
{
    for (size_t r = 0; r < rounds; r++)
        shares[r] = times[1][r] / (times[0][r] + times[1][r] + times[2][r]);
    stats_sort(shares, rounds);
}

json_t *layer_time(const struct layer_call *call, const struct attn_self_attention_tensors *tensors,
                   size_t rounds)
{
    double *memory = calloc((PARTS + 1) * rounds, sizeof *memory);
    double *times[PARTS], lo = NAN, hi = NAN;
    if (!memory)
        return NULL;
    for (size_t p = 0; p < PARTS; p++)
        times[p] = memory + p * rounds;
    double *shares = memory + PARTS * rounds;
    measure(call, tensors, rounds, times);
    take_shares(times, rounds, shares);
    stats_median_ci95(shares, rounds, &lo, &hi);
    const double interval[] = {lo, hi};
    json_t *values = json_pack(
        "{s:f, s:f, s:f, s:f, s:o}", "project_s", stats_median_of(times[0], rounds), "attend_s",
        stats_median_of(times[1], rounds), "output_s", stats_median_of(times[2], rounds),
        "attention_share", stats_median(shares, rounds), "ci95", experiment_numbers(interval, 2));
    free(memory);
    return values;
}
