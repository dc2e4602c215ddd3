/*
 * report_rows: reads and compares rows of results.
 */
#include "report_rows.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
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

double report_row_median(const struct cell *cell)
{
    return cell->state == CELL_OK ? field_of(cell->row, FIELD_MEDIAN) : NAN;
}

bool report_row_has_time(const struct cell *cell)
{
    return !isnan(report_row_median(cell));
}

bool report_row_is_absent(const struct cell *cell)
{
    return cell->row && (cell->state == CELL_UNSUPPORTED || cell->state == CELL_UNAVAILABLE);
}

/* An end of the median's 95 % interval in seconds, side 0 the lower; NaN if there is none. */
static double bound(const json_t *row, size_t side)
{
    const json_t *ci = field_json(row, FIELD_INTERVAL);
    return json_is_array(ci) ? json_number_value(json_array_get(ci, side)) : NAN;
}

double report_row_half_width(const json_t *row)
{
    return (bound(row, 1) - bound(row, 0)) / 2;
}

bool report_row_rivals(const struct cell *a, const struct cell *b)
{
    return a->c == b->c && a->threads == b->threads && a->row && b->row;
}

/* The medians of a row's launches, in order of rounds; free() them. */
static size_t medians_of(const json_t *row, double **medians)
{
    const json_t *found = field_json(row, FIELD_MEDIANS);
    const size_t n = json_array_size(found);
    *medians = alloc_zeroed(n + 1, sizeof **medians);
    for (size_t i = 0; *medians && i < n; i++)
        (*medians)[i] = json_number_value(json_array_get(found, i));
    return *medians ? n : 0;
}

struct stats_ratio report_row_ratio(const struct cell *base, const struct cell *cell)
{
    double *a, *b;
    const size_t n = medians_of(base->row, &a), m = medians_of(cell->row, &b);
    struct stats_ratio ratio = {report_row_median(cell) / report_row_median(base), NAN, NAN, false};
    /* launch k of both was in the same round, unless one is a row of an earlier session, without launches here */
    const bool same = !json_array_size(base->launches) == !json_array_size(cell->launches);
    if (cell == base)
        ratio = (struct stats_ratio){1, 1, 1, true};
    else if (same && n && m)
        ratio = stats_paired_ratio(a, b, n < m ? n : m);
    free(a);
    free(b);
    return ratio;
}

bool report_row_tie(struct stats_ratio ratio)
{
    return ratio.lo <= 1 && ratio.hi >= 1;
}

bool report_row_is_ranked(const struct cell *cells, size_t count, const struct cell *cell)
{
    bool ranked = false, alone = true;
    for (size_t i = 0; i < count && !ranked; i++)
        if (&cells[i] != cell && report_row_rivals(&cells[i], cell) &&
            report_row_has_time(&cells[i])) {
            alone = false;
            ranked = report_row_ratio(&cells[i], cell).interval;
        }
    return ranked || (alone && isfinite(bound(cell->row, 0)));
}

size_t report_row_unranked(const struct cell *cells, size_t count, const char *advice)
{
    size_t timed = 0, unranked = 0;
    for (size_t i = 0; i < count; i++) {
        timed += report_row_has_time(&cells[i]);
        unranked +=
            report_row_has_time(&cells[i]) && !report_row_is_ranked(cells, count, &cells[i]);
    }
    if (unranked)
        report_wrapped(4, "  no rank for %zu of %zu cells: too few launches for an interval%s",
                       unranked, timed, advice);
    return unranked;
}

/* The fastest among a cell and its rivals, under its setting or under any. */
static const struct cell *fastest_of(const struct cell *cells, size_t count,
                                     const struct cell *like, bool one_setting)
{
    const struct cell *best = NULL;
    bool best_ranked = false;
    for (size_t i = 0; i < count; i++) {
        const struct cell *cell = &cells[i];
        if (!report_row_rivals(cell, like) || !report_row_has_time(cell) ||
            (one_setting && cell->setting.name != like->setting.name))
            continue;
        const bool ranked = report_row_is_ranked(cells, count, cell);
        if (!best || ranked > best_ranked ||
            (ranked == best_ranked && report_row_median(cell) < report_row_median(best))) {
            best = cell;
            best_ranked = ranked;
        }
    }
    return best;
}

const struct cell *report_row_fastest(const struct cell *cells, size_t count,
                                      const struct cell *like)
{
    return fastest_of(cells, count, like, false);
}

bool report_row_is_contested(const struct cell *cells, size_t count, const struct cell *cell)
{
    for (size_t i = 0; i < count; i++)
        if (&cells[i] != cell && report_row_rivals(&cells[i], cell) &&
            report_row_has_time(&cells[i]))
            return true;
    return false;
}

bool report_row_is_chosen(const json_t *row)
{
    return json_is_true(field_json(row, FIELD_CHOSEN));
}

struct stats_ratio report_row_regret(const struct cell *cells, size_t count,
                                     const struct cell *like, const struct cell **chosen,
                                     const struct cell **fastest)
{
    size_t timed = 0;
    *chosen = NULL;
    *fastest = fastest_of(cells, count, like, true);
    for (size_t i = 0; i < count; i++) {
        const struct cell *cell = &cells[i];
        if (!report_row_rivals(cell, like) || cell->setting.name != like->setting.name ||
            !report_row_has_time(cell))
            continue;
        timed++;
        if (report_row_is_chosen(cell->row))
            *chosen = cell;
    }
    if (!*chosen || timed < 2)
        return (struct stats_ratio){NAN, NAN, NAN, false};
    struct stats_ratio regret = report_row_ratio(*fastest, *chosen);
    if (regret.ratio < 1) /* round by round, though its median is above */
        regret.ratio = 1;
    return regret;
}

double report_row_share(const json_t *row)
{
    const char *bound = field_word(row, FIELD_BOUND_BY);
    const double in_place = field_of(row, FIELD_OF_READ_IN_PLACE);
    if (strcmp(bound, "compute") == 0)
        return field_of(row, FIELD_OF_FMA);
    if (strcmp(bound, "bandwidth") == 0) /* older rows have no ceiling in place */
        return isfinite(in_place) ? in_place : field_of(row, FIELD_OF_READ);
    return NAN;
}

double report_row_gemm(const struct cell *cells, size_t count, const struct cell *like)
{
    const struct cell *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (report_row_rivals(&cells[i], like) && cells[i].setting.name == like->setting.name &&
            strcmp(cells[i].kernel_name, "gemm") == 0 && report_row_has_time(&cells[i]) &&
            !(best && report_row_median(best) <= report_row_median(&cells[i])))
            best = &cells[i];
    return best && report_row_has_time(like) ? report_row_ratio(like, best).ratio : NAN;
}
