/*
 * alloc: allocations that are remembered when they fail.
 *
 * When memory runs out, a JSON object silently lacks a field and a statistic becomes NaN.  Neither may reach
 * a results file: failed allocations, made here or by jansson, are remembered, and alloc_failed() is called
 * before a line is written.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Makes jansson allocate through these functions.  Call it before any other function of jansson. */
void alloc_watch(void);

/* malloc(), calloc(), realloc() and strdup() that remember a failure; a size of 0 does not give NULL. */
void *alloc_bytes(size_t bytes);
void *alloc_zeroed(size_t count, size_t size);
void *alloc_resized(void *memory, size_t bytes);
char *alloc_text(const char *text);

/* Remembers the failure of another call, if its errno says that memory or file descriptors ran out. */
void alloc_note(int error);

/* Whether any of these has failed since the process began. */
bool alloc_failed(void);
