/*
 * time: where the time of a layer goes.
 */
#ifndef HARNESS_EXPERIMENTS_LAYER_TIME_H
#define HARNESS_EXPERIMENTS_LAYER_TIME_H

#include <jansson.h>

#include "experiments/shared/layer_call.h"

/* Median seconds of projections, attention and output projection, timed in turns `rounds` times after
 * one call, and the share of attention with its interval: the values of a row.  NULL if memory runs
 * out. */
json_t *layer_time(const struct layer_call *call, const struct attn_self_attention_tensors *tensors,
                   size_t rounds);

#endif
