/*
 * printed: the output of a child, from a pipe.
 *
 * The pipe is read whenever it has data, so that the child never blocks, and only the end of the output is
 * kept, so that it cannot fill the memory.
 */
#pragma once

#include <stddef.h>

#define PRINTED_KEPT 4096 /* bytes */

struct printed {
    int fd;       /* non-blocking; -1 after the end */
    size_t bytes; /* read in all */
    char last[PRINTED_KEPT];
};

/* Reads what is in the pipe; closes it at the end of the output. */
void printed_read(struct printed *printed);

/* The last PRINTED_KEPT bytes, printable (base/printable.h), after a note about how many came before them;
 * NULL: no output.  free() it. */
char *printed_text(const struct printed *printed);
