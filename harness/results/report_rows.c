/*
 * report_rows: one row of results as texts.
 */
#include "report_rows.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/stats.h"
#include "fields.h"

void report_wrapped(size_t indent, const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    table_wrap(report_output.out, text, report_output.width, indent);
}

static int ranks_of(const json_t *row)
{
    const double ranks = field_of(row, FIELD_RANKS); /* of kernel ring, in older files */
    return ranks > 1 ? (int)ranks : 1;
}

double report_threads(const json_t *row)
{
    return ranks_of(row) * field_of(row, FIELD_THREADS);
}

void report_threads_text(const json_t *row, char text[REPORT_THREADS])
{
    const int ranks = ranks_of(row), threads = (int)field_of(row, FIELD_THREADS);
    if (ranks > 1)
        snprintf(text, REPORT_THREADS, "%dx%d", ranks, threads);
    else
        snprintf(text, REPORT_THREADS, "%d", threads);
}

void report_variant_text(const json_t *row, char *text, size_t size)
{
    const char *setting = field_word(row, FIELD_SETTING);
    snprintf(text, size, "%s/%s%s%s", field_word(row, FIELD_KERNEL), field_word(row, FIELD_ISA),
             *setting ? " " : "", setting);
}

double report_median(const json_t *row)
{
    return report_state(row) == CELL_OK ? field_of(row, FIELD_MEDIAN) : NAN;
}

enum cell_state report_state(const json_t *row)
{
    enum cell_state state = CELL_SKIPPED;
    cell_state_parse(field_word(row, FIELD_STATE), &state);
    return state;
}

bool report_absent(const json_t *row)
{
    const enum cell_state state = report_state(row);
    return state == CELL_UNSUPPORTED || state == CELL_UNAVAILABLE;
}

double report_bound(const json_t *row, size_t side)
{
    const json_t *ci = field_json(row, FIELD_INTERVAL);
    return json_is_array(ci) ? json_number_value(json_array_get(ci, side)) : NAN;
}

bool report_meets(const json_t *row, const json_t *fastest)
{
    return report_bound(row, 0) <= report_bound(fastest, 1);
}

bool report_is_ranked(const json_t *row)
{
    return report_meets(row, row);
}

void report_unranked(size_t unranked, size_t all, const char *what)
{
    if (unranked)
        report_wrapped(4,
                       "  no rank in %zu of %zu %s: too few launches for an interval; use "
                       "--launches %d",
                       unranked, all, what, STATS_CI_MIN);
}

bool report_rivals(const struct cell *a, const struct cell *b)
{
    return a->c == b->c && a->threads == b->threads && a->row && b->row;
}

const struct cell *report_fastest(const struct cell *cells, size_t count, const struct cell *like)
{
    const struct cell *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct cell *cell = &cells[i];
        if (!report_rivals(cell, like))
            continue;
        const double median = report_median(cell->row);
        if (cell->state == CELL_OK && median > 0 && !(best && report_median(best->row) <= median))
            best = cell;
    }
    return best;
}

bool report_is_contested(const struct cell *cells, size_t count, const struct cell *cell)
{
    for (size_t i = 0; i < count; i++)
        if (&cells[i] != cell && report_rivals(&cells[i], cell) &&
            !isnan(report_median(cells[i].row)))
            return true;
    return false;
}

bool report_is_chosen(const json_t *row)
{
    return json_is_true(field_json(row, FIELD_CHOSEN));
}

double report_regret(const struct cell *cells, size_t count, const struct cell *like,
                     const struct cell **chosen, const struct cell **fastest)
{
    size_t timed = 0;
    *chosen = *fastest = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct cell *cell = &cells[i];
        if (!report_rivals(cell, like) || cell->setting.name != like->setting.name ||
            isnan(report_median(cell->row)))
            continue;
        timed++;
        if (report_is_chosen(cell->row))
            *chosen = cell;
        if (!*fastest || report_median(cell->row) < report_median((*fastest)->row))
            *fastest = cell;
    }
    return *chosen && timed > 1 ? report_median((*chosen)->row) / report_median((*fastest)->row)
                                : NAN;
}

double report_share(const json_t *row)
{
    const char *bound = field_word(row, FIELD_BOUND_BY);
    const double in_place = field_of(row, FIELD_OF_READ_IN_PLACE);
    if (strcmp(bound, "compute") == 0)
        return field_of(row, FIELD_OF_FMA);
    if (strcmp(bound, "bandwidth") == 0) /* rows of before know it of other memory alone */
        return isfinite(in_place) ? in_place : field_of(row, FIELD_OF_READ);
    return NAN;
}

double report_gemm(const struct cell *cells, size_t count, const struct cell *like)
{
    double best = NAN;
    for (size_t i = 0; i < count; i++)
        if (report_rivals(&cells[i], like) && cells[i].setting.name == like->setting.name &&
            strcmp(cells[i].kernel_name, "gemm") == 0)
            best = fmin(best, report_median(cells[i].row));
    return best;
}
