/*
 * row: statistics over launches, rates, fractions of ceilings.
 */
#include "row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "system/ceilings.h"
#include "base/clock.h"
#include "fields.h"
#include "launches.h"
#include "system/counters.h"
#include "bench/noise.h"
#include "base/number.h"
#include "problem/catalogue.h"

static json_t *medians_array(const struct cell *cell)
{
    double *medians;
    const size_t n = launches_medians(cell, &medians);
    json_t *array = number_array(medians, n);
    free(medians);
    return array;
}

/* "time": null without launches. */
static json_t *time_of(const struct cell *cell)
{
    struct stats_launches s;
    if (!launches_statistics(cell, &s))
        return json_null();
    json_t *time = json_pack("{s:o, s:I, s:o, s:I, s:s, s:o}", "ci95_s",
                             s.interval ? json_pack("[f, f]", s.lo, s.hi) : json_null(), "launches",
                             (json_int_t)json_array_size(cell->launches), "launch_medians_s",
                             medians_array(cell), "samples", (json_int_t)s.samples, "stop",
                             stop_name(cell->stop), "dependence", number_json(cell->dependence));
    fields_add(cell, "time", &s, time);
    return time;
}

/* Adds which ceiling bounds the cell, compute or bandwidth, by a roofline of its launches' probes, and the
 * share of it that was reached. */
static void add_roofline(const struct cell *cell, json_t *row)
{
    const double flops = cell_work(cell).flops, bytes = cell_work(cell).bytes;
    const bool compute =
        ceilings_compute_bound(flops, bytes, launches_median_of(cell, "ceiling", "fma_gflops"),
                               launches_median_of(cell, "ceiling", "read_gbytes_per_s"));
    const double fraction = compute ? launches_fraction(cell, flops, "fma_gflops")
                                    : launches_fraction(cell, bytes, "read_gbytes_per_s");
    const char *bound = compute ? "compute" : "bandwidth";
    json_object_set_new(row, "intensity_flop_per_byte", number_json(flops / bytes));
    json_object_set_new(row, "bound_by", isnan(fraction) ? json_null() : json_string(bound));
    json_object_set_new(row, "fraction_of_roofline", number_json(fraction));
}

/* "counters": counts per call, medians over launches, and why some are unknown. */
static json_t *counters_of(const struct cell *cell)
{
    json_t *counters = json_object();
    const json_t *first = json_object_get(json_array_get(cell->launches, 0), "counters");
    for (int i = 0; i < COUNTER_COUNT; i++) {
        const char *name = counter_name((enum counter)i);
        json_object_set_new(counters, name,
                            number_json(launches_median_of(cell, "counters", name)));
    }
    json_object_set_new(counters, "energy_j",
                        number_json(launches_median_of(cell, "counters", "energy_j")));
    json_object_set(counters, "why", json_object_get(first, "why"));
    return counters;
}

/* A program's additional numbers, medians over launches; NULL: none. */
static json_t *extra_of(const struct cell *cell)
{
    json_t *first = json_object_get(json_array_get(cell->launches, 0), "extra"), *value;
    json_t *extra = json_object_size(first) ? json_object() : NULL;
    const char *name;
    json_object_foreach (first, name, value) {
        json_object_set_new(extra, name, number_json(launches_median_of(cell, "extra", name)));
    }
    return extra;
}

struct number {
    const char *outer, *key;
};

/* The largest of these numbers over all launches. */
static double largest(const struct cell *cell, const struct number *numbers, size_t count)
{
    double most = NAN;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, launches_largest(cell, numbers[i].outer, numbers[i].key));
    return most;
}

/* Ends a cell whose rate of a kind of work exceeds what the machine can do: `most`, the highest rate that any
 * launch measured, as a disturbed probe may show half of it. */
static void judge_rate(struct cell *cell, double work, double most, const char *of)
{
    const double rate = work / launches_median_of(cell, NULL, "median_s");
    if (cell->state == CELL_OK && ceilings_passed(rate, most))
        cell_end(cell, CELL_IMPLAUSIBLE, "%.0f %% of the %s", 100 * rate / most / 1e9, of);
}

/* A kernel that is wrong or faster than the machine can be gets no time: only the journal's launch lines and
 * the percentage in `why` remain. */
static void judge(struct cell *cell)
{
    static const struct number fma[] = {{"disturbance", "probe_before_gflops"},
                                        {"disturbance", "probe_after_gflops"},
                                        {"ceiling", "fma_gflops"},
                                        {"ceiling", "fma_again_gflops"}};
    static const struct number fma_host[] = {{"ceiling", "fma_host_gflops"},
                                             {"ceiling", "fma_host_again_gflops"}};
    static const struct number read[] = {{"ceiling", "read_gbytes_per_s"},
                                         {"ceiling", "read_in_place_gbytes_per_s"},
                                         {"ceiling", "read_again_gbytes_per_s"}};
    const char *group = catalogue_group_of(cell->kernel_name);
    /* our variants use the units of their instruction set; a library or guest may use any */
    const bool any = strcmp(group, "rivals") == 0 || strcmp(group, "plugins") == 0;
    const double own = largest(cell, fma, sizeof fma / sizeof *fma);
    const double host = largest(cell, fma_host, sizeof fma_host / sizeof *fma_host);
    const struct attn_work work = cell_work(cell);
    judge_rate(cell, work.flops, any ? fmax(own, host) : own,
               any ? "multiply-add rate of this host" : "multiply-add rate of its instruction set");
    judge_rate(cell, work.bytes, largest(cell, read, sizeof read / sizeof *read),
               "rate at which so many bytes can be read");
    if (cell->state != CELL_OK)
        json_array_clear(cell->launches);
}

/* The cell's check, with how many samples its launches took, verified and found wrong; in a failed cell,
 * those of the launch that failed. */
static json_t *check_of(const struct cell *cell)
{
    static const char *const counts[] = {"samples", "verified_samples", "mismatches"};
    if (!cell->check)
        return json_null();
    json_t *check = json_deep_copy(cell->check);
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
        json_int_t total = json_integer_value(json_object_get(check, counts[n]));
        size_t i;
        const json_t *launch;
        json_array_foreach (cell->launches, i, launch)
            total +=
                json_integer_value(json_object_get(json_object_get(launch, "check"), counts[n]));
        json_object_set_new(check, counts[n], json_integer(total));
    }
    return check;
}

/* The passes of models that the case belongs to: how many of a pass's layers it is, and which layers of the
 * model the pass leaves out; NULL: none. */
static json_t *passes_of(const struct cell *cell)
{
    const struct pass_share *shares = cell->c->passes;
    json_t *passes = shares[0].pass ? json_array() : NULL;
    for (size_t i = 0; i < CASE_PASSES && shares[i].pass; i++) {
        const struct pass *pass = shares[i].pass;
        json_array_append_new(passes, json_pack("{s:s, s:I, s:I, s:s?}", "name", pass->name,
                                                "layers", (json_int_t)shares[i].layers, "of",
                                                (json_int_t)pass->layers, "without",
                                                *pass->without ? pass->without : NULL));
    }
    return passes;
}

bool row_finish(struct cell *cell, const char *command, uint64_t seed)
{
    char now[32], repro[CELL_REPRO];
    clock_utc(now);
    judge(cell);
    cell_repro(cell, command, repro);
    json_t *row = json_pack("{s:s}", "type", "cell");
    json_object_update_new(row, cell_identity(cell));
    json_t *rest =
        json_pack("{s:s, s:o, s:o, s:o, s:I, s:s}", "state", cell_state_name(cell->state), "why",
                  *cell->why ? json_string(cell->why) : json_null(), "check", check_of(cell),
                  "time", time_of(cell), "seed", (json_int_t)seed, "timed_at", now);
    const bool begun = rest;
    json_object_update_new(row, rest);
    fields_add(cell, NULL, NULL, row);
    json_t *ceiling = json_object();
    fields_add(cell, "ceiling", NULL, ceiling);
    json_object_set_new(row, "ceiling", ceiling);
    add_roofline(cell, row);
    const json_t *launch = json_array_get(cell->launches, 0);
    const bool called = cell->blas && cell->state != CELL_UNAVAILABLE; /* else none ran */
    rest = json_pack("{s:b, s:s, s:o, s:o, s:O?, s:O?, s:o*, s:o, s:o, s:s?, s:o, s:o*}", "chosen",
                     (int)cell->chosen, "group", catalogue_group_of(cell->kernel_name), "failed_at",
                     number_size((size_t)cell->failed_at), "counters",
                     launch ? counters_of(cell) : json_null(), "library",
                     json_object_get(launch, "library"), "blas", called ? cell->blas : NULL,
                     "extra", extra_of(cell), "memory_in_place",
                     launch ? json_boolean(launches_in_place(cell)) : json_null(),
                     "memory_limit_bytes", number_size(cell->memory_limit_bytes), "log", cell->log,
                     "flags", noise_json(launches_noise(cell)), "passes", passes_of(cell));
    if (!begun || !rest) { /* out of memory */
        json_decref(rest);
        json_decref(row);
        return false;
    }
    json_object_update_new(row, rest);
    json_object_set_new(row, "repro", json_string(repro));
    json_decref(cell->row);
    cell->row = row;
    return true;
}
