/*
 * worked_examples: results that public notebooks on self-attention print, compared with ours.
 *
 *   worked_rows.c     numbers beside those that were published, and properties
 *   worked_layers.c   seeded layers, from their seed to their outputs; a printed causal softmax
 *   worked_shapes.c   notebooks without a seed, by properties that hold for any numbers
 */
#pragma once

#include "experiment.h"

/* Tolerance for numbers printed to 4 decimals, which tests/data/worked-examples.json states. */
#define FOUR_DECIMALS 6e-5

/* Error allowed to a float32 kernel in weights of at most 1: 8 roundings of the exponential, as in every
 * check's bound. */
#define FLOAT32 (8 * 0x1p-24)

/* Where the rows of a step are added. */
struct worked_rows {
    const char *example;
    json_t *rows;
    struct experiment_work *work;
};

/* Adds a row for a quantity (height, width), "by" its definition or a kernel, and its difference from what
 * was published, NULL if nothing was.  It is printed with so many decimals. */
void worked_add(const struct worked_rows *w, const char *quantity, const char *by, const double *x,
                size_t height, size_t width, const json_t *published, double tolerance,
                int decimals);

/* Adds a row for a property, which is ok if `worst` is at most `tolerance`. */
void worked_add_property(const struct worked_rows *w, const char *property, const char *by,
                         double worst, double tolerance);

/* The largest difference from what was published.  Published rows may be shorter: the rest is 0. */
double worked_difference(const double *x, size_t rows, size_t columns, const json_t *published);

/* Add the rows of a published seeded layer, of a published causal softmax, and of a notebook without a seed.
 * False may fill the message. */
bool worked_layer(const struct worked_rows *w, const json_t *published);
bool worked_causal(const struct worked_rows *w, const json_t *published);
bool worked_shape(struct worked_rows w, const json_t *shape, const json_t *step);
