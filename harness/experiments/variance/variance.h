/*
 * variance: the parts of the experiment of that name.
 */
#ifndef HARNESS_EXPERIMENTS_VARIANCE_VARIANCE_H
#define HARNESS_EXPERIMENTS_VARIANCE_VARIANCE_H

#include <jansson.h>
#include <stdbool.h>

#include "experiments/shared/dots.h"
#include "experiments/experiment.h"
#include "experiments/shared/moments.h"

/* Moments of q.k over the first dims[c] dimensions, for each of `count` ascending dims.  The same
 * for any number of threads.  False if memory runs out. */
bool variance_dots(enum distribution distribution, uint64_t key, size_t trials, const size_t *dims,
                   size_t count, int threads, struct moments *moments);

/* A row per head of a real layer; NULL fills work->message. */
json_t *variance_real_rows(const json_t *step, struct experiment_work *work);

/* Tables and finding; false where a published number lies outside of its interval. */
bool variance_report(const json_t *rows);

#endif
