/*
 * draw: vectors of independent elements of a distribution of dots.h.
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_DRAW_H
#define HARNESS_EXPERIMENTS_SHARED_DRAW_H

#include "dots.h"

/* Elements [first, first + n) of a stream. */
void draw_elements(enum distribution distribution, float *x, size_t n, uint64_t key,
                   uint64_t first);

#endif
