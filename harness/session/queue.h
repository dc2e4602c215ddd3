/*
 * queue: sessions that measure on one machine take turns.
 */
#ifndef HARNESS_SESSION_QUEUE_H
#define HARNESS_SESSION_QUEUE_H

#include <stdbool.h>

#include "base/lock.h"

enum if_busy { IF_BUSY_WAIT, IF_BUSY_GO_ON };

/* Takes the machine's lock.  If another session holds it, prints which, then waits or goes on without it, by
 * if_busy.  *alone: whether the lock was taken.  False: interrupted. */
bool queue_enter(struct lock *lock, const char *command, enum if_busy if_busy, bool *alone);

#endif
