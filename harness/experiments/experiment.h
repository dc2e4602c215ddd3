/*
 * experiment: one question about attention, and the numbers that answer it.
 *
 * An experiment is planned and reported by the parent process, which starts no thread, and
 * computed step by step by workers.  A step is a JSON object with all that a worker must know; its
 * rows go to the results file as soon as it is done, so that an interrupt costs one step.  Numbers
 * depend on the parameters and the seed alone, never on the number of threads.  An experiment about time
 * or memory is a session of `attnbench run` instead, with cells that the experiment chooses.
 */
#ifndef HARNESS_EXPERIMENTS_EXPERIMENT_H
#define HARNESS_EXPERIMENTS_EXPERIMENT_H

#include <jansson.h>

#include "attention.h"
#include "base/number.h"
#include "session/options.h"

/* What a worker lends to the computation of a step. */
struct experiment_work {
    int threads;
    char message[256]; /* why a step failed: "out of memory" unless it says otherwise */
    void **memory;     /* of experiment_alloc() */
    size_t blocks;
};

/* An experiment that a worker computes. */
struct calculation {
    const struct option *parameters; /* its own; the last has a NULL name */

    /* Whether text parameters are valid; false fills message.  Optional. */
    bool (*accepts)(const json_t *asked, char *message, size_t message_size);

    /* Whether the files that it needs exist; false fills message.  Optional. */
    bool (*ready)(char *message, size_t message_size);

    /* Adds the steps. */
    void (*plan)(const json_t *asked, json_t *steps);

    /* Adds the rows of a step, {"params", "values"}; false may fill work->message. */
    bool (*compute)(const json_t *step, json_t *rows, struct experiment_work *work);

    /* Prints tables and the finding.  False if a number differs from its known value. */
    bool (*report)(const json_t *rows);
};

/* As experiments.json has it. */
struct experiment {
    const char *name;
    const char *question, *method, *source;
    const struct calculation
        *calculation; /* NULL: the options below are a session of `attnbench run` */

    /* Defaults of that command's options, one word each, and those for --quick; plug-ins are files beside the
     * program, each in one word with its arguments.  The last of each is NULL. */
    const char *const *run, *const *quick, *const *beside;
};

/* By its place in the list; NULL past the last one.  By name; NULL where there is none. */
const struct experiment *experiment_at(size_t index);
const struct experiment *experiment_find(const char *name);

/* ---- parameters of several experiments ------------------------------------------------------- */

/* Types of operands and results, f32, bf16 and f16, for an option `dtypes`; and that of a step's "dtype". */
extern const char *const experiment_dtypes[];
enum attn_dtype experiment_dtype(const json_t *step);

/* ---- steps ----------------------------------------------------------------------------------- */

/* What a step is about: its texts and numbers, without its lists. */
void experiment_label(const json_t *step, char *text, size_t size);

/* Whether the words of the parameter "parts" include `part`. */
bool experiment_wants(const json_t *asked, const char *part);

/* The values that a key of a step takes: an array, or words, which end with NULL. */
struct experiment_axis {
    const char *key;
    const json_t *values;
    const char *const *words;
};

/* Adds a copy of `base` for each combination of values, the last axis fastest; axes end with a NULL key.
 * Steals base. */
void experiment_steps(json_t *steps, json_t *base, const struct experiment_axis *axes);

/* ---- computing ------------------------------------------------------------------------------- */

/* `count` zeros of `size` bytes, which are freed behind the step; NULL if memory runs out. */
void *experiment_alloc(struct experiment_work *work, size_t count, size_t size);
void experiment_free(struct experiment_work *work);

/* Fills the message; returns false. */
__attribute__((format(printf, 2, 3))) bool experiment_fail(struct experiment_work *work,
                                                           const char *format, ...);

/* Computes `count` blocks on all threads, each thread with scratch of so many bytes.  A block must depend on
 * its index alone.  False if memory runs out. */
typedef void experiment_block(void *context, size_t index, void *scratch);
bool experiment_blocks(size_t count, int threads, size_t scratch, experiment_block *compute,
                       void *context);

/* The larger of two differences; NaN stays. */
double experiment_larger(double worst, double x);

/* ---- numbers that other people's notebooks printed (tests/data/worked-examples.json) --------- */

/* Whether the file is there; false fills message. */
bool experiment_published_ready(char *message, size_t message_size);

/* One of its objects, or all of it if name is NULL; owned by the caller.  NULL fills work->message, if work
 * is not NULL. */
json_t *experiment_published(const char *name, struct experiment_work *work);

/* ---- rows ------------------------------------------------------------------------------------ */

/* Copies these keys, a space between, from `from` to `to`, where present; returns `to`. */
json_t *experiment_pick(json_t *to, const json_t *from, const char *keys);

/* Adds {"params", "values"}; steals both. */
void experiment_add(json_t *rows, json_t *params, json_t *values);

/* Numbers by name, which end with a NULL key; null where one is not finite. */
struct experiment_value {
    const char *key;
    double x;
};
json_t *experiment_values(const struct experiment_value *values);

/* Arrays of numbers, null where one is not finite: n of them, and the ends of a range. */
json_t *experiment_numbers(const double *x, size_t n);
json_t *experiment_range(double lo, double hi);

/* The rows that have these parameters or values, every row where that is NULL:
 *     struct experiment_part part = {.rows = rows, .where = "part=sweep input=normal d=4"};
 *     while (experiment_part_next(&part))
 *         part.params, part.values */
struct experiment_part {
    const json_t *rows;
    const char *where;
    size_t next;
    const json_t *params, *values;
};
bool experiment_part_next(struct experiment_part *part);

/* How many such rows there are, and how many of their values of that key are no numbers; the first value, NaN
 * without a row; the least and the most, infinite where none is a number. */
struct experiment_extent {
    size_t rows, missing;
    double first, least, most;
};
struct experiment_extent experiment_extent(const json_t *rows, const char *where, const char *key);
size_t experiment_where(const json_t *rows, const char *where);

/* Number `index` of an array in an object, and a number of an object: NaN if absent. */
double experiment_at_number(const json_t *object, const char *key, size_t index);
double experiment_number(const json_t *object, const char *key);

/* A whole number, 0 if absent; whether a text is `text`. */
size_t experiment_count(const json_t *object, const char *key);
bool experiment_is(const json_t *object, const char *key, const char *text);

/* A list of whole numbers into x, at most `capacity`; returns how many. */
size_t experiment_counts(const json_t *object, const char *key, size_t *x, size_t capacity);

/* Prints the rows that have these parameters or values, every row where that is NULL, under a heading: a
 * column for each key, a space between, of their values or parameters.  Where the table is too wide, columns
 * whose keys end in a question mark are left out and named below it, and texts of the first column become
 * lines above their rows.  Nothing is printed without rows. */
void experiment_list(const json_t *rows, const char *where, const char *keys, const char *heading);

#endif
