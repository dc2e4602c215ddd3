/*
 * report_case: the table of one case.
 */
#include "base/message.h"
#include "base/alloc.h"
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "fields.h"
#include "report_answer.h"
#include "report_settings.h"
#include "report_rows.h"
#include "base/units.h"

/* Whether every kernel that could compute the case was skipped for the same reason: its input. */
static bool nothing_to_compute(const struct cell *cells, size_t count)
{
    const char *why = NULL;
    for (size_t i = 0; i < count; i++) {
        const json_t *row = cells[i].row;
        if (!row || report_row_is_absent(&cells[i]))
            continue;
        if (cells[i].state != CELL_SKIPPED || (why && strcmp(why, field_word(row, FIELD_WHY)) != 0))
            return false;
        why = field_word(row, FIELD_WHY);
    }
    return why;
}

/* By threads, then time; those without a time last. */
static int compare(const void *a, const void *b)
{
    const struct cell *x = *(const struct cell *const *)a, *y = *(const struct cell *const *)b;
    const double s = report_row_median(x), t = report_row_median(y);
    if (x->threads != y->threads)
        return x->threads - y->threads;
    if (isnan(s) || isnan(t))
        return isnan(s) - isnan(t);
    return (s > t) - (s < t);
}

static const char *mark(const struct cell *cell, const struct cell *fastest, bool beats)
{
    if (cell != fastest)
        return report_row_tie(report_row_ratio(fastest, cell)) ? "=" : "";
    return beats ? "*" : "";
}

void report_case_head(FILE *out, size_t width, const struct cell *cell)
{
    const struct problem_case *c = cell->c;
    char problem[PARSE_TEXT], input[PARSE_TEXT], flops[UNITS_TEXT], bytes[UNITS_TEXT];
    char text[2 * PARSE_TEXT + 16], sizes[2 * UNITS_TEXT + 8];
    parse_print_problem(&c->problem, problem);
    parse_print_input(&c->input, input);
    units_flops(cell_work(cell).flops, flops);
    units_bytes(cell_work(cell).bytes, bytes);
    snprintf(sizes, sizeof sizes, "%s, %s", flops, bytes);
    const bool plain = strcmp(input, "normal:1") == 0;
    snprintf(text, sizeof text, "%s%s%s", problem, plain ? "" : "  input=", plain ? "" : input);
    const bool named = strcmp(c->name, text) != 0;
    fprintf(out, "\n");
    if (named && strlen(c->name) + strlen(text) + strlen(sizes) + 4 > width) {
        char first[sizeof c->name + sizeof sizes + 2];
        snprintf(first, sizeof first, "%s  %s", c->name, sizes);
        table_wrap(out, first, width, 4);
        fprintf(out, "    ");
        table_wrap(out, text, width - 4, 4);
    } else {
        fprintf(out, "%s%s%s  %s\n", named ? c->name : "", named ? "  " : "", text, sizes);
    }
}

static bool absent_for(const struct cell *cell, enum cell_state state, const char *why)
{
    return cell->row && cell->state == state && strcmp(field_word(cell->row, FIELD_WHY), why) == 0;
}

/* "  unsupported: naive/avx512, gemm/avx512 (dtype=f16)"; variants that do not fit are left out. */
static void print_absent_for(const struct cell *cells, size_t count, enum cell_state state,
                             const char *why)
{
    char text[4096], last[96] = "", variant[96];
    size_t n = (size_t)snprintf(text, sizeof text, "  %s", cell_state_name(state));
    for (size_t i = 0; i < count; i++) {
        cell_variant(&cells[i], variant); /* cells of its thread counts are neighbours */
        if (!absent_for(&cells[i], state, why) || strcmp(variant, last) == 0)
            continue;
        if (n + strlen(variant) + strlen(why) + sizeof ",  ()" > sizeof text)
            break;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", *last ? ", " : ": ", variant);
        memcpy(last, variant, sizeof last);
    }
    snprintf(text + n, sizeof text - n, " (%s)", why);
    report_wrapped(4, "%s", text);
}

/* One line for each reason. */
static void print_absent(const struct cell *cells, size_t count, enum cell_state state)
{
    for (size_t i = 0; i < count; i++) {
        bool said = false;
        if (!cells[i].row || cells[i].state != state)
            continue;
        const char *why = field_word(cells[i].row, FIELD_WHY);
        for (size_t j = 0; j < i; j++)
            said |= absent_for(&cells[j], state, why);
        if (!said)
            print_absent_for(cells, count, state, why);
    }
}

/* The cells with a result worth a line, sorted; returns how many. */
static size_t present(const struct cell *cells, size_t count, const struct cell **sorted)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (cells[i].row && !report_row_is_absent(&cells[i]))
            sorted[n++] = &cells[i];
    qsort(sorted, n, sizeof *sorted, compare);
    return n;
}

static void fill_rows(const struct cell *cells, size_t cell_count, const struct cell *const *sorted,
                      size_t count, struct table_row *rows)
{
    const struct cell *chosen, *first;
    for (size_t i = 0; i < count; i++) {
        const struct cell *cell = sorted[i];
        const bool timed = report_row_has_time(cell);
        const struct cell *fastest = timed ? report_row_fastest(cells, cell_count, cell) : NULL;
        const bool beats = timed && cell == fastest &&
                           report_row_is_ranked(cells, cell_count, cell) &&
                           report_row_is_contested(cells, cell_count, cell);
        report_column_fill(cell, report_row_gemm(cells, cell_count, cell), &rows[i]);
        if (timed && report_row_is_chosen(cell->row))
            units_number(report_row_regret(cells, cell_count, cell, &chosen, &first).ratio,
                         rows[i].text[COLUMN_REGRET]);
        if (timed)
            snprintf(rows[i].text[COLUMN_MARK], TABLE_CELL, "%s", mark(cell, fastest, beats));
        rows[i].style = cell->state != CELL_OK ? TABLE_BAD : beats ? TABLE_STRONG : TABLE_PLAIN;
    }
}

/* "  memory: interleave, in place; on huge pages: 2.097 MB to 4.194 MB", if the setting asks for either. */
static void print_memory(const struct cell *const *sorted, size_t count, const struct setting *how)
{
    size_t timed = 0, elsewhere = 0;
    double least = INFINITY, most = 0;
    char text[256], from[UNITS_TEXT], to[UNITS_TEXT];
    for (size_t i = 0; i < count; i++) {
        const json_t *row = sorted[i]->row;
        if (sorted[i]->setting.name != how->name)
            continue;
        const double huge = field_of(row, FIELD_HUGE);
        timed += report_row_has_time(sorted[i]);
        elsewhere += json_is_false(field_json(row, FIELD_IN_PLACE));
        least = fmin(least, huge);
        most = fmax(most, huge);
    }
    if (!timed || (how->memory == MEMORY_FIRST_TOUCH && !how->huge_pages))
        return;
    snprintf(text, sizeof text, "  memory%s%s: %s, ", how->name ? " of " : "",
             how->name ? how->name : "", machine_memories[how->memory]);
    if (elsewhere)
        message_add(text, sizeof text, "elsewhere in %zu of %zu rows", elsewhere, timed);
    else
        message_add(text, sizeof text, "in place");
    units_bytes(least, from);
    units_bytes(most, to);
    if (how->huge_pages)
        message_add(text, sizeof text, "; on huge pages: %s%s%s", most > 0 ? from : "none",
                    strcmp(from, to) ? " to " : "", strcmp(from, to) ? to : "");
    report_wrapped(4, "%s", text);
}

/* Whether a cell of the same variant stands among the first n. */
static bool is_among(const struct cell *cell, const struct cell *const *cells, size_t n)
{
    bool among = false;
    for (size_t i = 0; i < n; i++)
        among |= cell_same_variant(cells[i], cell);
    return among;
}

/* " gemm/avx512 runs OpenBLAS's core Haswell (tried: Haswell 12.10 ms, SkylakeX 14.20 ms)", once for each
 * variant that had a choice. */
static void print_cores(const struct cell *const *sorted, size_t count)
{
    char variant[96], text[512], time[UNITS_TEXT];
    for (size_t i = 0; i < count; i++) {
        json_t *tried = field_json(sorted[i]->row, FIELD_BLAS_TRIED), *seconds;
        const char *core;
        if (!json_object_size(tried) || is_among(sorted[i], sorted, i))
            continue;
        cell_variant(sorted[i], variant);
        *text = 0;
        json_object_foreach (tried, core, seconds) {
            units_seconds(json_is_number(seconds) ? json_number_value(seconds) : NAN, time);
            message_add(text, sizeof text, "%s%s %s", *text ? ", " : "", core,
                        *time ? time : "failed");
        }
        report_wrapped(4, "  %s runs the BLAS library's core %s (tried: %s)", variant,
                       field_word(sorted[i]->row, FIELD_BLAS_CORE), text);
    }
}

void report_case(const struct cell *cells, size_t count)
{
    const struct cell **sorted = alloc_zeroed(count + 1, sizeof *sorted);
    struct table_row *rows = alloc_zeroed(count + 1, sizeof *rows);
    if (sorted && rows && count) {
        const struct cell *other = report_settings_other(cells, count);
        const bool skipped = nothing_to_compute(cells, count);
        const size_t n = skipped ? 0 : present(cells, count, sorted);
        const struct table table = {.columns = report_columns(false),
                                    .column_count = COLUMN_COUNT,
                                    .rows = rows,
                                    .row_count = n};
        fill_rows(cells, count, sorted, n, rows);
        progress_clear();
        report_case_head(report_output.out, report_output.width, &cells[0]);
        if (n)
            report_legend_saw(&table, report_table(&table), NULL);
        report_answers(cells, count, sorted, n);
        report_row_unranked(cells, count, "");
        report_settings(cells, count);
        print_memory(sorted, n, &cells[0].setting);
        if (other)
            print_memory(sorted, n, &other->setting);
        print_cores(sorted, n);
        if (skipped)
            print_absent(cells, count, CELL_SKIPPED);
        print_absent(cells, count, CELL_UNSUPPORTED);
        print_absent(cells, count, CELL_UNAVAILABLE);
        report_flush();
    }
    free(sorted);
    free(rows);
}

/* Whether an earlier cell, under another setting, is the choice for the same number of threads. */
static bool is_told(const struct cell *cells, const struct cell *cell)
{
    for (const struct cell *other = cells; other < cell; other++)
        if (other->chosen && other->threads == cell->threads)
            return true;
    return false;
}

void report_case_best(const struct cell *cells, size_t count)
{
    char text[512] = "";
    for (size_t i = 0; i < count; i++)
        if (cells[i].chosen && !is_told(cells, &cells[i]))
            message_add(text, sizeof text, "%s%s/%s on %d thread%s", *text ? ", " : "  best is ",
                        cells[i].kernel_name, attn_isa_name(cells[i].isa), cells[i].threads,
                        cells[i].threads == 1 ? "" : "s");
    if (*text)
        report_wrapped(4, "%s", text);
    report_flush();
}
