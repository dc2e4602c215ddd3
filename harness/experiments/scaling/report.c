/*
 * report: exponents, speed-ups, and what there are too few points for.
 */
#include "scaling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/experiment.h"
#include "experiments/shared/fit.h"
#include "experiments/shared/grid.h"
#include "experiments/shared/speedup.h"
#include "results/report_experiment.h"
#include "base/stats.h"
#include "base/units.h"

#define MOST 64 /* points of a curve */

/* Times of one variant in one sweep, over a parameter. */
struct curve {
    double x[MOST], seconds[MOST];
    size_t n;
};

static bool same_variant(const json_t *a, const json_t *b)
{
    return json_equal(json_object_get(a, "kernel"), json_object_get(b, "kernel")) &&
           json_equal(json_object_get(a, "isa"), json_object_get(b, "isa"));
}

static struct curve curve_of(const json_t *rows, const char *name, const json_t *like,
                             const char *over)
{
    struct experiment_part part = {.rows = rows, .name = name};
    struct curve curve = {.n = 0};
    while (experiment_part_next(&part)) {
        const double seconds = experiment_number(part.values, "median_s");
        if (!same_variant(part.params, like) || !isfinite(seconds) || curve.n == MOST)
            continue;
        curve.x[curve.n] = experiment_number(part.params, over);
        curve.seconds[curve.n++] = seconds;
    }
    return curve;
}

/* The first row of each variant in a part. */
static bool next_variant(struct experiment_part *part)
{
    while (experiment_part_next(part)) {
        struct experiment_part before = {.rows = part->rows, .name = part->name};
        while (experiment_part_next(&before) && before.next < part->next &&
               !same_variant(before.params, part->params))
            continue;
        if (before.next == part->next)
            return true;
    }
    return false;
}

static void seconds_cells(struct grid *grid, const json_t *values)
{
    char text[UNITS_TEXT], lo[UNITS_TEXT], hi[UNITS_TEXT];
    units_seconds(experiment_number(values, "median_s"), text);
    units_seconds(experiment_at_number(values, "ci95_s", 0), lo);
    units_seconds(experiment_at_number(values, "ci95_s", 1), hi);
    grid_text(grid, "%s", *text ? text : experiment_text(values, "state"));
    grid_text(grid, *lo ? "%s .. %s" : "%s%s", lo, hi);
}

/* What disturbed the cell. */
static void flag_cell(struct grid *grid, const json_t *values)
{
    const json_t *flag;
    char text[TABLE_CELL] = "";
    size_t i, n = 0;
    json_array_foreach (json_object_get(values, "flags"), i, flag)
        if (n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? ", " : "",
                                  json_string_value(flag));
    grid_text(grid, "%s", text);
}

/* ---- over S and over the batch --------------------------------------------------------------- */

static void print_sweep(const json_t *rows, const char *name, const char *over, const char *title,
                        const char *heading)
{
    const struct table_column columns[] = {{"kernel", 0, true},         {title, 0, false},
                                           {"threads", 0, false},       {"time", 0, false},
                                           {"95 % interval", 1, false}, {"GFLOP/s", 0, false},
                                           {"%FMA", 0, false},          {"disturbed by", 2, true}};
    struct grid grid = {.table.columns = columns, .table.column_count = 8};
    struct experiment_part part = {.rows = rows, .name = name};
    while (experiment_part_next(&part)) {
        grid_row(&grid);
        grid_text(&grid, "%s/%s", experiment_text(part.params, "kernel"),
                  experiment_text(part.params, "isa"));
        grid_number(&grid, "%.0f", experiment_number(part.params, over));
        grid_number(&grid, "%.0f", experiment_number(part.params, "threads"));
        seconds_cells(&grid, part.values);
        grid_number(&grid, "%.1f", experiment_number(part.values, "gflops"));
        grid_number(&grid, "%.1f", 100 * experiment_number(part.values, "fraction_of_fma"));
        flag_cell(&grid, part.values);
    }
    grid_print(&grid, heading);
}

/* "time of KERNEL grows as S^1.93 (1.90 .. 1.96) from S = 64 to 4096" */
static void say_exponents(const json_t *rows, const char *name, const char *over,
                          const char *letter)
{
    struct experiment_part part = {.rows = rows, .name = name};
    while (next_variant(&part)) {
        const struct curve curve = curve_of(rows, name, part.params, over);
        const struct fit fit = fit_power(curve.x, curve.seconds, curve.n);
        if (isfinite(fit.exponent))
            report_sentence("Time of %s grows as %s^%.2f (95 %% interval %.2f .. %.2f) from %s = "
                            "%.0f to %.0f; from %.0f on as %s^%.2f.",
                            experiment_text(part.params, "kernel"), letter, fit.exponent, fit.lo,
                            fit.hi, letter, curve.x[0], curve.x[curve.n - 1], curve.x[curve.n - 2],
                            letter,
                            log(curve.seconds[curve.n - 1] / curve.seconds[curve.n - 2]) /
                                log(curve.x[curve.n - 1] / curve.x[curve.n - 2]));
        else
            report_sentence("%s: %zu times over %s are too few for an exponent, which takes 3.",
                            experiment_text(part.params, "kernel"), curve.n, letter);
    }
}

/* ---- over threads ---------------------------------------------------------------------------- */

/* Launch medians of a row in the order of rounds; free() them. */
static double *launch_medians(const json_t *values, size_t *n)
{
    const json_t *list = json_object_get(values, "launch_medians_s");
    double *x = calloc(json_array_size(list) + 1, sizeof *x);
    *n = x ? json_array_size(list) : 0;
    for (size_t i = 0; i < *n; i++)
        x[i] = experiment_at_number(values, "launch_medians_s", i);
    return x;
}

/* How much faster than one thread: launches of the same round against each other. */
static struct stats_ratio speedup_of(const json_t *rows, const json_t *params, const json_t *values)
{
    struct experiment_part part = {.rows = rows, .name = "threads"};
    struct stats_ratio ratio = {NAN, NAN, NAN, false};
    size_t n, m;
    while (experiment_part_next(&part)) {
        if (!same_variant(part.params, params) || experiment_number(part.params, "threads") != 1)
            continue;
        double *mine = launch_medians(values, &n), *one = launch_medians(part.values, &m);
        if (n && m)
            ratio = stats_paired_ratio(mine, one, n < m ? n : m);
        free(mine);
        free(one);
    }
    return ratio;
}

static void print_threads(const json_t *rows)
{
    static const struct table_column columns[] = {
        {"kernel", 0, true},         {"threads", 0, false},    {"time", 0, false},
        {"95 % interval", 1, false}, {"speed-up", 0, false},   {"95 % interval", 0, false},
        {"efficiency", 0, false},    {"disturbed by", 2, true}};
    struct grid grid = {.table.columns = columns, .table.column_count = 8};
    struct experiment_part part = {.rows = rows, .name = "threads"};
    while (experiment_part_next(&part)) {
        const double threads = experiment_number(part.params, "threads");
        const struct stats_ratio speedup = speedup_of(rows, part.params, part.values);
        grid_row(&grid);
        grid_text(&grid, "%s/%s", experiment_text(part.params, "kernel"),
                  experiment_text(part.params, "isa"));
        grid_number(&grid, "%.0f", threads);
        seconds_cells(&grid, part.values);
        grid_number(&grid, "%.2f", speedup.ratio);
        grid_range(&grid, "%.2f", speedup.lo, speedup.hi);
        grid_number(&grid, "%.0f%%", 100 * speedup.ratio / threads);
        flag_cell(&grid, part.values);
    }
    grid_print(&grid, "time over threads");
}

static void say_laws(const char *kernel, const double *threads, const double *speedups, size_t n)
{
    const struct speedup_share serial = speedup_amdahl(threads, speedups, n);
    const struct speedup_usl usl = speedup_usl(threads, speedups, n);
    if (n < SPEEDUP_AMDAHL_COUNTS)
        report_sentence("%s ran on %zu thread counts: not enough for Amdahl's law, which is fitted "
                        "from %d on, nor for the universal scalability law, from %d on.",
                        kernel, n, SPEEDUP_AMDAHL_COUNTS, SPEEDUP_USL_COUNTS);
    else
        report_sentence("%s by Amdahl's law: %.4f of the work is serial (%.4f .. %.4f).", kernel,
                        serial.value, serial.lo, serial.hi);
    if (n >= SPEEDUP_USL_COUNTS)
        report_sentence("%s by the universal scalability law: contention %.4f (%.4f .. %.4f), "
                        "coherency %.5f (%.5f .. %.5f).",
                        kernel, usl.contention.value, usl.contention.lo, usl.contention.hi,
                        usl.coherency.value, usl.coherency.lo, usl.coherency.hi);
    else if (n >= SPEEDUP_AMDAHL_COUNTS)
        report_sentence("%zu thread counts are not enough for the universal scalability law, which "
                        "is fitted from %d on.",
                        n, SPEEDUP_USL_COUNTS);
}

static void say_speedups(const json_t *rows)
{
    struct experiment_part variant = {.rows = rows, .name = "threads"};
    while (next_variant(&variant)) {
        struct experiment_part part = {.rows = rows, .name = "threads"};
        double threads[MOST], speedups[MOST];
        size_t n = 0;
        while (experiment_part_next(&part)) {
            const double speedup = speedup_of(rows, part.params, part.values).ratio;
            if (!same_variant(part.params, variant.params) || !isfinite(speedup) || n == MOST)
                continue;
            threads[n] = experiment_number(part.params, "threads");
            speedups[n++] = speedup;
        }
        say_laws(experiment_text(variant.params, "kernel"), threads, speedups, n);
    }
}

bool scaling_report(const json_t *rows)
{
    print_sweep(rows, "length", "s", "S", "time over the sequence");
    say_exponents(rows, "length", "s", "S");
    print_threads(rows);
    say_speedups(rows);
    print_sweep(rows, "batch", "batch", "B", "time over the batch");
    say_exponents(rows, "batch", "batch", "B");
    return true;
}
