/*
 * list: every experiment, one file each.
 */
#ifndef HARNESS_EXPERIMENTS_LIST_H
#define HARNESS_EXPERIMENTS_LIST_H

#include "experiments/experiment.h"

extern const struct experiment experiment_variance;
extern const struct experiment experiment_softmax;
extern const struct experiment experiment_saturation;
extern const struct experiment experiment_examples;

#endif
