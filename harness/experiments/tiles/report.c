/*
 * report: a map for each d, keys down and queries across.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiments/experiment.h"
#include "experiments/shared/grid.h"
#include "tiles.h"
#include "results/report_experiment.h"

#define MOST_QUERIES 16

/* Percent of the multiply-add rate and half the interval of the time, in the same unit. */
struct share {
    double percent, half;
};

static struct share share_of(const json_t *values)
{
    const double percent = 100 * experiment_number(values, "fraction_of_fma");
    const double width =
        experiment_at_number(values, "ci95_s", 1) - experiment_at_number(values, "ci95_s", 0);
    return (struct share){percent, percent * width / 2 / experiment_number(values, "median_s")};
}

static bool same_d(const json_t *a, const json_t *b)
{
    return json_equal(json_object_get(a, "d"), json_object_get(b, "d"));
}

/* The row of a size at the d of `like`; false where there is none. */
static bool find(const json_t *rows, const json_t *like, unsigned keys, unsigned queries,
                 struct experiment_part *found)
{
    unsigned k, q;
    *found = (struct experiment_part){.rows = rows};
    while (experiment_part_next(found))
        if (same_d(found->params, like) &&
            tiles_size(experiment_text(found->params, "kernel"), &k, &q) && k == keys &&
            q == queries)
            return true;
    return false;
}

/* Values of keys (or of queries) in a file's names, ascending. */
static size_t sides(const json_t *rows, bool of_keys, unsigned values[MOST_QUERIES])
{
    struct experiment_part part = {.rows = rows};
    size_t n = 0;
    while (experiment_part_next(&part)) {
        unsigned keys, queries;
        if (!tiles_size(experiment_text(part.params, "kernel"), &keys, &queries))
            continue;
        const unsigned value = of_keys ? keys : queries;
        size_t at = 0;
        while (at < n && values[at] < value)
            at++;
        if ((at < n && values[at] == value) || n == MOST_QUERIES)
            continue;
        memmove(values + at + 1, values + at, (n++ - at) * sizeof *values);
        values[at] = value;
    }
    return n;
}

static void print_map(const json_t *rows, const json_t *like)
{
    unsigned keys[MOST_QUERIES], queries[MOST_QUERIES];
    const size_t down = sides(rows, true, keys), across = sides(rows, false, queries);
    char titles[MOST_QUERIES][24], heading[96];
    struct table_column columns[1 + MOST_QUERIES] = {{"keys", 0, false}};
    struct experiment_part part;
    for (size_t q = 0; q < across; q++) {
        snprintf(titles[q], sizeof titles[q], "%u queries", queries[q]);
        columns[1 + q] = (struct table_column){titles[q], 0, false};
    }
    struct grid grid = {.table.columns = columns, .table.column_count = 1 + across};
    for (size_t k = 0; k < down; k++) {
        grid_row(&grid);
        grid_text(&grid, "%u", keys[k]);
        for (size_t q = 0; q < across; q++) {
            const bool there = find(rows, like, keys[k], queries[q], &part);
            const struct share share = share_of(there ? part.values : NULL);
            if (isfinite(share.half))
                grid_text(&grid, "%.1f +-%.1f", share.percent, share.half);
            else if (isfinite(share.percent))
                grid_number(&grid, "%.1f", share.percent);
            else
                grid_text(&grid, "%s", there ? experiment_text(part.values, "state") : "");
        }
    }
    snprintf(heading, sizeof heading, "%% of the multiply-add rate, d = %.0f",
             experiment_number(like, "d"));
    grid_print(&grid, heading);
}

/* Why the first size has no time. */
static void say_why(const json_t *rows, const json_t *like)
{
    struct experiment_part part = {.rows = rows};
    unsigned k, q;
    while (experiment_part_next(&part))
        if (same_d(part.params, like) &&
            tiles_size(experiment_text(part.params, "kernel"), &k, &q)) {
            report_sentence("At d = %.0f no size has a time: %s.", experiment_number(like, "d"),
                            experiment_text(part.values, "why"));
            return;
        }
}

/* The fastest size, flash itself, and how many sizes cannot be told from the fastest. */
static void say_best(const json_t *rows, const json_t *like)
{
    struct experiment_part part = {.rows = rows};
    unsigned keys = 0, queries = 0, k, q;
    struct share best = {-INFINITY, 0}, itself = {NAN, NAN};
    size_t sizes = 0, ties = 0;
    while (experiment_part_next(&part)) {
        const struct share share = share_of(part.values);
        const bool size = tiles_size(experiment_text(part.params, "kernel"), &k, &q);
        if (!same_d(part.params, like) || !isfinite(share.percent))
            continue;
        sizes += size;
        if (!size)
            itself = share;
        else if (share.percent > best.percent) {
            best = share;
            keys = k;
            queries = q;
        }
    }
    if (!sizes) {
        say_why(rows, like);
        return;
    }
    part = (struct experiment_part){.rows = rows};
    while (experiment_part_next(&part)) {
        const struct share share = share_of(part.values);
        if (same_d(part.params, like) && tiles_size(experiment_text(part.params, "kernel"), &k, &q))
            ties += !(share.percent + share.half < best.percent - best.half);
    }
    report_sentence("At d = %.0f the fastest of %zu sizes is %u queries by %u keys, %.1f %% of the "
                    "multiply-add rate; the intervals of %zu (itself included) overlap its own.  "
                    "flash itself reaches %.1f %%.",
                    experiment_number(like, "d"), sizes, queries, keys, best.percent, ties,
                    itself.percent);
}

bool tiles_report(const json_t *rows)
{
    struct experiment_part part = {.rows = rows};
    const json_t *before = NULL;
    while (experiment_part_next(&part)) {
        if (before && same_d(before, part.params))
            continue; /* rows of one d stand together */
        before = part.params;
        print_map(rows, part.params);
        say_best(rows, part.params);
    }
    return true;
}
