/*
 * ranks_start: starting ranks by mpiexec.
 */
#ifndef HARNESS_WORKER_RANKS_START_H
#define HARNESS_WORKER_RANKS_START_H

#include "answer.h"
#include "system/conversation.h"

/* Whether ranks can be started here; false fills why. */
bool ranks_available(char *why, size_t why_size);

/* Starts those of the request; NULL fills why.  The first line that they say is theirs, rank.c. */
struct conversation *ranks_start(const struct worker *worker, char *why, size_t why_size);

#endif
