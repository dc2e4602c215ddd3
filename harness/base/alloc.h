/*
 * alloc: allocations that are remembered when they fail.
 *
 * Without memory, JSON loses a field and a statistic becomes NaN, silently.  Neither may reach a results
 * file: failures of allocations made here, and of jansson's, are remembered, and alloc_failed() is called
 * before a line is written.
 */
#ifndef HARNESS_BASE_ALLOC_H
#define HARNESS_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* Has jansson allocate here from now on.  To be called before anything else of jansson's. */
void alloc_watch(void);

/* malloc(), calloc(), realloc() and strdup() that remember a failure; a size of 0 does not give NULL. */
void *alloc_bytes(size_t bytes);
void *alloc_zeroed(size_t count, size_t size);
void *alloc_resized(void *memory, size_t bytes);
char *alloc_text(const char *text);

/* Remembers another failure, if its errno is one of missing memory or file descriptors. */
void alloc_note(int error);

/* Whether any of these has failed since the process began. */
bool alloc_failed(void);

#endif
