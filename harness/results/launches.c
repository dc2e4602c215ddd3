/*
 * launches: statistics over the records of launches.
 */
#include "base/alloc.h"
#include "launches.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "bench/disturbance.h"
#include "bench/noise.h"
#include "base/stats.h"
#include "base/stats_dependence.h"
#include "base/members.h"
#include "base/number.h"

struct series {
    double *x; /* owned */
    size_t n;
};

#define WHOLE SIZE_MAX /* the number itself, not one of an array */

/* The object `outer` of a launch's record; NULL for the record itself. */
static const json_t *object_of(const json_t *launch, const char *outer)
{
    return outer ? json_object_get(launch, outer) : launch;
}

/* One number of every launch that has it. */
static struct series per_launch(const struct cell *cell, const char *outer, const char *key,
                                size_t index)
{
    const size_t launches = json_array_size(cell->launches);
    struct series s = {alloc_bytes((launches + 1) * sizeof(double)), 0};
    for (size_t i = 0; s.x && i < launches; i++) {
        const json_t *launch = json_array_get(cell->launches, i);
        const json_t *x = json_object_get(object_of(launch, outer), key);
        x = index == WHOLE ? x : json_array_get(x, index);
        if (json_is_number(x))
            s.x[s.n++] = json_number_value(x);
    }
    return s;
}

static struct series samples_of(const json_t *record)
{
    const json_t *samples = json_object_get(record, "samples_s");
    struct series s = {alloc_bytes((json_array_size(samples) + 1) * sizeof(double)), 0};
    for (; s.x && s.n < json_array_size(samples); s.n++)
        s.x[s.n] = json_number_value(json_array_get(samples, s.n));
    return s;
}

static double median_and_free(struct series s)
{
    const double median = s.n ? stats_median_of(s.x, s.n) : NAN;
    free(s.x);
    return median;
}

double launches_median_sample(const json_t *record)
{
    return median_and_free(samples_of(record));
}

json_t *launches_record(const struct cell *cell, json_t *answer,
                        const struct launches_setting *setting)
{
    char now[32];
    clock_utc(now);
    json_t *record =
        json_pack("{s:s, s:I, s:I, s:I, s:s, s:f, s:o}", "type", "launch", "round",
                  (json_int_t)setting->round, "repeat", (json_int_t)setting->repeat, "shift_bytes",
                  (json_int_t)setting->shift_bytes, "timed_at", now, "wall_s", setting->wall_s,
                  "median_s", number_json(launches_median_sample(answer)));
    json_object_update_new(record, cell_identity(cell));
    json_object_set_new(record, "useful_flops", number_json(cell_work(cell).flops));
    json_object_set_new(record, "compulsory_bytes", number_json(cell_work(cell).bytes));
    json_object_del(answer, "protocol");
    json_object_update(record, answer);
    if (cell->blas)
        json_object_set(record, "blas", cell->blas);
    return record;
}

size_t launches_medians(const struct cell *cell, double **medians)
{
    const struct series s = per_launch(cell, NULL, "median_s", WHOLE);
    *medians = s.x;
    return s.n;
}

double launches_median_of(const struct cell *cell, const char *outer, const char *key)
{
    return median_and_free(per_launch(cell, outer, key, WHOLE));
}

double launches_median_in(const struct cell *cell, const char *outer, const char *key, size_t index)
{
    return median_and_free(per_launch(cell, outer, key, index));
}

double launches_largest(const struct cell *cell, const char *outer, const char *key)
{
    double largest = NAN;
    for (size_t i = 0; i < json_array_size(cell->launches); i++)
        largest =
            fmax(largest, member_number(object_of(json_array_get(cell->launches, i), outer), key));
    return largest;
}

double launches_fraction(const struct cell *cell, double work, const char *ceiling)
{
    struct series s = {alloc_bytes((json_array_size(cell->launches) + 1) * sizeof(double)), 0};
    for (size_t i = 0; s.x && i < json_array_size(cell->launches); i++) {
        const json_t *launch = json_array_get(cell->launches, i);
        const double fraction = work / member_number(launch, "median_s") / 1e9 /
                                member_number(object_of(launch, "ceiling"), ceiling);
        if (isfinite(fraction))
            s.x[s.n++] = fraction;
    }
    return median_and_free(s);
}

/* ---- samples --------------------------------------------------------------------------------- */

static struct noise_launch noise_launch(const struct cell *cell, const json_t *record)
{
    const struct series samples = samples_of(record);
    return (struct noise_launch){
        .samples_s = samples.x,
        .samples = samples.n,
        .threads = cell->threads,
        .disturbance = disturbance_parse(json_object_get(record, "disturbance")),
    };
}

/* The launches that have samples; returns how many; release() the array. */
static size_t all_launches(const struct cell *cell, struct noise_launch **launches)
{
    const size_t count = json_array_size(cell->launches);
    size_t n = 0;
    *launches = alloc_zeroed(count + 1, sizeof **launches);
    for (size_t i = 0; *launches && i < count; i++) {
        (*launches)[n] = noise_launch(cell, json_array_get(cell->launches, i));
        if ((*launches)[n].samples)
            n++;
        else
            free((void *)(*launches)[n].samples_s);
    }
    return n;
}

static void release(struct noise_launch *launches, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free((void *)launches[i].samples_s);
    free(launches);
}

bool launches_statistics(const struct cell *cell, struct stats_launches *statistics)
{
    struct noise_launch *launches;
    const size_t n = all_launches(cell, &launches);
    struct stats_launch *samples = alloc_zeroed(n + 1, sizeof *samples);
    for (size_t i = 0; samples && i < n; i++)
        samples[i] = (struct stats_launch){launches[i].samples_s, launches[i].samples};
    const bool done = samples && n && stats_of_launches(samples, n, cell->dependence, statistics);
    free(samples);
    release(launches, n);
    return done;
}

void launches_dependence(const struct cell *cell, struct stats_dependence *pool)
{
    double *medians;
    const size_t n = launches_medians(cell, &medians);
    if (medians)
        stats_dependence_add(pool, medians, n);
    free(medians);
}

unsigned launches_noise_of(const struct cell *cell, const json_t *record)
{
    const double usual = noise_clock(&(struct bench_disturbance){
        .clock_ghz = launches_median_of(cell, "disturbance", "clock_ghz"),
        .probe_before_gflops = launches_median_of(cell, "disturbance", "probe_before_gflops")});
    struct noise_launch launch = noise_launch(cell, record);
    const unsigned flags = noise_of_launch(&launch, isnan(usual) ? 0 : usual);
    free((void *)launch.samples_s);
    return flags;
}

bool launches_in_place(const struct cell *cell)
{
    bool in_place = true;
    size_t i;
    const json_t *launch;
    json_array_foreach (cell->launches, i, launch)
        in_place &= !json_is_false(json_object_get(launch, "memory_in_place"));
    return in_place;
}

/* With 16 cells of 6 independent launches each, chance widens one interval in twenty by this factor; with
 * more cells or launches fewer (tests/base/test_coverage.c). */
#define WIDENED 3.0

unsigned launches_noise(const struct cell *cell)
{
    struct noise_launch *launches;
    const size_t n = all_launches(cell, &launches);
    const bool no_huge =
        cell->setting.huge_pages && launches_median_of(cell, NULL, "huge_bytes") == 0;
    unsigned flags = n ? noise_of_cell(launches, n) : 0;
    if (n && (no_huge || !launches_in_place(cell)))
        flags |= NOISE_ELSEWHERE;
    if (n && cell->log && *cell->log)
        flags |= NOISE_PRINTS;
    if (n >= STATS_CI_MIN && stats_dependence_widens(n, cell->dependence) > WIDENED)
        flags |= NOISE_CORRELATED;
    release(launches, n);
    return flags;
}
