/*
 * experiment: one question about attention, and the numbers that answer it.
 *
 * The parent process, which starts no thread, plans and reports an experiment; workers compute it step by
 * step. A step is a JSON object with everything that a worker must know.  Its rows go to the results file as
 * soon as it is done, so that an interrupt costs one step.  Numbers depend on the parameters and the seed
 * alone, not on the number of threads.  An experiment about time or memory is a session of `attnbench run`
 * instead, with options from the experiment.
 */
#pragma once

#include <jansson.h>

#include "attention.h"
#include "base/members.h"
#include "base/number.h"
#include "session/options.h"

/* What a worker lends to the computation of a step. */
struct experiment_work {
    int threads;
    char message[256]; /* why a step failed: "out of memory" unless it says otherwise */
    void **memory;     /* what experiment_alloc() returned: `blocks` pointers */
    size_t blocks;
};

/* An experiment that workers compute. */
struct calculation {
    const struct option *parameters; /* its own; the last has a NULL name */

    /* Whether text parameters are valid, as defaults must be; false fills message.  Optional. */
    bool (*accepts)(const json_t *asked, struct message message);

    /* Whether the files that it needs exist; false fills message.  Optional. */
    bool (*ready)(struct message message);

    /* Adds the steps for the parameters. */
    void (*plan)(const json_t *asked, json_t *steps);

    /* Adds the rows of a step, {"params", "values"}; false may fill work->message. */
    bool (*compute)(const json_t *step, json_t *rows, struct experiment_work *work);

    /* Prints tables and the finding.  False if a number differs from its known value. */
    bool (*report)(const json_t *rows);
};

/* An entry of experiments.json. */
struct experiment {
    const char *name;
    const char *question, *method, *source;
    const struct calculation
        *calculation; /* NULL: the options below are a session of `attnbench run` */

    /* Default options of that session, one word each, and those with --quick; plug-ins that lie beside the
     * program, each with its arguments in one string.  Each list ends with NULL. */
    const char *const *run, *const *quick, *const *beside;
};

/* The experiment by its number, NULL past the last one; and by its name, NULL if there is none. */
const struct experiment *experiment_at(size_t index);
const struct experiment *experiment_find(const char *name);

/* ---- parameters of several experiments ------------------------------------------------------- */

/* The values of an option `dtypes`: f32, bf16, f16; and the type that a step's "dtype" names. */
extern const char *const experiment_dtypes[];
enum attn_dtype experiment_dtype(const json_t *step);

/* ---- steps ----------------------------------------------------------------------------------- */

/* A step's label for progress: its texts and numbers, without its lists. */
void experiment_label(const json_t *step, char *text, size_t size);

/* Whether the words of the parameter "parts" include `part`. */
bool experiment_wants(const json_t *asked, const char *part);

/* Adds a copy of `base`, which is stolen, for each combination of values of the axes, the last one fastest.  An
 * axis is "input=inputs", a step's key and the list asked for, or "kernel" alone, whose values are the words up to
 * NULL. */
void experiment_steps(json_t *steps, json_t *base, const json_t *asked, const char *axes,
                      const char *const *words);

/* ---- computing ------------------------------------------------------------------------------- */

/* `count` elements of `size` bytes, zeroed, freed after the step; NULL if memory runs out. */
void *experiment_alloc(struct experiment_work *work, size_t count, size_t size);
void experiment_free(struct experiment_work *work);

/* Fills the message; returns false. */
__attribute__((format(printf, 2, 3))) bool experiment_fail(struct experiment_work *work,
                                                           const char *format, ...);

/* Computes `count` blocks on all threads, each thread with `scratch` bytes of its own.  A block must depend
 * on its index alone.  False if memory runs out. */
typedef void experiment_block(void *context, size_t index, void *scratch);
bool experiment_blocks(size_t count, int threads, size_t scratch, experiment_block *compute,
                       void *context);

/* The larger of two differences; NaN if either is NaN. */
double experiment_larger(double worst, double x);

/* ---- numbers printed in public notebooks (tests/data/worked-examples.json) ------------------- */

/* Whether the file is there; false fills message. */
bool experiment_published_ready(struct message message);

/* An object of the file, or the whole file if name is NULL; owned by the caller.  NULL fills work->message,
 * if work is not NULL. */
json_t *experiment_published(const char *name, struct experiment_work *work);

/* ---- rows ------------------------------------------------------------------------------------ */

/* Copies the keys, separated by spaces, that `from` has to `to`; returns `to`. */
json_t *experiment_pick(json_t *to, const json_t *from, const char *keys);

/* Adds {"params", "values"}; steals both. */
void experiment_add(json_t *rows, json_t *params, json_t *values);

/* An object of numbers by name; the list ends with a NULL key.  Numbers that are not finite become null. */
struct experiment_value {
    const char *key;
    double x;
};
json_t *experiment_values(const struct experiment_value *values);

/* An array of the two ends of a range. */
json_t *experiment_range(double lo, double hi);

/* Iterates over the rows that have these parameters or values, over every row if `where` is NULL:
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

/* The number of such rows, and how many of them have no number under the key; the first value, NaN without a
 * row; the smallest and the largest, infinite if none is a number. */
struct experiment_extent {
    size_t rows, missing;
    double first, least, most;
};
struct experiment_extent experiment_extent(const json_t *rows, const char *where, const char *key);
size_t experiment_where(const json_t *rows, const char *where);

/* Element `index` of an array in an object; NaN if absent. */
double experiment_at_number(const json_t *object, const char *key, size_t index);

/* A whole number in an object, 0 if absent; whether the string under the key is `text`. */
size_t experiment_count(const json_t *object, const char *key);
bool experiment_is(const json_t *object, const char *key, const char *text);

/* Copies a list of whole numbers, at most `capacity`, into x; returns how many. */
size_t experiment_counts(const json_t *object, const char *key, size_t *x, size_t capacity);

/* Prints the rows that have these parameters or values, every row if `where` is NULL, as a table under a
 * heading; keys are its columns, separated by spaces.  If it is too wide, columns whose keys end in a
 * question mark are left out and named below, and texts of the first column become lines above their rows.
 * Without rows nothing is printed. */
void experiment_list(const json_t *rows, const char *where, const char *keys, const char *heading);
