/*
 * published: numbers that other people's notebooks printed, as data (tests/data/worked-examples.json).
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_PUBLISHED_H
#define HARNESS_EXPERIMENTS_SHARED_PUBLISHED_H

#include <jansson.h>

/* One of the file's objects, or with a NULL name the whole file; owned by the caller.  NULL fills
 * message. */
json_t *published_load(const char *name, char *message, size_t message_size);

#endif
