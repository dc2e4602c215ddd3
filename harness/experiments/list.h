/*
 * list: every experiment, one file each.
 */
#ifndef HARNESS_EXPERIMENTS_LIST_H
#define HARNESS_EXPERIMENTS_LIST_H

#include "experiment.h"

extern const struct experiment experiment_variance;
extern const struct experiment experiment_softmax;
extern const struct experiment experiment_saturation;
extern const struct experiment experiment_examples;
extern const struct experiment experiment_error_growth;
extern const struct experiment experiment_overflow;
extern const struct experiment experiment_rescale;
extern const struct experiment experiment_exp_degree;
extern const struct experiment experiment_memory;
extern const struct experiment experiment_invariance;
extern const struct experiment experiment_layer;
extern const struct experiment experiment_linear;
extern const struct experiment experiment_scaling;
extern const struct experiment experiment_tiles;
extern const struct experiment experiment_layouts;
extern const struct experiment experiment_words;
extern const struct experiment experiment_distributed;

#endif
