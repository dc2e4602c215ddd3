/*
 * real: the tensors of a transformer that come with the program (tests/data/README.md).
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_REAL_H
#define HARNESS_EXPERIMENTS_SHARED_REAL_H

#include "experiments/experiment.h"

/* Layers that there are; the last has a NULL file. */
struct real_name {
    const char *file, *prefix;
};
extern const struct real_name real_layers[];

/* A copy of `base` with file and prefix of each; steals it. */
void real_steps(json_t *steps, json_t *base);

/* Q and K of a layer, (heads, len, dim) each. */
struct real_layer {
    size_t heads, len, dim;
    float *q, *k;
};

/* That of a step, in memory of the step; false fills work->message. */
bool real_open(struct real_layer *layer, const json_t *step, struct experiment_work *work);

/* Parameters of a row of its head `h`: those of the step, head, d, and its length by this name. */
json_t *real_params(const json_t *step, const struct real_layer *layer, size_t h,
                    const char *length);

#endif
