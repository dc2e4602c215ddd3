/*
 * lock: one session per machine, because two that measure at once disturb each other.
 *
 * The lock is an flock(2) on a file that all users of the machine share, so that it is released when its
 * owner ends.  The file's text names the owner.
 */
#pragma once

#include <stddef.h>

struct lock {
    int fd; /* -1 where not held */
};

enum lock_state {
    LOCK_TAKEN,
    LOCK_HELD,    /* by somebody else */
    LOCK_UNUSABLE /* the file cannot be opened */
};

/* The file of this machine: in /run/lock, or in /tmp where that does not exist. */
const char *lock_path(void);

/* Takes the lock if it is free and writes "PID COMMAND" into it; returns at once.  Otherwise `text`
 * says in one line who holds it (process number and command), or what is wrong with the file. */
enum lock_state lock_try(struct lock *lock, const char *path, const char *command, char *text,
                         size_t size);

/* Releases the lock; does nothing where it is not held. */
void lock_release(struct lock *lock);
