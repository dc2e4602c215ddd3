/*
 * published: numbers that other people's notebooks printed, as data (tests/data/worked-examples.json).
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_PUBLISHED_H
#define HARNESS_EXPERIMENTS_SHARED_PUBLISHED_H

#include "experiments/experiment.h"

/* Whether the file is there; false fills message. */
bool published_ready(char *message, size_t message_size);

/* One of its objects, or all of it if name is NULL; owned by the caller.  NULL fills work->message, if work
 * is not NULL. */
json_t *published_load(const char *name, struct experiment_work *work);

#endif
