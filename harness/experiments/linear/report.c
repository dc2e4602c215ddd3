/*
 * report: what the two versions share and what they do not.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "experiments/shared/grid.h"
#include "linear.h"
#include "results/report_experiment.h"

/* ---- time ------------------------------------------------------------------------------------ */

static bool same_product(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"d_in", "d_out", "tokens"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i])))
            return false;
    return true;
}

/* Seconds of both layouts in every launch of the product that `like` names, and how many launches. */
struct launches {
    double *seconds[LINEAR_LAYOUTS]; /* one allocation, at the first */
    size_t n;
};

static struct launches launches_of(const json_t *rows, const json_t *like, const char *way)
{
    struct experiment_part part = {.rows = rows, .name = "time"};
    const size_t most = json_array_size(rows);
    struct launches all = {{calloc(LINEAR_LAYOUTS * most + 1, sizeof **all.seconds)}, 0};
    for (size_t layout = 1; layout < LINEAR_LAYOUTS; layout++)
        all.seconds[layout] = all.seconds[0] + layout * most;
    while (all.seconds[0] && experiment_part_next(&part)) {
        if (!same_product(part.params, like) || !json_object_get(part.values, way))
            continue;
        for (size_t layout = 0; layout < LINEAR_LAYOUTS; layout++)
            all.seconds[layout][all.n] = experiment_at_number(part.values, way, layout);
        all.n++;
    }
    return all;
}

/* Of all products by one way. */
struct range {
    double slowest, fastest;         /* speed-ups */
    size_t products, faster, slower; /* whose interval lies beyond 1 */
};

static void add(struct range *range, const struct stats_ratio *ratio)
{
    range->slowest = range->products ? fmin(range->slowest, ratio->ratio) : ratio->ratio;
    range->fastest = range->products ? fmax(range->fastest, ratio->ratio) : ratio->ratio;
    range->products++;
    range->faster += ratio->interval && ratio->lo > 1;
    range->slower += ratio->interval && ratio->hi < 1;
}

/* The products of the first launch: each stands once. */
static bool next_product(struct experiment_part *part)
{
    while (experiment_part_next(part))
        if (experiment_number(part->params, "launch") == 1)
            return true;
    return false;
}

static void print_product(struct grid *grid, const json_t *params, const struct launches *all,
                          const struct stats_ratio *ratio)
{
    grid_row(grid);
    grid_number(grid, "%.0f", experiment_number(params, "d_in"));
    grid_number(grid, "%.0f", experiment_number(params, "tokens"));
    for (size_t layout = 0; layout < LINEAR_LAYOUTS; layout++)
        grid_number(grid, "%.2f us", 1e6 * stats_median_of(all->seconds[layout], all->n));
    grid_number(grid, "%.2f", ratio->ratio);
    grid_range(grid, "%.2f", ratio->lo, ratio->hi);
}

/* The table of square weights; what all products show. */
static struct range print_times(const json_t *rows, const char *way)
{
    static const struct table_column columns[] = {
        {"d", 0, false},      {"tokens", 0, false},  {"parameter", 1, false},
        {"Linear", 1, false}, {"as fast", 0, false}, {"95 % interval", 0, false}};
    struct grid grid = {.table.columns = columns, .table.column_count = 6};
    struct experiment_part part = {.rows = rows, .name = "time"};
    struct range range = {0};
    char heading[96];
    while (next_product(&part)) {
        const double d_in = experiment_number(part.params, "d_in");
        const struct launches all = launches_of(rows, part.params, way);
        const struct stats_ratio ratio =
            stats_paired_ratio(all.seconds[LINEAR_LINEAR], all.seconds[LINEAR_PARAMETER], all.n);
        if (all.n)
            add(&range, &ratio);
        if (all.n && experiment_number(part.params, "d_out") == d_in)
            print_product(&grid, part.params, &all, &ratio);
        free(all.seconds[0]);
    }
    snprintf(heading, sizeof heading, "%s: times as fast with Linear's layout, d_in = d_out = d",
             way);
    grid_print(&grid, heading);
    return range;
}

static void report_times(const json_t *rows)
{
    for (const struct linear_way *way = linear_ways; way->name; way++) {
        const struct range range = print_times(rows, way->name);
        if (range.products)
            report_sentence(
                "%s: over all %zu products of d_in and d_out Linear's layout is %.2f to "
                "%.2f times as fast as the bare matrix; the interval lies above 1 in "
                "%zu of them, below in %zu.",
                way->name, range.products, range.slowest, range.fastest, range.faster,
                range.slower);
    }
}

/* ---- equal ----------------------------------------------------------------------------------- */

static bool report_equal(const json_t *rows)
{
    static const struct table_column columns[] = {
        {"d", 0, false},          {"input", 0, true},       {"sums", 0, true},
        {"Q, K, V by", 0, false}, {"/ bound", 0, false},    {"equal bits", 0, false},
        {"output by", 0, false},  {"plain loops", 1, true}, {"", 0, true}};
    struct grid grid = {.table.columns = columns, .table.column_count = 9};
    struct experiment_part part = {.rows = rows, .name = "equal"};
    size_t exact = 0, wrong = 0, loops = 0, compared = 0;
    double worst = 0;
    while (experiment_part_next(&part)) {
        const bool is_exact = strcmp(experiment_text(part.params, "sums"), "exact") == 0;
        const double difference = experiment_number(part.values, "difference");
        const double output = experiment_number(part.values, "output_difference");
        const double over_bound = experiment_number(part.values, "over_bound");
        const json_t *same = json_object_get(part.values, "loops_equal");
        const bool right = isfinite(difference) && isfinite(output) &&
                           (is_exact ? difference == 0 && output == 0 : over_bound <= 1);
        exact += is_exact;
        wrong += !right;
        worst = fmax(worst, over_bound);
        compared += !json_is_null(same);
        loops += json_is_true(same);
        grid_row(&grid);
        grid_number(&grid, "%.0f", experiment_number(part.params, "d"));
        grid_text(&grid, "%s", experiment_text(part.params, "input"));
        grid_text(&grid, "%s", experiment_text(part.params, "sums"));
        grid_number(&grid, "%.2g", difference);
        grid_number(&grid, "%.2g", over_bound);
        grid_number(&grid, "%.0f%%", 100 * experiment_number(part.values, "equal"));
        grid_number(&grid, "%.2g", output);
        grid_text(&grid, "%s", json_is_null(same) ? "" : json_is_true(same) ? "equal" : "differ");
        grid_text(&grid, "%s", right ? "ok" : "DIFFERS");
        grid_style(&grid, right ? TABLE_PLAIN : TABLE_BAD);
    }
    grid_print(&grid, "a layer with the same weights in both layouts");
    if (wrong)
        report_sentence("The two versions of %zu layers differ by more than rounding explains.",
                        wrong);
    else if (exact && worst == 0)
        report_sentence("With the same weights both versions compute the same: not a bit differs "
                        "where sums are exact, nor where they are rounded.");
    else if (exact)
        report_sentence("With the same weights both versions compute the same: not a bit differs "
                        "where sums are exact; elsewhere Q, K and V differ by at most %.2g of what "
                        "two orders of summation can.",
                        worst);
    if (compared)
        report_sentence("Plain loops give equal bits in %zu of %zu layers.", loops, compared);
    return !wrong;
}

/* ---- init ------------------------------------------------------------------------------------ */

static void report_init(const json_t *rows)
{
    static const struct table_column columns[] = {{"d", 0, false},
                                                  {"input", 0, true},
                                                  {"weights", 0, true},
                                                  {"E q^2", 0, false},
                                                  {"spread of scores", 0, false},
                                                  {"keys in use", 0, false},
                                                  {"largest", 0, false}};
    struct grid grid = {.table.columns = columns, .table.column_count = 7};
    struct experiment_part part = {.rows = rows, .name = "init"};
    double widest = 0, rand = NAN, least = INFINITY;
    while (experiment_part_next(&part)) {
        const bool linear = strcmp(experiment_text(part.params, "init"), "linear") == 0;
        const double d = experiment_number(part.params, "d");
        const double keys = experiment_number(part.values, "effective_keys");
        grid_row(&grid);
        grid_number(&grid, "%.0f", d);
        grid_text(&grid, "%s", experiment_text(part.params, "input"));
        grid_text(&grid, "%s", linear ? "+-1/sqrt(d_in)" : "[0, 1)");
        grid_number(&grid, "%.3g", experiment_number(part.values, "q_squared"));
        grid_number(&grid, "%.3g", experiment_number(part.values, "spread"));
        grid_number(&grid, "%.1f", keys);
        grid_number(&grid, "%.3f", experiment_number(part.values, "largest"));
        if (linear)
            least = fmin(least, keys);
        else if (d > widest || (d == widest && keys > rand)) {
            widest = d;
            rand = keys;
        }
    }
    grid_print(&grid, "64 tokens behind the weights that a layer begins with");
    if (isfinite(least) && isfinite(rand))
        report_sentence("What the layers begin with does matter: weights in [0, 1) leave %.1f of "
                        "64 keys in use at d = %.0f, a Linear's %.1f or more at every d.",
                        rand, widest, least);
}

bool linear_report(const json_t *rows)
{
    const bool right = report_equal(rows);
    report_init(rows);
    report_times(rows);
    return right;
}
