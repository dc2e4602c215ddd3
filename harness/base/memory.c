/*
 * memory: malloc() and one flag.
 */
#include "memory.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static bool ran_out;

void memory_watch(void)
{
    json_set_alloc_funcs(memory_take, free);
}

void *memory_take(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    ran_out |= !memory;
    return memory;
}

void *memory_zeroed(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);
    ran_out |= !memory;
    return memory;
}

void *memory_resized(void *memory, size_t bytes)
{
    void *resized = realloc(memory, bytes ? bytes : 1);
    ran_out |= !resized;
    return resized;
}

void memory_note(int error)
{
    ran_out |= error == ENOMEM || error == EMFILE || error == ENFILE;
}

char *memory_text(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = memory_take(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

bool memory_ran_out(void)
{
    return ran_out;
}
