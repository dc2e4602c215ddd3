/*
 * report_rows: one row of results as texts.
 */
#include "report_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/noise.h"
#include "base/units.h"
#include "base/number.h"

const struct table_column report_columns[COLUMN_COUNT] = {
    [COLUMN_MARK] = {"", 0, true},
    [COLUMN_KERNEL] = {"kernel/isa", 0, true},
    [COLUMN_THREADS] = {"thr", 0, false},
    [COLUMN_TIME] = {"median", 0, false},
    [COLUMN_INTERVAL] = {"+-%", 1, false},
    [COLUMN_GFLOPS] = {"GFLOP/s", 1, false},
    [COLUMN_FMA] = {"%FMA", 0, false},
    [COLUMN_BANDWIDTH] = {"%read", 1, false},
    [COLUMN_GEMM] = {"x gemm", 2, false},
    [COLUMN_ERROR] = {"err/bnd", 4, false},
    [COLUMN_FLAGS] = {"flags", 3, true},
    [COLUMN_LAUNCHES] = {"launches", 5, false},
    [COLUMN_SPREAD] = {"spread%", 6, false},
    [COLUMN_MIN] = {"min", 7, false},
    [COLUMN_P95] = {"p95", 7, false},
    [COLUMN_BYTES] = {"GB/s", 8, false},
    [COLUMN_READ] = {"read GB/s", 9, false}, /* what %read divides by */
    [COLUMN_HUGE] = {"huge", 8, false},
    [COLUMN_MACHINE] = {"%machine", 11, false},
    [COLUMN_WORKSPACE] = {"workspace", 10, false},
    [COLUMN_CHECK] = {"check", 11, true},
};

static int ranks_of(const json_t *row)
{
    const json_t *ranks = json_object_get(row, "ranks"); /* not in older files */
    return ranks ? (int)json_integer_value(ranks) : 1;
}

double report_threads(const json_t *row)
{
    return ranks_of(row) * number_at(row, NULL, "threads");
}

void report_threads_text(const json_t *row, char text[CELL_THREADS])
{
    cell_threads_text(ranks_of(row), (int)number_at(row, NULL, "threads"), text);
}

double report_median(const json_t *row)
{
    return report_state(row) == CELL_OK ? number_at(row, "time", "median_s") : NAN;
}

const char *report_text(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

enum cell_state report_state(const json_t *row)
{
    enum cell_state state = CELL_SKIPPED;
    cell_state_parse(report_text(row, "state"), &state);
    return state;
}

bool report_absent(const json_t *row)
{
    const enum cell_state state = report_state(row);
    return state == CELL_UNSUPPORTED || state == CELL_UNAVAILABLE;
}

/* Whether bandwidth and not arithmetic bounds the row, by the ceilings of its own launches. */
static bool bandwidth_binds(const json_t *row)
{
    return number_at(row, NULL, "fraction_of_bandwidth") > number_at(row, NULL, "fraction_of_fma");
}

/* Of what was read where K and V lie; of rows that do not have that, of what was read elsewhere. */
static double read_number(const json_t *row, const char *object, const char *in_place,
                          const char *elsewhere)
{
    const double x = number_at(row, object, in_place);
    return isfinite(x) ? x : number_at(row, object, elsewhere);
}

/* An end of the 95 % interval, NaN where there is none. */
static double bound(const json_t *row, size_t side)
{
    const json_t *ci = json_object_get(json_object_get(row, "time"), "ci95_s");
    return json_is_array(ci) ? json_number_value(json_array_get(ci, side)) : NAN;
}

bool report_meets(const json_t *row, const json_t *fastest)
{
    return bound(row, 0) <= bound(fastest, 1);
}

bool report_is_ranked(const json_t *row)
{
    return report_meets(row, row);
}

void report_unranked(size_t unranked, size_t all, const char *what)
{
    char text[128];
    if (!unranked)
        return;
    snprintf(text, sizeof text, "  no rank in %zu of %zu %s: too few launches for a 95 %% interval",
             unranked, all, what);
    table_wrap(report_output.out, text, report_output.width, 4);
}

bool report_rivals(const struct cell *a, const struct cell *b)
{
    return a->c == b->c && cell_threads(a) == cell_threads(b) && a->row && b->row;
}

double report_gemm(const struct cell *cells, size_t count, const struct cell *like)
{
    double best = NAN;
    for (size_t i = 0; i < count; i++)
        if (report_rivals(&cells[i], like) && strcmp(cells[i].kernel_name, "gemm") == 0)
            best = fmin(best, report_median(cells[i].row));
    return best;
}

/* Half the interval's width in percent, or how few launches there are. */
static void fill_interval(const json_t *row, char *text)
{
    const double half = (bound(row, 1) - bound(row, 0)) / 2 / report_median(row);
    const double launches = number_at(row, "time", "launches");
    if (isfinite(half))
        units_number(100 * half, text);
    else if (isfinite(launches))
        snprintf(text, TABLE_CELL, "n=%.0f", launches);
}

/* Of a failed row the error is that of its failure, or none. */
static void fill_error(const json_t *row, char *text)
{
    const double error = number_at(row, "check", "error_over_bound");
    const enum cell_state state = report_state(row);
    if (isfinite(error) && (state == CELL_OK || (state == CELL_FAILED && error > 1)))
        snprintf(text, TABLE_CELL, error < 1 ? "%.4f" : "%.4g", error);
}

/* Which check a row has had, and on which numbers of threads together: "full 1,2". */
static void fill_check(const json_t *row, char *text)
{
    const json_t *check = json_object_get(row, "check"), *threads;
    size_t n = (size_t)snprintf(text, TABLE_CELL, "%s", report_text(check, "depth")), k;
    json_array_foreach (json_object_get(check, "threads"), k, threads)
        if (n < TABLE_CELL)
            n += (size_t)snprintf(text + n, TABLE_CELL - n, "%s%" JSON_INTEGER_FORMAT,
                                  k ? "," : " ", json_integer_value(threads));
}

/* Letter of a flag; none for what n=... says in place of the interval. */
static char letter(const char *flag)
{
    for (size_t w = 0; w < noise_word_count; w++)
        if (strcmp(noise_words[w].word, flag) == 0 && noise_words[w].bit != NOISE_NO_INTERVAL)
            return noise_words[w].letter;
    return 0;
}

static void fill_flags(const json_t *row, char *text)
{
    size_t f, n = 0;
    const json_t *flag;
    json_array_foreach (json_object_get(row, "flags"), f, flag)
        if (n + 1 < TABLE_CELL && (text[n] = letter(json_string_value(flag))))
            n++;
    text[n] = 0;
}

void report_fill(const json_t *row, double gemm, struct table_row *out)
{
    _Static_assert(COLUMN_COUNT <= TABLE_COLUMNS, "a table has room for every column");
    char(*text)[TABLE_CELL] = out->text;
    const double median = report_median(row);
    const double launches = number_at(row, "time", "launches");
    const double huge = number_at(row, NULL, "huge_bytes");
    const struct {
        int column;
        double value;
    } percents[] = {
        {COLUMN_FMA, number_at(row, NULL, "fraction_of_fma")},
        {COLUMN_SPREAD, number_at(row, "time", "spread_between")},
        {COLUMN_MACHINE, number_at(row, NULL, "fraction_of_machine")},
        {COLUMN_BANDWIDTH,
         bandwidth_binds(row)
             ? read_number(row, NULL, "fraction_of_bandwidth_in_place", "fraction_of_bandwidth")
             : NAN},
    };
    snprintf(text[COLUMN_KERNEL], TABLE_CELL, "%s/%s", report_text(row, "kernel"),
             report_text(row, "isa"));
    report_threads_text(row, text[COLUMN_THREADS]);
    fill_error(row, text[COLUMN_ERROR]);
    fill_check(row, text[COLUMN_CHECK]);
    snprintf(out->note, sizeof out->note, "%s", report_text(row, "why"));
    if (report_state(row) != CELL_OK) { /* instead of a time, whatever an older row may hold */
        snprintf(text[COLUMN_TIME], TABLE_CELL, "%s", report_text(row, "state"));
        return;
    }
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++)
        units_number(100 * percents[i].value, text[percents[i].column]);
    units_seconds(median, text[COLUMN_TIME]);
    fill_interval(row, text[COLUMN_INTERVAL]);
    units_number(number_at(row, NULL, "gflops"), text[COLUMN_GFLOPS]);
    units_number(gemm / median, text[COLUMN_GEMM]);
    fill_flags(row, text[COLUMN_FLAGS]);
    if (isfinite(launches))
        snprintf(text[COLUMN_LAUNCHES], TABLE_CELL, "%.0f", launches);
    units_seconds(number_at(row, "time", "min_s"), text[COLUMN_MIN]);
    units_seconds(number_at(row, "time", "p95_s"), text[COLUMN_P95]);
    units_number(number_at(row, NULL, "gbytes_per_s"), text[COLUMN_BYTES]);
    units_number(read_number(row, "ceiling", "read_in_place_gbytes_per_s", "read_gbytes_per_s"),
                 text[COLUMN_READ]);
    units_bytes(huge, text[COLUMN_HUGE]);
    if (huge == 0)
        snprintf(text[COLUMN_HUGE], TABLE_CELL, "none");
    units_bytes(number_at(row, NULL, "workspace_bytes"), text[COLUMN_WORKSPACE]);
}
