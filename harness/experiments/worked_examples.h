/*
 * worked_examples: what public notebooks on self-attention show, each kind in a file of its own.
 *
 *   worked_rows.c     numbers beside those that were published, and properties
 *   worked_layers.c   seeded layers, from their seed to their outputs; a printed causal softmax
 *   worked_shapes.c   notebooks without a seed, by properties that hold for any numbers
 */
#ifndef HARNESS_EXPERIMENTS_WORKED_EXAMPLES_H
#define HARNESS_EXPERIMENTS_WORKED_EXAMPLES_H

#include "experiment.h"

/* The file says: printed to 4 decimals, so that a match is within 6e-5. */
#define FOUR_DECIMALS 6e-5

/* What a float32 kernel may differ by from weights of at most 1: 8 roundings of the exponential, as
 * in the bound of every check. */
#define FLOAT32 (8 * 0x1p-24)

/* The rows of a step, as they are made. */
struct worked_rows {
    const char *example;
    json_t *rows;
    struct experiment_work *work;
};

/* A row of a quantity (height, width), "by" its definition or a kernel, beside what was published, NULL where
 * nothing was.  `decimals` is for printing. */
void worked_add(const struct worked_rows *w, const char *quantity, const char *by, const double *x,
                size_t height, size_t width, const json_t *published, double tolerance,
                int decimals);

/* A row of a property: ok where `worst` is at most `tolerance`. */
void worked_add_property(const struct worked_rows *w, const char *property, const char *by,
                         double worst, double tolerance);

/* The largest difference from what was published, whose rows may be shorter: what follows is 0. */
double worked_difference(const double *x, size_t rows, size_t columns, const json_t *published);

/* Rows of a seeded layer, of a causal softmax as they were published, and of a shape of the file; false
 * may fill the message. */
bool worked_layer(const struct worked_rows *w, const json_t *published);
bool worked_causal(const struct worked_rows *w, const json_t *published);
bool worked_shape(struct worked_rows w, const json_t *shape, const json_t *step);

#endif
