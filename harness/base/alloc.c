/*
 * alloc: malloc() and one flag.
 */
#include "alloc.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static bool failed;

void alloc_watch(void)
{
    json_set_alloc_funcs(alloc_bytes, free);
}

void *alloc_bytes(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    failed |= !memory;
    return memory;
}

void *alloc_zeroed(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);
    failed |= !memory;
    return memory;
}

void *alloc_resized(void *memory, size_t bytes)
{
    void *resized = realloc(memory, bytes ? bytes : 1);
    failed |= !resized;
    return resized;
}

void alloc_note(int error)
{
    failed |= error == ENOMEM || error == EMFILE || error == ENFILE;
}

char *alloc_text(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = alloc_bytes(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

bool alloc_failed(void)
{
    return failed;
}
