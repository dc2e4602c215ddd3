/*
 * rescale: the parts of the experiment of that name.
 */
#ifndef HARNESS_EXPERIMENTS_RESCALE_RESCALE_H
#define HARNESS_EXPERIMENTS_RESCALE_RESCALE_H

#include "experiments/experiment.h"

#include <stdint.h>

/* Blocks of n logits, except the first, that raise the maximum kept so far by more than `threshold`
 * powers of 2. */
size_t rescale_count(const float *x, size_t n, size_t block, double threshold);

/* n logits: "normal", or the same times 16 and sorted, "ascending" or "descending". */
void rescale_draw(const char *input, float *x, size_t n, uint64_t key);

/* Rows of one kernel's times. */
json_t *rescale_time(const json_t *step, struct experiment_work *work);

/* Tables and finding. */
bool rescale_report(const json_t *rows);

#endif
