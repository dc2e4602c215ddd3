/*
 * report_live: the table of the current case, redrawn before each launch.
 */
#define _GNU_SOURCE
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "base/units.h"
#include "launches.h"
#include "report_rows.h"

#define LIVE_COLUMNS COLUMN_FLAGS
#define FEWEST_LINES 4 /* titles, two rows, and a line about the rows left out */

static bool same(const struct cell *a, const struct cell *b)
{
    return a == b || (cell_same_variant(a, b) && a->threads == b->threads);
}

/* Marks the cells that run now: the launched one and, if that is for a check, those of its variant without one. */
static void note(struct cell *cells, size_t count, const struct cell *running)
{
    static size_t displays;
    displays += 2;
    for (size_t i = 0; i < count; i++)
        if (same(&cells[i], running))
            cells[i].displayed = displays;
        else if (cell_same_variant(&cells[i], running) && !cells[i].check)
            cells[i].displayed = displays - 1;
}

/* By threads, then as planned, so that rows do not move while one reads. */
static int compare(const void *a, const void *b)
{
    const struct cell *x = *(const struct cell *const *)a, *y = *(const struct cell *const *)b;
    const int threads = x->threads - y->threads;
    return threads ? threads : (x > y) - (x < y);
}

/* The cells with a line in the table, sorted; returns how many. */
static size_t list(const struct cell *cells, size_t count, const struct cell **listed)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (!report_row_is_absent(&cells[i]))
            listed[n++] = &cells[i];
    qsort(listed, n, sizeof *listed, compare);
    return n;
}

/* Keeps the `room` cells that ran most recently; returns how many of the others are done. */
static size_t cut(const struct cell **listed, size_t count, size_t room, const struct cell **kept)
{
    size_t done = 0, n = 0;
    for (size_t i = 0; i < count; i++) {
        size_t before = 0;
        for (size_t k = 0; k < count; k++)
            before += listed[k]->displayed > listed[i]->displayed ||
                      (k < i && listed[k]->displayed == listed[i]->displayed);
        if (before < room)
            kept[n++] = listed[i];
        else
            done += listed[i]->row != NULL;
    }
    return done;
}

/* The median so far, and of how many launches. */
static void fill_unfinished(const struct cell *cell, struct table_row *row)
{
    const size_t launches = json_array_size(cell->launches);
    units_seconds(launches_median_of(cell, NULL, "median_s"), row->text[COLUMN_TIME]);
    if (launches)
        snprintf(row->text[COLUMN_INTERVAL], TABLE_CELL, "n=%zu", launches);
}

static void fill(const struct cell *cells, size_t count, const struct cell *cell,
                 const struct cell *running, struct table_row *row)
{
    report_column_fill(cell, report_row_gemm(cells, count, cell), row);
    if (!cell->row)
        fill_unfinished(cell, row);
    row->style = cell->state != CELL_OK ? TABLE_BAD : TABLE_PLAIN;
    if (same(cell, running)) {
        snprintf(row->text[COLUMN_MARK], TABLE_CELL, ">");
        row->style = TABLE_STRONG;
    }
}

static void print_rows(FILE *out, size_t width, const struct cell *cells, size_t count,
                       const struct cell *running, const struct cell *const *shown, size_t n)
{
    struct table_row *rows = alloc_zeroed(n + 1, sizeof *rows);
    const struct table table = {.columns = report_columns(true),
                                .column_count = LIVE_COLUMNS,
                                .rows = rows,
                                .row_count = n,
                                .one_line = true};
    for (size_t i = 0; rows && i < n; i++)
        fill(cells, count, shown[i], running, &rows[i]);
    if (rows)
        table_print(out, &table, width, report_colors());
    free(rows);
}

/* In at most `room` lines. */
static void print_table(FILE *out, size_t width, size_t room, const struct cell *cells,
                        size_t count, const struct cell *running)
{
    const struct cell **listed = alloc_zeroed(2 * count + 1, sizeof *listed);
    const size_t n = listed ? list(cells, count, listed) : 0;
    if (listed && n + 1 > room) {
        const size_t kept = room - 2, done = cut(listed, n, kept, listed + count);
        print_rows(out, width, cells, count, running, listed + count, kept);
        fprintf(out, "   and %zu more, %zu of them done\n", n - kept, done);
    } else if (listed) {
        print_rows(out, width, cells, count, running, listed, n);
    }
    free(listed);
}

static size_t lines_of(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

void report_live(struct cell *cells, size_t count, const struct cell *running, double share,
                 double left_s, const char *what)
{
    char *text = NULL;
    size_t width, height, size;
    bool fits = false;
    if (!progress_room(&width, &height))
        return;
    note(cells, count, running);
    FILE *out = open_memstream(&text, &size);
    if (out) {
        report_case_head(out, width - 1, &cells[0]);
        (void)fflush(out);
        const size_t taken = lines_of(text) + 2; /* with the last line, and one of other programs */
        fits = height >= taken + FEWEST_LINES;
        if (fits)
            print_table(out, width - 1, height - taken, cells, count, running);
        fits &= fclose(out) == 0;
    }
    progress_show(fits ? text : "", share, left_s, what);
    free(text);
}
