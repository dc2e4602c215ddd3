/*
 * noise: the flags and their thresholds.
 *
 * Single launches are judged by what the system counted, a cell by how many of its launches were
 * disturbed and by the shape of its samples.
 */
#include "base/alloc.h"
#include "noise.h"

#include <math.h>
#include <stdlib.h>

#include "base/stats.h"
#include "base/stats_shape.h"

/* Another process that never sleeps causes 100 to 250 involuntary switches of a thread per second (ticks
 * of 4 to 10 ms); an idle system's own tasks caused up to 60 (Linux 6, 2 CPUs). */
#define SWITCHES_PER_S 100.0
#define SWITCHES_FREE 2.0

#define STEAL 0.02 /* of the time of the threads */
#define GROWN \
    (1 << 20) /* bytes: `execute` may allocate nothing, and the harness allocates some KiB */
#define FREQUENCY 0.05 /* change of the multiply-add rate; more than a quiet probe varies */

/* The share of outliers from which they move p95; how far above the median an outlier is; the drift or the
 * gap between two modes that matters to an interval of 1 %; the z that chance exceeds in 1 % of cases; and
 * the least share of the smaller mode, which is then more than a few outliers. */
#define OUTLIER_SHARE 0.05
#define OUTLIER_LEAST 0.02
#define CHANGE 0.01
#define TREND_Z 2.576
#define MINORITY 0.2

/* The two groups of a sample with a single mode are seldom further apart than 5 + 24 / n: in simulation,
 * in under 2 % of exponential and uniform samples of size 12, in under 1 % from size 32 on, and in fewer
 * normal ones. */
#define MODES_LEAST 12
#define MODES_DISTANCE(n) (5 + 24 / (double)(n))

const struct noise_word noise_words[] = {
    {NOISE_PREEMPTED, 'p', "preempted",
     "half of the launches lost the CPU more than 100 times per second and thread", true},
    {NOISE_MIGRATED, 'm', "migrated", "a thread was found off its CPU", true},
    {NOISE_STEAL, 's', "steal", "the hypervisor took over 2 % of the time in half of the launches",
     true},
    {NOISE_THROTTLED, 't', "throttled",
     "a CPU quota ran out, or the processor slowed down because of heat", true},
    {NOISE_FREQUENCY, 'f', "frequency", "the clock was over 5 % off in a quarter of the launches",
     true},
    {NOISE_OVERSUBSCRIBED, 'o', "oversubscribed",
     "more runnable threads than CPUs in half of the launches", true},
    {NOISE_PAGED, 'd', "paged", "memory had to be read from disk", true},
    {NOISE_HALTED, 'h', "halted",
     "the process was stopped for a while, as by SIGSTOP or a debugger", true},
    {NOISE_GROWS, 'g', "grows",
     "the process took over 1 MiB more memory during the samples of half of the launches: a leak?",
     false},
    {NOISE_PRINTS, 'w', "prints", "the kernel wrote to standard output or error (log of the row)",
     false},
    {NOISE_OUTLIERS, 'x', "outliers", "over 5 % of the samples lie far above their launch's median",
     false},
    {NOISE_BIMODAL, 'b', "bimodal", "samples or launches fall into two groups over 1 % apart",
     false},
    {NOISE_DRIFT, 'r', "drift", "times rise or fall by over 1 % in the course of the measurement",
     false},
    {NOISE_ELSEWHERE, 'e', "elsewhere",
     "memory was not on the requested nodes, or none of it on the requested huge pages", false},
    {NOISE_CORRELATED, 'c', "correlated",
     "successive launches were alike, so the interval was widened threefold or more", false},
    {NOISE_NO_INTERVAL, 'n', "no-interval", "fewer than 6 launches, too few for a 95 % interval",
     false},
};
const size_t noise_word_count = sizeof noise_words / sizeof *noise_words;

json_t *noise_json(unsigned flags)
{
    json_t *words = json_array();
    for (size_t i = 0; i < noise_word_count; i++)
        if (flags & (unsigned)noise_words[i].bit)
            json_array_append_new(words, json_string(noise_words[i].word));
    return words;
}

/* ---- one launch ---------------------------------------------------------------------------- */

double noise_clock(const struct bench_disturbance *d)
{
    return d->clock_ghz > 0 ? d->clock_ghz : d->probe_before_gflops;
}

static bool off(double rate, double usual)
{
    return rate > 0 && usual > 0 && fabs(rate / usual - 1) > FREQUENCY;
}

unsigned noise_of_launch(const struct noise_launch *launch, double usual)
{
    const struct bench_disturbance *d = &launch->disturbance;
    const double before = noise_clock(d);
    const double after = d->clock_ghz > 0 ? d->clock_ghz : d->probe_after_gflops;
    const double thread_s = d->wall_s * launch->threads;
    const struct {
        bool holds;
        enum noise bit;
    } signs[] = {
        {(double)d->involuntary_switches > SWITCHES_FREE + SWITCHES_PER_S * thread_s,
         NOISE_PREEMPTED},
        {d->migrated, NOISE_MIGRATED},
        {d->steal_s > STEAL * thread_s, NOISE_STEAL},
        {d->throttled_periods > 0 || d->thermal_throttles > 0, NOISE_THROTTLED},
        {off(after, before) || off(before, usual) || off(after, usual), NOISE_FREQUENCY},
        {d->allowed_cpus > 0 && (launch->threads > d->allowed_cpus || d->runnable > d->online_cpus),
         NOISE_OVERSUBSCRIBED},
        {d->major_faults > 0, NOISE_PAGED},
        {d->halts > 0, NOISE_HALTED},
        {d->grown_bytes > GROWN, NOISE_GROWS},
    };
    unsigned flags = 0;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (signs[i].holds)
            flags |= (unsigned)signs[i].bit;
    return flags;
}

/* NOISE_OVERSUBSCRIBED is left out: it follows from the cell's thread count, which a repeat does not
 * change. */
bool noise_repeat(unsigned flags)
{
    return flags & (NOISE_PREEMPTED | NOISE_MIGRATED | NOISE_STEAL | NOISE_THROTTLED |
                    NOISE_FREQUENCY | NOISE_PAGED | NOISE_HALTED);
}

bool noise_may_repeat(size_t launches, size_t repeats)
{
    return repeats < NOISE_REPEATS + launches / 4;
}

/* ---- a cell -------------------------------------------------------------------------------- */

/* Share of a cell's launches that must have a flag before the cell has it. */
static double share_needed(enum noise bit)
{
    switch (bit) {
    case NOISE_MIGRATED:
    case NOISE_THROTTLED:
    case NOISE_PAGED:
    case NOISE_HALTED:
        return 0; /* one is enough: an undisturbed launch never has these */
    case NOISE_FREQUENCY:
        return 0.25;
    default:
        return 0.5;
    }
}

static double usual_clock(const struct noise_launch *launches, size_t n)
{
    double *rates = alloc_bytes(n * sizeof *rates), usual = 0;
    for (size_t i = 0; rates && i < n; i++)
        rates[i] = noise_clock(&launches[i].disturbance);
    if (rates && n > 0)
        usual = stats_median_of(rates, n);
    free(rates);
    return usual;
}

static unsigned signs_of(const struct noise_launch *launches, size_t n)
{
    const double usual = usual_clock(launches, n);
    unsigned flags = 0;
    for (size_t w = 0; w < noise_word_count; w++) {
        const enum noise bit = noise_words[w].bit;
        size_t showing = 0;
        for (size_t i = 0; i < n; i++)
            showing += (noise_of_launch(&launches[i], usual) & (unsigned)bit) != 0;
        if (showing > 0 && (double)showing >= share_needed(bit) * (double)n)
            flags |= (unsigned)bit;
    }
    return flags;
}

static bool drifts(const double *x, size_t n)
{
    const struct stats_trend trend = stats_trend(x, n);
    return fabs(trend.z) > TREND_Z && fabs(trend.change) > CHANGE;
}

static bool has_two_modes(const double *x, size_t n)
{
    const struct stats_modes modes = stats_modes(x, n);
    return n >= MODES_LEAST && modes.distance > MODES_DISTANCE(n) && modes.relative > CHANGE &&
           modes.minority >= MINORITY;
}

static unsigned shape_of(const struct noise_launch *launches, size_t n)
{
    double *medians = alloc_bytes(n * sizeof *medians);
    size_t outliers = 0, samples = 0, bimodal = 0, drifting = 0;
    unsigned flags = 0;
    for (size_t i = 0; medians && i < n; i++) {
        const struct noise_launch *l = &launches[i];
        medians[i] = stats_median_of(l->samples_s, l->samples);
        outliers += stats_outliers(l->samples_s, l->samples, OUTLIER_LEAST);
        samples += l->samples;
        bimodal += has_two_modes(l->samples_s, l->samples);
        drifting += drifts(l->samples_s, l->samples);
    }
    if (!medians || n == 0)
        goto done;
    if ((double)outliers > OUTLIER_SHARE * (double)samples)
        flags |= NOISE_OUTLIERS;
    if (2 * bimodal > n || has_two_modes(medians, n))
        flags |= NOISE_BIMODAL;
    if (2 * drifting > n || drifts(medians, n))
        flags |= NOISE_DRIFT;
done:
    free(medians);
    return flags;
}

unsigned noise_of_cell(const struct noise_launch *launches, size_t n)
{
    return signs_of(launches, n) | shape_of(launches, n) |
           (n < STATS_CI_MIN ? NOISE_NO_INTERVAL : 0u);
}
