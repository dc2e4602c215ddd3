/*
 * launch_ceilings: the ceilings measured beside the samples of a launch.
 */
#ifndef HARNESS_WORKER_LAUNCH_CEILINGS_H
#define HARNESS_WORKER_LAUNCH_CEILINGS_H

#include "answer.h"
#include "problem/tensors.h"

#define LAUNCH_CEILINGS_S 0.004 /* for each */

struct bench_disturbance;

/* "ceiling" of the answer: what the machine could do during a launch whose samples have this median. */
json_t *worker_launch_ceilings(const struct worker *worker, const struct tensor_set *sets,
                               const struct bench_disturbance *disturbance, double median_s);

#endif
