/*
 * layer_real: a transformer's own layer, loaded from its file.
 */
#ifndef HARNESS_EXPERIMENTS_LAYER_REAL_H
#define HARNESS_EXPERIMENTS_LAYER_REAL_H

#include "experiments/experiment.h"

/* A row per kernel: how far its output is from the model's.  NULL fills work->message. */
json_t *layer_real_rows(struct experiment_work *work);

#endif
