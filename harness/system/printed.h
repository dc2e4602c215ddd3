/*
 * printed: what a child prints, taken from its pipe.
 *
 * The pipe is read whenever something is in it, so that the child never waits for room, and only
 * the end is kept, so that it never fills the memory.
 */
#ifndef HARNESS_SYSTEM_PRINTED_H
#define HARNESS_SYSTEM_PRINTED_H

#include <stddef.h>

#define PRINTED_KEPT 4096 /* bytes */

struct printed {
    int fd;       /* does not block; -1 once it has ended */
    size_t bytes; /* in all */
    char last[PRINTED_KEPT];
};

/* Takes what is in the pipe; closes it at its end. */
void printed_read(struct printed *printed);

/* The last PRINTED_KEPT bytes, fit for a terminal and for JSON (base/printable.h), behind a note of
 * how many came before them; NULL where nothing was printed.  free() it. */
char *printed_text(const struct printed *printed);

#endif
