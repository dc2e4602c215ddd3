/*
 * report_columns: the table of a case's columns: title, order in which narrow terminals drop them, entry in
 * the legend, and text for a row.
 */
#include "report_columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/members.h"
#include "base/message.h"
#include "bench/noise.h"
#include "fields.h"
#include "report_rows.h"

/* ---- columns that are not a single number --------------------------------------------------- */

static void show_variant(const struct cell *cell, char *text)
{
    char variant[96];
    cell_variant(cell, variant);
    snprintf(text, TABLE_CELL, "%.*s", TABLE_CELL - 1, variant);
}

static void show_threads(const struct cell *cell, char *text)
{
    snprintf(text, TABLE_CELL, "%d", cell->threads);
}

/* Half the interval's width in percent of the median, or n=... with too few launches for an interval. */
static void show_interval(const struct cell *cell, char *text)
{
    const double half = report_row_half_width(cell->row) / report_row_median(cell);
    const double launches = field_of(cell->row, FIELD_LAUNCHES);
    if (isfinite(half))
        units_number(100 * half, text);
    else if (isfinite(launches))
        snprintf(text, TABLE_CELL, "n=%.0f", launches);
}

/* The share of the read bandwidth, if that and not arithmetic bounds the row, by its own launches' ceilings;
 * older rows have no bandwidth in place. */
static void show_bandwidth(const struct cell *cell, char *text)
{
    const json_t *row = cell->row;
    const bool in_place = isfinite(field_of(row, FIELD_OF_READ_IN_PLACE));
    if (field_of(row, FIELD_OF_READ) > field_of(row, FIELD_OF_FMA))
        field_text(row, in_place ? FIELD_OF_READ_IN_PLACE : FIELD_OF_READ, text);
}

/* The bandwidth that show_bandwidth() divides by. */
static void show_read(const struct cell *cell, char *text)
{
    const bool in_place = isfinite(field_of(cell->row, FIELD_CEILING_READ_IN_PLACE));
    field_text(cell->row, in_place ? FIELD_CEILING_READ_IN_PLACE : FIELD_CEILING_READ, text);
}

/* A failed cell shows the error of its failure, or none. */
static void show_error(const struct cell *cell, char *text)
{
    const double error = member_number(cell->check, "error_over_bound");
    if (isfinite(error) && (cell->state == CELL_OK || (cell->state == CELL_FAILED && error > 1)))
        snprintf(text, TABLE_CELL, error < 1 ? "%.4f" : "%.4g", error);
}

/* The row's check and the numbers of threads that it ran on: "full 1,2". */
static void show_check(const struct cell *cell, char *text)
{
    const json_t *threads;
    size_t k;
    snprintf(text, TABLE_CELL, "%s", field_word(cell->row, FIELD_CHECK_DEPTH));
    json_array_foreach (field_json(cell->row, FIELD_CHECK_THREADS), k, threads)
        message_add(text, TABLE_CELL, "%s%" JSON_INTEGER_FORMAT, k ? "," : " ",
                    json_integer_value(threads));
}

/* A flag's letter; none for the flag that the interval's column shows as n=.... */
static char letter(const char *flag)
{
    for (size_t w = 0; w < noise_word_count; w++)
        if (strcmp(noise_words[w].word, flag) == 0 && noise_words[w].bit != NOISE_NO_INTERVAL)
            return noise_words[w].letter;
    return 0;
}

static void show_flags(const struct cell *cell, char *text)
{
    size_t f, n = 0;
    const json_t *flag;
    json_array_foreach (field_json(cell->row, FIELD_FLAGS), f, flag)
        if (n + 1 < TABLE_CELL && (text[n] = letter(json_string_value(flag))))
            n++;
    text[n] = 0;
}

static void show_huge(const struct cell *cell, char *text)
{
    field_text(cell->row, FIELD_HUGE, text);
    if (field_of(cell->row, FIELD_HUGE) == 0)
        snprintf(text, TABLE_CELL, "none");
}

/* ---- the columns ---------------------------------------------------------------------------- */

/* A title; the live display shows the first columns and drops them in an order of its own, as launches matter
 * more than rates there. */
static const struct {
    struct table_column column;
    int live;
    enum field field; /* a number or a word, where `show` is NULL */
    void (*show)(const struct cell *cell, char *text);
    bool always;         /* shown for cells that are not ok, too */
    const char *meaning; /* NULL: that of the field */
    bool plain;          /* needs no legend: only in `help columns` */
} columns[COLUMN_COUNT] = {
    [COLUMN_MARK] = {.column = {"", 0, true}},
    [COLUMN_KERNEL] = {{"kernel/isa", 0, true},
                       .show = show_variant,
                       .always = true,
                       .plain = true,
                       .meaning =
                           "the kernel, and the instruction set that this variant was built for; "
                           "behind them base or new, where a session compares two settings"},
    [COLUMN_THREADS] = {{"thr", 0, false},
                        .show = show_threads,
                        .always = true,
                        .plain = true,
                        .meaning = "threads"},
    [COLUMN_TIME] = {{"median", 0, false}, .field = FIELD_MEDIAN},
    [COLUMN_INTERVAL] = {{"+-%", 1, false},
                         .show = show_interval,
                         .meaning =
                             "half the 95 % interval of this session's median, in percent of it"},
    [COLUMN_GFLOPS] = {{"GFLOP/s", 1, false}, .live = 3, .field = FIELD_GFLOPS, .plain = true},
    [COLUMN_FMA] = {{"%FMA", 0, false}, .live = 1, .field = FIELD_OF_FMA},
    [COLUMN_BANDWIDTH] = {{"%read", 1, false},
                          .live = 2,
                          .show = show_bandwidth,
                          .meaning =
                              "percent of the read bandwidth, shown where it is the nearer limit"},
    [COLUMN_GEMM] = {{"x gemm", 2, false},
                     .live = 5,
                     .field = FIELD_NONE,
                     .meaning = "speed-up over the kernel gemm, two library GEMMs and a softmax, "
                                "round by round"},
    [COLUMN_ERROR] = {{"err/bnd", 4, false},
                      .live = 4,
                      .show = show_error,
                      .always = true,
                      .meaning = "largest error divided by its bound; above 1 the kernel fails"},
    [COLUMN_FLAGS] = {{"flags", 3, true},
                      .show = show_flags,
                      .plain = true,
                      .meaning = "letters: attnbench help flags"},
    [COLUMN_REGRET] = {{"regret", 5, false},
                       .field = FIELD_NONE,
                       .meaning = "time of the variant that the library chooses, over the "
                                  "fastest's, round by round"},
    [COLUMN_BOUND] = {{"bound by", 11, true},
                      .field = FIELD_BOUND_BY,
                      .meaning = "the nearer limit by the roofline model, multiply-adds (compute) "
                                 "or reads"},
    [COLUMN_LAUNCHES] = {{"launches", 5, false}, .field = FIELD_LAUNCHES, .plain = true},
    [COLUMN_SPREAD] = {{"spread%", 6, false}, .field = FIELD_SPREAD_BETWEEN},
    [COLUMN_MIN] = {{"min", 7, false}, .field = FIELD_MIN, .plain = true},
    [COLUMN_P95] = {{"p95", 7, false}, .field = FIELD_P95, .plain = true},
    [COLUMN_BYTES] = {{"GB/s", 8, false}, .field = FIELD_GBYTES, .plain = true},
    [COLUMN_READ] = {{"read GB/s", 9, false}, .show = show_read, .plain = true},
    [COLUMN_HUGE] = {{"huge", 8, false}, .show = show_huge, .plain = true},
    [COLUMN_MACHINE] = {{"%machine", 11, false}, .field = FIELD_OF_MACHINE},
    [COLUMN_WORKSPACE] = {{"workspace", 10, false}, .field = FIELD_WORKSPACE, .plain = true},
    [COLUMN_CHECK] = {{"check", 11, true}, .show = show_check, .always = true, .plain = true},
};

const struct table_column *report_columns(bool live)
{
    static struct table_column of_case[COLUMN_COUNT], of_display[COLUMN_COUNT];
    for (int c = 0; c < COLUMN_COUNT; c++) {
        of_case[c] = of_display[c] = columns[c].column;
        of_display[c].priority = columns[c].live;
    }
    return live ? of_display : of_case;
}

const char *report_column_meaning(int column, bool all)
{
    const bool shown = all || !columns[column].plain;
    return !shown                    ? NULL
           : columns[column].meaning ? columns[column].meaning
           : columns[column].field   ? field_meaning(columns[column].field)
                                     : NULL;
}

int report_column_of(enum field field)
{
    int c = 0;
    while (c < COLUMN_COUNT && columns[c].field != field)
        c++;
    return c;
}

void report_column_fill(const struct cell *cell, double gemm, struct table_row *out)
{
    _Static_assert(COLUMN_COUNT <= TABLE_COLUMNS, "a table has room for every column");
    const bool ok = cell->state == CELL_OK;
    for (int c = 0; c < COLUMN_COUNT; c++) {
        if (!ok && !columns[c].always)
            continue;
        if (columns[c].show)
            columns[c].show(cell, out->text[c]);
        else if (columns[c].field > FIELD_COUNT)
            snprintf(out->text[c], TABLE_CELL, "%s", field_word(cell->row, columns[c].field));
        else if (columns[c].field)
            field_text(cell->row, columns[c].field, out->text[c]);
    }
    snprintf(out->note, sizeof out->note, "%s", field_word(cell->row, FIELD_WHY));
    if (ok)
        units_number(gemm, out->text[COLUMN_GEMM]);
    else if (cell->row) /* even if an older row has a time */
        snprintf(out->text[COLUMN_TIME], TABLE_CELL, "%s", cell_state_name(cell->state));
}
