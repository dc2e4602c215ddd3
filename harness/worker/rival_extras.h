/*
 * rival_extras: the numbers that a program gives beside its times (docs/protocol.md).
 */
#ifndef HARNESS_WORKER_RIVAL_EXTRAS_H
#define HARNESS_WORKER_RIVAL_EXTRAS_H

#include <jansson.h>

#define RIVAL_EXTRAS 32
#define RIVAL_NAME 32 /* bytes of a name */

struct rival_extras {
    struct rival_extra {
        char name[RIVAL_NAME];
        double sum, calls; /* each answer's counts as often as it has calls */
    } item[RIVAL_EXTRAS];
    size_t count;
};

/* Adds "extra" of an answer to so many calls; the name of what is no number, or one too many; NULL: none is. */
const char *rival_extras_add(struct rival_extras *extras, json_t *extra, double calls);

/* An object with the mean of each over the calls; NULL where there are none. */
json_t *rival_extras_means(const struct rival_extras *extras);

#endif
