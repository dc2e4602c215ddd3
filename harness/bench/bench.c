/*
 * bench: samples of one plan inside one launch.
 */
#include "bench.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "system/ceilings.h"
#include "base/clock.h"
#include "base/halts.h"
#include "base/random.h"
#include "base/stats.h"
#include "system/teams.h"

/* Clock steps in the shortest sample, so that the clock's resolution is 0.1 % of it. */
#define STEPS_PER_SAMPLE 1000

/* Samples' worth of time that one timed loop of the warm-up may take by this process's clock. */
#define LONGEST_SAMPLES 100

/* A loop of the warm-up that took this long, seconds, was not long because of one interruption only. */
#define INTERRUPTION_S 0.1

/* Samples after which verifying allocates no more: it takes some MB where sequences are long. */
#define SETTLED 3

/* Repeats of the loop around an empty kernel; their median is subtracted. */
#define EMPTY_REPEATS 9

/* One launch under way. */
struct bench {
    const struct attn_plan *plan;
    struct tensor_set *sets;
    size_t set_count;
    size_t next; /* set of the next call */
    const struct bench_options *options;
    struct counters *counters; /* NULL: not requested */
    struct bench_result *result;
};

/* ---- the timed loop ------------------------------------------------------------------------ */

/* Seconds that `calls` calls take, rotating over the sets from `first` on: the only timed code. */
static double time_calls(const struct attn_plan *plan, const struct tensor_set *sets,
                         size_t set_count, size_t first, size_t calls)
{
    const double start = clock_now();
    size_t at = first;
    for (size_t call = 0; call < calls; call++) {
        attn_execute(plan, &sets[at].tensors);
        at = at + 1 < set_count ? at + 1 : 0;
    }
    return clock_now() - start;
}

static void nothing(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    (void)plan, (void)tensors;
    __asm__ volatile("" : : : "memory");
}

/* The same loop around a kernel that does nothing: the median of EMPTY_REPEATS. */
static double time_empty_loop(const struct bench *bench, size_t calls)
{
    static const struct attn_kernel empty = {.size = sizeof empty, .execute = nothing};
    const struct attn_plan plan = {.size = sizeof plan, .kernel = &empty, .threads = 1};
    double seconds[EMPTY_REPEATS];
    if (bench->options->timed)
        return 0;
    for (int i = 0; i < EMPTY_REPEATS; i++)
        seconds[i] = time_calls(&plan, bench->sets, bench->set_count, bench->next, calls);
    stats_sort(seconds, EMPTY_REPEATS);
    return stats_median(seconds, EMPTY_REPEATS);
}

/* Seconds of `calls` calls of the plan, continuing the rotation. */
static double run_calls(struct bench *bench, size_t calls)
{
    const struct bench_options *o = bench->options;
    const double seconds =
        o->timed ? o->timed(o->timed_context, bench->next, calls)
                 : time_calls(bench->plan, bench->sets, bench->set_count, bench->next, calls);
    assert(bench->set_count > 0);
    bench->next = (bench->next + calls) % bench->set_count;
    return seconds;
}

/* ---- before the samples -------------------------------------------------------------------- */

/* Warms up for at least warmup_s; the calls per sample are those of its last loop.  That loop and the one
 * before it were long enough with the same calls: an interruption makes one of too few calls look so.  None
 * of its loops is a sample. */
static void warm_up(struct bench *bench)
{
    const double start = clock_now();
    const double wanted =
        fmax(bench->options->sample_s, STEPS_PER_SAMPLE * bench->result->clock_resolution_s);
    size_t calls = 1;
    bool confirmed = false;
    for (;;) {
        const double begin = clock_now(), seconds = run_calls(bench, calls);
        const double elapsed = clock_now() - begin; /* `seconds` may be by a program's clock */
        if (seconds >= wanted) {
            confirmed = confirmed || seconds >= INTERRUPTION_S;
            if (confirmed && clock_now() - start >= bench->options->warmup_s)
                break;
            confirmed = true;
            continue;
        }
        confirmed = false;
        /* 5 % more than needed, because loops differ; at most 1000 times as many, because the first
         * call is the slowest; and by our clock no loop may become too long, whatever a program says */
        const double most = fmin(1000, LONGEST_SAMPLES * wanted / elapsed);
        const double factor = fmin(1.05 * wanted / fmax(seconds, 1e-9), most);
        calls = (size_t)ceil((double)calls * fmax(factor, 1.05));
    }
    bench->result->calls_per_sample = calls;
}

/* ---- disturbance --------------------------------------------------------------------------- */

static double probe(const struct bench *bench)
{
    const struct attn_plan *plan = bench->plan;
    const struct bench_options *o = bench->options;
    if (o->probe_s <= 0)
        return 0;
    const double start = clock_now();
    const double rate =
        o->probe ? o->probe(o->timed_context, o->probe_s)
                 : ceilings_fma(plan->kernel->isa, attn_compute(plan->kernel, &plan->problem),
                                plan->threads, o->probe_s);
    bench->result->probing_s += clock_now() - start;
    return rate;
}

static bool off_its_place(const struct bench *bench)
{
    return bench->options->machine &&
           !machine_binding_holds(bench->options->machine, bench->plan->threads);
}

/* ---- samples ------------------------------------------------------------------------------- */

/* Poisons the sets that the next `calls` calls will write. */
static void poison_next(struct bench *bench, size_t calls)
{
    const size_t written = calls < bench->set_count ? calls : bench->set_count;
    for (size_t i = 0; i < written; i++)
        tensors_poison(&bench->sets[(bench->next + i) % bench->set_count], &bench->plan->problem);
}

/* Only the last calls of a sample leave outputs to verify.  Stray calls before it, neither timed nor
 * verified and at most one per BENCH_STRAY calls, vary which ones these are. */
static void stray(struct bench *bench)
{
    const size_t calls = bench->result->calls_per_sample;
    if (calls <= bench->set_count)
        return;
    const uint64_t n =
        random_below(bench->options->seed, bench->result->samples, calls + BENCH_STRAY) /
        BENCH_STRAY;
    if (n > 0)
        run_calls(bench, (size_t)n);
}

/* New operands for the sample, or in cold mode for one that comes later. */
static void renew(struct bench *bench)
{
    const struct bench_options *o = bench->options;
    const size_t count = bench->set_count, calls = bench->result->calls_per_sample;
    const size_t first = (bench->next + (o->cold ? count / 2 : 0)) % count;
    if (!o->renew)
        return;
    const double start = clock_now();
    o->renew(o->verify_context, first, calls < count ? calls : count);
    bench->result->verifying_s += clock_now() - start;
}

/* Takes one sample; false where an output is wrong. */
static bool sample(struct bench *bench, double empty_s)
{
    struct bench_result *result = bench->result;
    const size_t calls = result->calls_per_sample;
    counters_start(bench->counters);
    const double seconds = run_calls(bench, calls) - empty_s;
    counters_stop(bench->counters);
    result->samples_s[result->samples++] = seconds / (double)calls;
    const size_t left = calls < bench->set_count ? calls : bench->set_count;
    const size_t first = (bench->next + bench->set_count - left) % bench->set_count;
    const struct bench_options *options = bench->options;
    if (!options->verify)
        return true;
    const double start = clock_now();
    const bool right = options->verify(options->verify_context, first, left);
    result->verifying_s += clock_now() - start;
    return right;
}

/* Takes all samples.  In cold mode a set must have left the caches when its turn comes, so it is poisoned
 * long before: all sets at the start, and each again as soon as its sample is verified. */
static bool take_samples(struct bench *bench)
{
    struct bench_result *result = bench->result;
    const size_t calls = result->calls_per_sample;
    const double start = clock_now(), empty_s = time_empty_loop(bench, calls);
    const bool cold = bench->options->cold;
    bool right = true;
    size_t own = 0;
    if (cold)
        poison_next(bench, bench->set_count);
    do {
        if (!cold) {
            stray(bench);
            poison_next(bench, calls);
        }
        renew(bench);
        const size_t first = bench->next;
        right = sample(bench, empty_s);
        if (result->samples == SETTLED && !bench->options->timed)
            own = machine_own_memory();
        if (cold) {
            const size_t next = bench->next;
            bench->next = first;
            poison_next(bench, calls);
            bench->next = next;
        }
    } while (right && result->samples < bench->options->max_samples &&
             clock_now() - start - result->verifying_s < bench->options->budget_s);
    result->overhead_s = empty_s / (double)calls;
    result->disturbance.wall_s = clock_now() - start;
    if (own)
        result->disturbance.grown_bytes = (long)machine_own_memory() - (long)own;
    result->overhead_again_s = time_empty_loop(bench, calls) / (double)calls;
    return right;
}

/* ---- the launch ------------------------------------------------------------------------------ */

/* Records the threads' times of work and waiting over as many calls as a sample has. */
static void listen(struct bench *bench)
{
    teams_start();
    run_calls(bench, bench->result->calls_per_sample);
    teams_stop();
    bench_take_teams(bench->result);
}

bool bench_run(const struct attn_plan *plan, struct tensor_set *sets, size_t set_count,
               const struct bench_options *options, struct bench_result *result)
{
    struct bench bench = {plan, sets, set_count, 0, options, NULL, result};
    struct machine_usage before, after;
    const size_t most = options->max_samples > 0 ? options->max_samples : 1;
    *result = (struct bench_result){.busy_s = NAN,
                                    .barrier_s = NAN,
                                    .threads = plan->threads,
                                    .cold_first_s = NAN,
                                    .cold_again_s = NAN};
    result->samples_s = malloc(most * sizeof *result->samples_s);
    if (!result->samples_s)
        return false;
    result->clock_resolution_s = clock_resolution();
    const bool lost_before = off_its_place(&bench);
    const long halts = halts_count();
    warm_up(&bench);
    result->disturbance.probe_before_gflops = probe(&bench);
    run_calls(&bench, 1); /* the probe has disturbed only the branch predictor */
    if (options->counters)
        bench.counters = counters_open(plan->threads);
    machine_usage(options->machine, &before);
    const bool right = take_samples(&bench);
    machine_usage(options->machine, &after);
    disturbance_between(options->machine, &before, &after, &result->disturbance);
    bench_take_counters(bench.counters, result);
    if (options->cold && !options->timed)
        bench_cold_probe(plan, sets, set_count, bench.next, result);
    if (!options->timed)
        listen(&bench);
    result->disturbance.probe_after_gflops = probe(&bench);
    result->disturbance.migrated = lost_before || off_its_place(&bench);
    result->disturbance.halts = halts_count() - halts;
    return right;
}

void bench_free(struct bench_result *result)
{
    free(result->samples_s);
    free(result->thread_busy_s);
    free(result->thread_barrier_s);
    result->samples_s = result->thread_busy_s = result->thread_barrier_s = NULL;
    result->samples = 0;
}
