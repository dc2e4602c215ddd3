/*
 * report: how far each factor moves a kernel, beside repeats of one layout.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiments/experiment.h"
#include "experiments/shared/grid.h"
#include "layouts.h"
#include "results/report_experiment.h"

#define SEED 1 /* of the draws: a file's report is the same each time */

/* Chance below which layouts are more than repeats: of three factors that do nothing one is called
 * so 5 times in 100 (Bonferroni). */
#define BEYOND (0.05 / 3)

static const char *const words[LAYOUTS_FACTORS] = {
    [LAYOUTS_AGAIN] = "nothing",
    [LAYOUTS_STACK] = "stack",
    [LAYOUTS_ENVIRONMENT] = "environment",
    [LAYOUTS_CODE] = "code",
};

/* Rounds in which every layout of a kernel was launched, those of the one with the fewest. */
static size_t rounds_of(const json_t *rows, const char *kernel)
{
    struct experiment_part part = {.rows = rows};
    size_t rounds = LAYOUTS_ROUNDS;
    while (experiment_part_next(&part)) {
        const size_t n = json_array_size(json_object_get(part.values, "launch_medians_s"));
        const struct layout *l = layouts_find(experiment_text(part.params, "kernel"));
        if (l && n && n < rounds && strcmp(l->kernel, kernel) == 0)
            rounds = n;
    }
    return rounds;
}

/* The times of a kernel's layouts by factor; those that have none are left out. */
static void collect(const json_t *rows, const char *kernel, struct layouts_times *times)
{
    struct experiment_part part = {.rows = rows};
    const size_t rounds = rounds_of(rows, kernel);
    while (experiment_part_next(&part)) {
        const struct layout *l = layouts_find(experiment_text(part.params, "kernel"));
        struct layouts_times *t = l ? &times[l->factor] : NULL;
        if (!l || strcmp(l->kernel, kernel) != 0 || t->layouts == LAYOUTS_PLACES ||
            !json_array_size(json_object_get(part.values, "launch_medians_s")))
            continue;
        for (size_t r = 0; r < rounds; r++)
            t->logs[t->layouts][r] = log(experiment_at_number(part.values, "launch_medians_s", r));
        t->rounds = rounds;
        t->layouts++;
    }
}

static void print(struct grid *grid, const char *kernel, enum layouts_factor factor,
                  const struct layouts_times *times, const struct layouts_finding *found)
{
    grid_row(grid);
    grid_text(grid, "%s", kernel);
    grid_text(grid, "%s", words[factor]);
    grid_number(grid, "%.0f", (double)times->layouts);
    grid_number(grid, "%.0f", (double)times->rounds);
    grid_number(grid, "%.2f", 100 * found->spread);
    grid_range(grid, "%.2f", 100 * found->lo, 100 * found->hi);
    grid_number(grid, "%.3f", found->chance);
}

/* What moves the kernel, if anything does. */
static void say(const char *kernel, const struct layouts_finding found[LAYOUTS_FACTORS])
{
    char moved[64] = "";
    double most = 0, farthest = 0;
    size_t n = 0;
    for (int f = LAYOUTS_STACK; f < LAYOUTS_FACTORS; f++) {
        farthest = fmax(farthest, 100 * found[f].spread); /* of those that are known */
        if (found[f].chance <= BEYOND) {
            n += (size_t)snprintf(moved + n, sizeof moved - n, "%s%s", n ? ", " : "", words[f]);
            most = fmax(most, 100 * found[f].spread);
        }
    }
    const double repeats = 100 * found[LAYOUTS_AGAIN].spread;
    if (n)
        report_sentence("%s: its time moves with %s, by up to %.1f %%, where repeats of one layout "
                        "differ by %.1f %%.  A gain below that may be an accident of the layout.",
                        kernel, moved, most, repeats);
    else if (isfinite(repeats))
        report_sentence("%s: no layout moves its time beyond chance; the farthest two differ by "
                        "%.1f %%, repeats of one by %.1f %%.",
                        kernel, farthest, repeats);
}

bool layouts_report(const json_t *rows)
{
    static const struct table_column columns[] = {
        {"kernel", 0, true},    {"moved", 0, true},      {"layouts", 0, false},
        {"rounds", 0, false},   {"spread, %", 0, false}, {"95 % interval", 0, false},
        {"by chance", 0, false}};
    struct grid grid = {.table.columns = columns, .table.column_count = 7};
    struct layouts_finding found[LAYOUTS_KERNELS][LAYOUTS_FACTORS];
    for (int k = 0; k < LAYOUTS_KERNELS; k++) {
        const char *kernel = layouts_kernel_names[k];
        struct layouts_times times[LAYOUTS_FACTORS] = {{0}};
        collect(rows, kernel, times);
        for (int f = 0; f < LAYOUTS_FACTORS; f++) {
            found[k][f] = layouts_judge(&times[f], &times[LAYOUTS_AGAIN], SEED);
            if (times[f].layouts)
                print(&grid, kernel, (enum layouts_factor)f, &times[f], &found[k][f]);
        }
    }
    grid_print(&grid, "how far apart the times of six layouts lie");
    for (int k = 0; k < LAYOUTS_KERNELS; k++)
        say(layouts_kernel_names[k], found[k]);
    const json_t *params = json_object_get(json_array_get(rows, 0), "params");
    if (strcmp(experiment_text(params, "addresses"), "drawn") == 0)
        report_sentence("Each launch drew its addresses anew, which averages over places of the "
                        "stack; setarch -R fixes them.");
    return true;
}
