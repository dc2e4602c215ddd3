/*
 * bench_threads: how long each thread of a launch worked, and what the hardware counters counted.
 */
#include <math.h>
#include <stdlib.h>

#include "bench.h"
#include "system/teams.h"

void bench_take_teams(struct bench_result *result)
{
    const int threads = result->threads;
    const double calls = (double)result->calls_per_sample;
    double *busy = malloc((size_t)threads * sizeof *busy);
    double *waiting = malloc((size_t)threads * sizeof *waiting);
    double all_busy = 0, all_waiting = 0;
    bool known = busy && waiting;
    for (int t = 0; t < threads && known; t++) {
        known = teams_times(t, &busy[t], &waiting[t]);
        all_busy += busy[t] /= calls;
        all_waiting += waiting[t] /= calls;
    }
    if (!known) {
        free(busy);
        free(waiting);
        return;
    }
    result->thread_busy_s = busy;
    result->thread_barrier_s = waiting;
    result->busy_s = all_busy / threads;
    result->barrier_s = all_waiting / threads;
}

/* Cycles of a thread over the time in which they were counted; threads that wait spin. */
static double clock_rate(const struct bench_result *result)
{
    const double cycles = result->counters.value[COUNTER_CYCLES] / result->threads;
    double seconds = 0;
    for (size_t i = 0; i < result->samples; i++)
        seconds += result->samples_s[i] * (double)result->calls_per_sample;
    return isnan(cycles) ? 0 : cycles / seconds / 1e9;
}

void bench_take_counters(struct counters *counters, struct bench_result *result)
{
    for (int c = 0; c < COUNTER_COUNT; c++)
        result->counters.value[c] = NAN;
    result->counters.energy_j = NAN;
    if (counters)
        counters_read(counters, &result->counters);
    counters_close(counters);
    result->disturbance.clock_ghz = clock_rate(result);
}
