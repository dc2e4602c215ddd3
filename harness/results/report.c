/*
 * report: the tables of a session.
 */
#include "base/alloc.h"
#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/progress.h"
#include "fields.h"
#include "report_answer.h"
#include "report_rows.h"
#include "report_settings.h"
#include "base/stats.h"
#include "base/units.h"

#define DEFAULT_WIDTH 80
#define LEAST_WIDTH 40 /* columns of the narrowest table */

struct report_output report_output;

bool report_colors(void)
{
    const char *no_color = getenv("NO_COLOR");
    return !(no_color && *no_color);
}

void report_open(bool to_stderr)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    report_output.out = to_stderr ? stderr : stdout;
    const int fd = fileno(report_output.out);
    const bool terminal = isatty(fd);
    report_output.width = columns ? (size_t)strtoul(columns, NULL, 10) : 0;
    if (terminal && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
        report_output.width = size.ws_col;
    if (!report_output.width)
        report_output.width = DEFAULT_WIDTH;
    if (report_output.width < LEAST_WIDTH)
        report_output.width = LEAST_WIDTH;
    report_output.color = terminal && report_colors();
}

void report_flush(void)
{
    errno = 0;
    if ((fflush(report_output.out) != 0 || ferror(report_output.out)) && !report_output.failed)
        report_output.failed = errno ? errno : EIO;
}

/* ---- tables and single lines ----------------------------------------------------------------- */

unsigned report_table(const struct table *table)
{
    progress_clear();
    const unsigned shown =
        table_print(report_output.out, table, report_output.width, report_output.color);
    report_flush();
    return shown;
}

void report_line(const struct cell *cell, char *text, size_t size)
{
    char time[UNITS_TEXT], gflops[UNITS_TEXT], variant[96];
    const char *state = cell_state_name(cell->state), *why = field_word(cell->row, FIELD_WHY);
    units_seconds(report_row_median(cell), time);
    field_text(cell->row, FIELD_GFLOPS, gflops);
    cell_variant(cell, variant);
    snprintf(text, size, "%s  %s  %d thr  %s%s%s%s%s%s%s", cell->c->name, variant, cell->threads,
             state, *why ? ": " : "", why, *time ? "  " : "", time, *time ? "  " : "",
             *time ? gflops : "");
    if (*time)
        strncat(text, " GFLOP/s", size - strlen(text) - 1);
}

void report_difference(double largest, const struct cell *a, const struct cell *b)
{
    char first[96], second[96];
    cell_variant(a, first);
    cell_variant(b, second);
    report_wrapped(4, "  largest difference between two kernels: %.3g, %s %d thr and %s %d thr",
                   largest, first, a->threads, second, b->threads);
    report_flush();
}

/* ---- the summary ----------------------------------------------------------------------------- */

static const struct table_column summary_columns[] = {
    {"case", 0, true},    {"thr", 0, false},     {"", 0, true},      {"fastest", 0, true},
    {"median", 0, false}, {"GFLOP/s", 2, false}, {"%FMA", 0, false}, {"%read", 1, false},
    {"x gemm", 1, false}, {"regret", 3, false},
};

/* The column of a case's table that each column of the summary comes from; -1: none. */
static const int summary_from[] = {-1,          COLUMN_THREADS, COLUMN_MARK, COLUMN_KERNEL,
                                   COLUMN_TIME, COLUMN_GFLOPS,  COLUMN_FMA,  COLUMN_BANDWIDTH,
                                   COLUMN_GEMM, COLUMN_REGRET};

/* "*": fastest without a tie; "=": tied; "": no other has a time. */
static const char *mark(const struct cell *cells, size_t count, const struct cell *best)
{
    for (size_t i = 0; i < count; i++)
        if (&cells[i] != best && report_row_rivals(&cells[i], best) &&
            report_row_tie(report_row_ratio(best, &cells[i])))
            return "=";
    return report_row_is_contested(cells, count, best) ? "*" : "";
}

static void summary_row(const struct cell *cells, size_t count, const struct cell *cell,
                        const char *marked, struct table_row *row)
{
    struct table_row whole = {0};
    const struct cell *chosen, *fastest;
    report_column_fill(cell, report_row_gemm(cells, count, cell), &whole);
    units_number(report_row_regret(cells, count, cell, &chosen, &fastest).ratio,
                 whole.text[COLUMN_REGRET]);
    snprintf(whole.text[COLUMN_MARK], TABLE_CELL, "%s", marked);
    for (size_t c = 0; c < sizeof summary_from / sizeof *summary_from; c++)
        snprintf(row->text[c], TABLE_CELL, "%s",
                 summary_from[c] < 0 ? cell->c->name : whole.text[summary_from[c]]);
}

/* One row for each case and thread count with a ranked cell, in order of appearance; returns how many. */
static size_t summary_rows(const struct cell *cells, size_t count, struct table_row *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen |= cells[j].c == cells[i].c && cells[j].threads == cells[i].threads;
        const struct cell *best = seen ? NULL : report_row_fastest(cells, count, &cells[i]);
        if (best && report_row_is_ranked(cells, count, best))
            summary_row(cells, count, best, mark(cells, count, best), &rows[n++]);
    }
    return n;
}

static void print_states(const struct cell *cells, size_t count)
{
    size_t counts[CELL_STATE_COUNT] = {0}, total = 0, incomplete = 0;
    char line[64 + CELL_STATE_COUNT * 40];
    const char *separator = ": ";
    for (size_t i = 0; i < count; i++) {
        const bool done = cells[i].row && cells[i].done;
        total += done;
        incomplete += cells[i].row && !done;
        if (done)
            counts[cells[i].state]++;
    }
    snprintf(line, sizeof line, "%zu of %zu cells", total, count);
    for (int state = 0; state < CELL_STATE_COUNT; state++)
        if (counts[state]) {
            message_add(line, sizeof line, "%s%zu %s", separator, counts[state],
                        cell_state_name((enum cell_state)state));
            separator = ", ";
        }
    if (incomplete)
        message_add(line, sizeof line, "; %zu more incomplete: interrupted", incomplete);
    report_wrapped(4, "%s", line);
}

/* How many of the kernel's cells call the library; NULL: any library. */
static size_t calling(const struct cell *cells, size_t count, const char *kernel,
                      const char *library)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const char *called = field_word(cells[i].row, FIELD_LIBRARY);
        n += *called && strcmp(cells[i].kernel_name, kernel) == 0 &&
             (!library || strcmp(called, library) == 0);
    }
    return n;
}

/* Prints each library that a kernel calls, once; gemm chooses a core type of OpenBLAS by the problem. */
static void print_libraries(const struct cell *cells, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *kernel = cells[i].kernel_name;
        const char *library = field_word(cells[i].row, FIELD_LIBRARY);
        if (!*library || calling(cells, i, kernel, library))
            continue;
        const size_t some = calling(cells, count, kernel, library);
        const size_t all = calling(cells, count, kernel, NULL);
        char cells_of[64] = "";
        if (some < all)
            snprintf(cells_of, sizeof cells_of, " in %zu of %zu cells", some, all);
        report_wrapped(0, "%s calls %s%s", kernel, library, cells_of);
    }
}

/* Prints, once for each kernel, which checks its declared deviations switched off. */
static void print_caveats(const struct cell *cells, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *caveats = json_object_get(cells[i].check, "caveats");
        bool first = json_array_size(caveats) > 0;
        for (size_t k = 0; first && k < i; k++)
            first = strcmp(cells[k].kernel_name, cells[i].kernel_name) != 0;
        if (!first)
            continue;
        char words[512] = "";
        for (size_t k = 0; k < json_array_size(caveats); k++)
            message_add(words, sizeof words, " %s", json_string_value(json_array_get(caveats, k)));
        report_wrapped(0, "%s is not checked for what it declares:%s", cells[i].kernel_name, words);
    }
}

/* "; with --launches 6 this session takes about 3 min", extrapolated from the time that it took. */
static void advise(const struct cell *cells, size_t count, double wall_s, char text[96])
{
    char span[UNITS_TEXT];
    *text = 0;
    if (isnan(wall_s))
        return;
    for (size_t i = 0; i < count; i++) {
        const size_t launches = json_array_size(cells[i].launches);
        if (launches && launches < STATS_CI_MIN)
            wall_s += (double)(STATS_CI_MIN - launches) * cells[i].cost_s;
    }
    units_span(wall_s, span);
    snprintf(text, 96, "; with --launches %d this session takes about %s", STATS_CI_MIN, span);
}

void report_summary(const struct cell *cells, size_t count, double wall_s)
{
    struct table_row *rows = alloc_zeroed(count + 1, sizeof *rows);
    char advice[96];
    const size_t n = rows ? summary_rows(cells, count, rows) : 0;
    const struct table table = {.columns = summary_columns,
                                .column_count = sizeof summary_columns / sizeof *summary_columns,
                                .rows = rows,
                                .row_count = n,
                                .titles = true};
    progress_clear();
    fprintf(report_output.out, "\n");
    if (n)
        report_legend_saw(&table, report_table(&table), summary_from);
    advise(cells, count, wall_s, advice);
    const size_t unranked = report_row_unranked(cells, count, advice);
    report_answer_choices(cells, count);
    report_settings_verdicts(cells, count);
    if (n || unranked) {
        report_legend();
        print_libraries(cells, count);
        print_caveats(cells, count);
    }
    print_states(cells, count);
    report_flush();
    free(rows);
}

/* ---- experiments ----------------------------------------------------------------------------- */

void report_sentence(const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    progress_clear();
    fputc('\n', report_output.out);
    table_wrap(report_output.out, text, report_output.width, 0);
    report_flush();
}
