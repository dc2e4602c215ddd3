/*
 * best_measured: how far attn_kernel_best() is from the fastest kernel of results files.
 *
 * Usage: best_measured FILE.jsonl...
 *
 * For each case and thread count of a file: what the dispatch of this host names for the problem,
 * the fastest kernel measured in the same session, and the ratio of their medians.  The last row of
 * a cell counts.  A choice that is slower is marked by `*`, or by `~` where the 95 % intervals of both
 * overlap.
 * Exit: 0 where 98 % of the choices are within 3 % of the best, 1 where they are not, 3 where a file
 * cannot be read.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "attention.h"
#include "problem/parse.h"

#define MOST 1.03   /* how much longer the choice may take */
#define ENOUGH 0.98 /* of the choices that were measured */

struct row {
    char *problem, *input, *kernel, *isa;
    int threads;
    double seconds;   /* NAN: not measured */
    double low, high; /* its 95 % interval, from 0 on where there is none */
};

struct rows {
    struct row *row;
    size_t n;
};

static char *text_of(const json_t *cell, const char *key)
{
    const char *text = json_string_value(json_object_get(cell, key));
    char *copy = strdup(text ? text : "");
    if (!copy)
        abort();
    return copy;
}

static bool same_case(const struct row *a, const struct row *b)
{
    return a->threads == b->threads && strcmp(a->problem, b->problem) == 0 &&
           strcmp(a->input, b->input) == 0;
}

static const struct attn_kernel *kernel_of(const struct row *row)
{
    for (size_t isa = 0; isa < ATTN_ISA_COUNT; isa++)
        if (strcmp(row->isa, attn_isa_name((enum attn_isa)isa)) == 0)
            return attn_find(row->kernel, (enum attn_isa)isa);
    return NULL;
}

/* Whether r is what its kernel takes for case and threads of `at`: a serial one has rows of one thread. */
static bool competes(const struct row *r, const struct row *at)
{
    const struct attn_kernel *kernel = kernel_of(r);
    struct row alike = *r;
    if (kernel && !kernel->caps.parallel && r->threads == 1)
        alike.threads = at->threads;
    return same_case(&alike, at) && !isnan(r->seconds);
}

static bool same_kernel(const struct row *a, const char *kernel, const char *isa)
{
    return strcmp(a->kernel, kernel) == 0 && strcmp(a->isa, isa) == 0;
}

static void free_row(struct row *row)
{
    free(row->problem);
    free(row->input);
    free(row->kernel);
    free(row->isa);
}

/* Adds a cell, or replaces an earlier one of the same identity. */
static void add_row(struct rows *rows, const json_t *cell)
{
    const json_t *time = json_object_get(cell, "time");
    const json_t *median = json_object_get(time, "median_s");
    const json_t *interval = json_object_get(time, "ci95_s");
    const bool known = json_array_size(interval) == 2;
    struct row row = {
        .problem = text_of(cell, "problem"),
        .input = text_of(cell, "input"),
        .kernel = text_of(cell, "kernel"),
        .isa = text_of(cell, "isa"),
        .threads = (int)json_integer_value(json_object_get(cell, "threads")),
        .seconds = json_is_number(median) ? json_number_value(median) : NAN,
        .low = known ? json_number_value(json_array_get(interval, 0)) : 0,
        .high = known ? json_number_value(json_array_get(interval, 1)) : INFINITY,
    };
    for (size_t i = 0; i < rows->n; i++)
        if (same_case(&rows->row[i], &row) && same_kernel(&rows->row[i], row.kernel, row.isa)) {
            free_row(&rows->row[i]);
            rows->row[i] = row;
            return;
        }
    struct row *grown = realloc(rows->row, (rows->n + 1) * sizeof *grown);
    if (!grown)
        abort();
    rows->row = grown;
    rows->row[rows->n++] = row;
}

static bool read_rows(const char *path, struct rows *rows)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        return false;
    }
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, file) > 0) {
        json_t *value = json_loads(line, 0, NULL);
        const char *type = json_string_value(json_object_get(value, "type"));
        if (type && strcmp(type, "cell") == 0)
            add_row(rows, value);
        json_decref(value);
    }
    free(line);
    fclose(file);
    return true;
}

struct tally {
    size_t cases, within, tied, chosen_unmeasured;
};

/* Prints the line of the case that row `first` begins. */
static void judge(const struct rows *rows, size_t first, struct tally *tally)
{
    const struct row *at = &rows->row[first], *best = NULL, *chosen = NULL;
    struct attn_problem problem;
    struct parse_error error;
    if (!parse_problem(at->problem, &problem, &error))
        return;
    const struct attn_kernel *kernel = attn_kernel_best(&problem, at->threads);
    for (size_t i = 0; i < rows->n; i++) {
        const struct row *r = &rows->row[i];
        if (!competes(r, at))
            continue;
        if (!best || r->seconds < best->seconds)
            best = r;
        if (kernel && same_kernel(r, kernel->name, attn_isa_name(kernel->isa)))
            chosen = r;
    }
    if (!best || !kernel)
        return;
    tally->cases++;
    const double ratio = chosen ? chosen->seconds / best->seconds : NAN;
    tally->chosen_unmeasured += !chosen;
    const bool within = ratio <= MOST;
    const bool tied = chosen && !within && chosen->low <= best->high;
    tally->within += within;
    tally->tied += tied;
    printf("%-56s %2d  %-22s %-22s ", at->problem, at->threads, kernel->name, best->kernel);
    if (chosen)
        printf("%6.3f%s\n", ratio, within ? "" : tied ? "  ~" : "  *");
    else
        printf("not measured\n");
}

static bool judge_file(const char *path, struct tally *tally)
{
    struct rows rows = {0};
    const bool read = read_rows(path, &rows);
    for (size_t i = 0; i < rows.n; i++) {
        size_t first = 0;
        while (!same_case(&rows.row[first], &rows.row[i]))
            first++;
        if (first == i)
            judge(&rows, i, tally);
    }
    for (size_t i = 0; i < rows.n; i++)
        free_row(&rows.row[i]);
    free(rows.row);
    return read;
}

int main(int argc, char **argv)
{
    struct tally tally = {0};
    printf("%-56s %2s  %-22s %-22s %s\n", "problem", "t", "chosen", "best", "time over best");
    for (int i = 1; i < argc; i++)
        if (!judge_file(argv[i], &tally))
            return 3;
    const size_t measured = tally.cases - tally.chosen_unmeasured;
    printf("%zu of %zu choices within %.0f %% of the best, of the others %zu ties; %zu "
           "more not "
           "measured\n",
           tally.within, measured, 100 * (MOST - 1), tally.tied, tally.chosen_unmeasured);
    return (double)tally.within >= ENOUGH * (double)measured ? 0 : 1;
}
