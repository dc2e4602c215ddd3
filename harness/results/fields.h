/*
 * fields: the table of a row's fields: the JSON object and name of each, and for numbers the unit and how
 * they are computed from a cell's launches.
 *
 * row.c writes the fields, tables print them.  A new number is a line here, a definition in
 * results/schema.json, which a test compares with this list, and a column in report_columns.c if a table
 * shows it.
 */
#pragma once

#include "base/stats_launches.h"
#include "base/units.h"
#include "cell.h"

enum field_unit {
    UNIT_SECONDS,
    UNIT_BYTES,
    UNIT_SHARE, /* tables: percent */
    UNIT_RATE,  /* 1e9 a second */
    UNIT_COUNT,
    UNIT_FLOPS,
    UNIT_RATIO
};

/*
 * F(constant, object of the row or NULL, name, unit, meaning, how it is computed), the last one of
 *
 *   MEDIAN              median of the launches' numbers of this name; EACH: of each element of an array
 *   WORK(m)             m of struct attn_work: flops or bytes of a call
 *   RATE(m)             WORK(m) over the median time
 *   SHARE(m, ceiling)   median over launches of the rate over the ceiling measured in the same launch
 *   STATISTIC(m)        m of struct stats_launches
 *   ELSEWHERE           row.c computes it
 */
#define FIELDS(F)                                                                                  \
    F(MEDIAN, "time", "median_s", SECONDS,                                                         \
      "time of a call: median over launches (processes) of their medians", STATISTIC(median))      \
    F(MIN, "time", "min_s", SECONDS, "the fastest sample", STATISTIC(min))                         \
    F(P05, "time", "p05_s", SECONDS, "5 % of the samples are at most this", STATISTIC(p05))        \
    F(P95, "time", "p95_s", SECONDS, "95 % of the samples are at most this", STATISTIC(p95))       \
    F(LAUNCHES, "time", "launches", COUNT, "launches (processes) that the median is taken over",   \
      ELSEWHERE)                                                                                   \
    F(CALLS_PER_SAMPLE, "time", "calls_per_sample", COUNT, "calls in the loop that is one sample", \
      MEDIAN)                                                                                      \
    F(SAMPLES, "time", "samples", COUNT, "samples of all launches", ELSEWHERE)                     \
    F(SPREAD_WITHIN, "time", "spread_within", SHARE,                                               \
      "relative standard deviation of samples within a launch", STATISTIC(spread_within))          \
    F(SPREAD_BETWEEN, "time", "spread_between", SHARE,                                             \
      "relative standard deviation of launches beyond what their samples explain",                 \
      STATISTIC(spread_between))                                                                   \
    F(SHARE_BETWEEN, "time", "share_between", SHARE,                                               \
      "share of the variance of samples that lies between launches", STATISTIC(share_between))     \
    F(DESIGN_EFFECT, "time", "design_effect", RATIO,                                               \
      "by which the variance of the mean exceeds that of as many independent samples",             \
      STATISTIC(design_effect))                                                                    \
    F(DEPENDENCE, "time", "dependence", RATIO,                                                     \
      "estimated correlation of neighbouring launches, which the interval takes into account",     \
      ELSEWHERE)                                                                                   \
    F(WORKSPACE, NULL, "workspace_bytes", BYTES, "scratch memory of the kernel", MEDIAN)           \
    F(PEAK_RSS, NULL, "peak_rss_bytes", BYTES, "the most memory that a worker had", MEDIAN)        \
    F(HUGE, NULL, "huge_bytes", BYTES,                                                             \
      "operands, results and workspace on huge pages, where these were asked for", MEDIAN)         \
    F(CEILING_FMA, "ceiling", "fma_gflops", RATE,                                                  \
      "multiply-add rate of the variant's instruction set, measured in the same processes",        \
      MEDIAN)                                                                                      \
    F(CEILING_FROM_L1, "ceiling", "fma_from_l1_gflops", RATE,                                      \
      "multiply-add rate with operands from the first-level cache, as a GEMM has them", MEDIAN)    \
    F(CEILING_READ, "ceiling", "read_gbytes_per_s", RATE,                                          \
      "read bandwidth, of huge pages where the system has them", MEDIAN)                           \
    F(CEILING_READ_IN_PLACE, "ceiling", "read_in_place_gbytes_per_s", RATE,                        \
      "read bandwidth of K and V on the pages that they lie on", MEDIAN)                           \
    F(PREPARE, NULL, "prepare_s", SECONDS, "what the kernel does once before calls", MEDIAN)       \
    F(BUSY, NULL, "busy_s", SECONDS, "how long threads worked in a call beside the timed ones",    \
      MEDIAN)                                                                                      \
    F(BARRIER, NULL, "barrier_s", SECONDS, "how long threads waited for others in that call",      \
      MEDIAN)                                                                                      \
    F(USEFUL_FLOPS, NULL, "useful_flops", FLOPS,                                                   \
      "of a call: 2 (D + Dv) for each pair of a query and a key that it sees", WORK(flops))        \
    F(COMPULSORY_BYTES, NULL, "compulsory_bytes", BYTES,                                           \
      "operands and results of a call, each once", WORK(bytes))                                    \
    F(GFLOPS, NULL, "gflops", RATE,                                                                \
      "useful work over time; masked keys and recomputation do not count", RATE(flops))            \
    F(GBYTES, NULL, "gbytes_per_s", RATE, "bytes of operands and results, each once, over time",   \
      RATE(bytes))                                                                                 \
    F(OF_FMA, NULL, "fraction_of_fma", SHARE,                                                      \
      "share of the multiply-add rate, measured in the same processes",                            \
      SHARE(flops, "fma_gflops"))                                                                  \
    F(OF_MACHINE, NULL, "fraction_of_machine", SHARE,                                              \
      "share of the best multiply-add rate of this host for the data type",                        \
      SHARE(flops, "fma_host_gflops"))                                                             \
    F(OF_READ, NULL, "fraction_of_bandwidth", SHARE,                                               \
      "share of the read bandwidth, ceiling.read_gbytes_per_s", SHARE(bytes, "read_gbytes_per_s")) \
    F(OF_READ_IN_PLACE, NULL, "fraction_of_bandwidth_in_place", SHARE,                             \
      "share of the read bandwidth of K and V where they lie",                                     \
      SHARE(bytes, "read_in_place_gbytes_per_s"))                                                  \
    F(INTENSITY, NULL, "intensity_flop_per_byte", RATIO, "useful flops over compulsory bytes",     \
      ELSEWHERE)                                                                                   \
    F(OF_ROOFLINE, NULL, "fraction_of_roofline", SHARE,                                            \
      "share of the rate that the nearer limit allows by the roofline model", ELSEWHERE)           \
    F(THREAD_BUSY, NULL, "thread_busy_s", SECONDS, "how long each thread worked in a call", EACH)  \
    F(THREAD_BARRIER, NULL, "thread_barrier_s", SECONDS,                                           \
      "how long each thread waited for others in a call", EACH)                                    \
    F(MEMORY_LIMIT, NULL, "memory_limit_bytes", BYTES, "private memory that a worker may have",    \
      ELSEWHERE)                                                                                   \
    F(MAX_ABS_ERROR, "check", "max_abs_error", RATIO, "largest difference from the reference",     \
      ELSEWHERE)                                                                                   \
    F(ERROR_OVER_BOUND, "check", "error_over_bound", RATIO,                                        \
      "largest error divided by its bound; above 1 the kernel fails", ELSEWHERE)

/* Other fields that are read from rows: F(constant, object of the row or NULL, name). */
#define FIELDS_BESIDE(F)                   \
    F(THREADS, NULL, "threads")            \
    F(STATE, NULL, "state")                \
    F(WHY, NULL, "why")                    \
    F(FAILED_AT, NULL, "failed_at")        \
    F(CHOSEN, NULL, "chosen")              \
    F(LIBRARY, NULL, "library")            \
    F(FLAGS, NULL, "flags")                \
    F(BOUND_BY, NULL, "bound_by")          \
    F(IN_PLACE, NULL, "memory_in_place")   \
    F(INTERVAL, "time", "ci95_s")          \
    F(MEDIANS, "time", "launch_medians_s") \
    F(CHECK, NULL, "check")                \
    F(CHECK_DEPTH, "check", "depth")       \
    F(CHECK_THREADS, "check", "threads")   \
    F(BLAS_CORE, "blas", "core")           \
    F(BLAS_TRIED, "blas", "tried_s")

#define FIELD_CONSTANT(constant, ...) FIELD_##constant,
enum field {
    FIELD_NONE,
    FIELDS(FIELD_CONSTANT) FIELD_COUNT,
    FIELDS_BESIDE(FIELD_CONSTANT) FIELD_END
};
#undef FIELD_CONSTANT

/* A field is the member field_name() of the row's object field_object(); NULL: of the row itself. */
const char *field_object(enum field field);
const char *field_name(enum field field);

/* "s", "bytes", "share", ...; one line on what the number means. */
const char *field_unit(enum field field);
const char *field_meaning(enum field field);

/* The field of a finished row: as JSON, NULL if absent; as a number, NaN if it is none; as a text, "" if it
 * is none. */
json_t *field_json(const json_t *row, enum field field);
double field_of(const json_t *row, enum field field);
const char *field_word(const json_t *row, enum field field);

/* Adds the numbers that are computed from launches to `to`, which is the row's object of this name, or the
 * row itself if it is NULL.  `statistics` NULL: there are none. */
void fields_add(const struct cell *cell, const char *object,
                const struct stats_launches *statistics, json_t *to);

/* Formats a row's number as in tables; "" if it has none. */
void field_text(const json_t *row, enum field field, char text[UNITS_TEXT]);
