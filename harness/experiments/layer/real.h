/*
 * real: a layer that somebody trained, loaded from its file.
 */
#ifndef HARNESS_EXPERIMENTS_LAYER_REAL_H
#define HARNESS_EXPERIMENTS_LAYER_REAL_H

#include "experiments/experiment.h"

/* A row per kernel: how far its output is from the file's, and where its time goes.  NULL fills
 * work->message. */
json_t *layer_real_rows(const json_t *step, struct experiment_work *work);

/* The table; false where an output differs by more than rounding explains. */
bool layer_real_report(const json_t *rows);

#endif
