/*
 * alloc: allocations of a process that must not write down half of what it knows.
 *
 * Where memory is missing, JSON loses a field and a statistic becomes NaN, without a word.  Neither may
 * reach a results file: what was allocated here, as statistics do, and whatever jansson allocates, is
 * remembered as missing, and whoever writes a line asks first.
 */
#ifndef HARNESS_BASE_ALLOC_H
#define HARNESS_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* Has jansson allocate here from now on.  To be called before anything else of jansson's. */
void alloc_watch(void);

/* malloc(), calloc(), realloc() and strdup() that remember; NULL never means that nothing was asked for. */
void *alloc_bytes(size_t bytes);
void *alloc_zeroed(size_t count, size_t size);
void *alloc_resized(void *memory, size_t bytes);
char *alloc_text(const char *text);

/* Remembers the errno of something else that failed, where it is one of missing memory or file
 * descriptors; a file that is not there is none. */
void alloc_note(int error);

/* Whether any of these has failed since the process began. */
bool alloc_failed(void);

#endif
