/*
 * program_extras: the numbers that a program gives beside its times (docs/protocol.md).
 */
#ifndef HARNESS_WORKER_PROGRAM_EXTRAS_H
#define HARNESS_WORKER_PROGRAM_EXTRAS_H

#include <jansson.h>

#define PROGRAM_EXTRAS 32
#define PROGRAM_NAME 32 /* bytes of a name */

struct program_extras {
    struct program_extra {
        char name[PROGRAM_NAME];
        double sum, calls; /* each answer's counts as often as it has calls */
    } item[PROGRAM_EXTRAS];
    size_t count;
};

/* Adds "extra" of an answer to so many calls; the name of what is no number, or one too many; NULL: none
 * is. */
const char *program_extras_add(struct program_extras *extras, json_t *extra, double calls);

/* An object with the mean of each over the calls; NULL where there are none. */
json_t *program_extras_means(const struct program_extras *extras);

#endif
