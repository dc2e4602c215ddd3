/*
 * parts: of experiments, what can be known beforehand and is tested by itself.
 */
#ifndef HARNESS_EXPERIMENTS_PARTS_H
#define HARNESS_EXPERIMENTS_PARTS_H

#include <stddef.h>
#include <stdint.h>

/* rescale: blocks of n logits, except the first, that raise the maximum kept so far by more than `threshold`
 * powers of 2. */
size_t rescale_count(const float *x, size_t n, size_t block, double threshold);

/* rescale: n logits, "normal", or the same times 16 and sorted, "ascending" or "descending". */
void rescale_draw(const char *input, float *x, size_t n, uint64_t key);

#endif
