/*
 * experiment: one question about attention, and the numbers that answer it.
 *
 * An experiment is planned and reported by the parent process, which starts no thread, and
 * computed step by step by workers.  A step is a JSON object that says all a worker must know; its
 * rows go to the results file as soon as it is done, so that an interrupt costs one step.  Numbers
 * depend on the parameters and the seed alone, never on the number of threads.
 */
#ifndef HARNESS_EXPERIMENTS_EXPERIMENT_H
#define HARNESS_EXPERIMENTS_EXPERIMENT_H

#include <jansson.h>

#include "parameters.h"

struct machine;

/* What a worker lends to the computation of a step. */
struct experiment_work {
    int threads;
    const struct machine *machine; /* bound to */
    char message[256];             /* why there are no rows */
};

struct experiment {
    const char *name;
    const char *question, *method, *source; /* for --help */
    const struct parameter *parameters;     /* its own; the last has a NULL name */

    /* Whether texts that are parameters make sense; false fills message.  Optional. */
    bool (*accepts)(const json_t *asked, char *message, size_t message_size);

    /* Whether what it needs beside the program is there; false fills message.  Optional. */
    bool (*ready)(char *message, size_t message_size);

    /* Sets what the next worker finds in its environment, by the name of its kernel; NULL: no longer.
     * Optional, where steps are cells to measure. */
    void (*environment)(const char *kernel);

    /* The steps, an array of objects; NULL fills message. */
    json_t *(*plan)(const json_t *asked, char *message, size_t message_size);

    /* The rows of a step, an array of {"params", "values"}; NULL fills work->message.  Absent where
     * steps are cells to measure (measured.h). */
    json_t *(*compute)(const json_t *step, struct experiment_work *work);

    /* Prints tables and the finding.  False where a number differs from one that is known. */
    bool (*report)(const json_t *rows);
};

/* By its place in the list; NULL past the last one.  By name; NULL where there is none. */
const struct experiment *experiment_at(size_t index);
const struct experiment *experiment_find(const char *name);

/* What a step is about: its texts and numbers, without its lists. */
void experiment_label(const json_t *step, char *text, size_t size);

/* Whether the words of the parameter "parts" have `part` among them. */
bool experiment_wants(const json_t *asked, const char *part);

/* Sets what `from` has of these keys, which end with NULL, in `to`. */
void experiment_take(json_t *to, const json_t *from, const char *const *keys);

/* The rows whose parameter "part" is `name`, every row where that is NULL:
 *     struct experiment_part part = {.rows = rows, .name = "sweep"};
 *     while (experiment_part_next(&part))
 *         part.params, part.values */
struct experiment_part {
    const json_t *rows;
    const char *name;
    size_t next;
    const json_t *params, *values;
};
bool experiment_part_next(struct experiment_part *part);

/* Number `index` of an array in an object, and a number of an object: NaN where it has none. */
double experiment_at_number(const json_t *object, const char *key, size_t index);
double experiment_number(const json_t *object, const char *key);
const char *experiment_text(const json_t *object, const char *key);

/* {"params", "values"}; steals both. */
json_t *experiment_row(json_t *params, json_t *values);

/* An array of numbers; null where one is not finite. */
json_t *experiment_numbers(const double *x, size_t n);

#endif
