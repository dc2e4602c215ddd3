/*
 * examples: the parts of the experiment worked-examples.
 */
#ifndef HARNESS_EXPERIMENTS_EXAMPLES_EXAMPLES_H
#define HARNESS_EXPERIMENTS_EXAMPLES_EXAMPLES_H

#include "experiments/experiment.h"

/* The file says: printed to 4 decimals, so that a match is within 6e-5. */
#define EXAMPLES_FOUR_DECIMALS 6e-5

/* Numbers printed to 8 digits, computed from others printed to 8: each rounding is half a unit, and
 * a weight changes by less than its logits do. */
#define EXAMPLES_EIGHT_DIGITS 1e-8

/* What a float32 kernel may differ by from weights of at most 1: 8 roundings of the exponential, as
 * in the bound of every check. */
#define EXAMPLES_FLOAT32 (8 * 0x1p-24)

/*
 * A row of results: a quantity (rows, columns) of an example, "by" its definition or a kernel,
 * beside what was published, NULL where nothing was.  `decimals` is for printing.
 */
json_t *examples_row(const char *example, const char *quantity, const char *by, const double *x,
                     size_t rows, size_t columns, const json_t *published, double tolerance,
                     int decimals);

/* The largest difference from what was published, whose rows may be shorter: what follows is 0. */
double examples_difference(const double *x, size_t rows, size_t columns, const json_t *published);

/* A row of a property: ok where `worst` is at most `tolerance`. */
json_t *examples_property(const char *example, const char *property, const char *by, double worst,
                          double tolerance);

/* Rows of a seeded layer, of the printed causal softmax, and of what has shapes only. */
bool examples_layer(const json_t *step, json_t *rows, struct experiment_work *work);
bool examples_causal(const json_t *step, json_t *rows, struct experiment_work *work);
bool examples_shapes(const json_t *step, json_t *rows, struct experiment_work *work);

/* Name of an example with shapes only; NULL past the last. */
const char *examples_shape_name(size_t index);

/* Tables and finding; false where a number differs. */
bool examples_report(const json_t *rows);

#endif
