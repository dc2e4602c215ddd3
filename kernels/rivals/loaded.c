/*
 * loaded: finds a shared library and its functions.
 */
#define _GNU_SOURCE
#include "loaded.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* AddressSanitizer and ThreadSanitizer do not run with a library that looks for its own symbols first. */
#if defined __has_feature /* Clang */
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define __SANITIZE_ADDRESS__ 1 /* as GCC says it */
#endif
#endif
#if defined RTLD_DEEPBIND && !defined __SANITIZE_ADDRESS__
#define OWN_SYMBOLS RTLD_DEEPBIND
#endif

static void *open_file(const struct loaded *library, const char *path)
{
    int flags = RTLD_NOW | RTLD_LOCAL;
    if (library->symbols == LOADED_OWN) {
#ifdef OWN_SYMBOLS
        flags |= OWN_SYMBOLS;
#else
        return NULL;
#endif
    }
    return dlopen(path, flags);
}

void loaded_say(char *text, size_t size, const char *more)
{
    const size_t at = strlen(text), room = size - at - 1, length = strlen(more);
    memcpy(text + at, more, length < room ? length : room);
    text[at + (length < room ? length : room)] = 0;
}

void loaded_say_number(char *text, size_t size, unsigned number)
{
    char digits[12];
    char *first = digits + sizeof digits - 1;
    *first = 0;
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    loaded_say(text, size, first);
}

/* "DATA/attnbench/rivals/mkl/lib/libmkl_rt.so.3", where scripts/rivals/setup puts it. */
static void *open_installed(const struct loaded *library, const char *file)
{
    char path[1024] = "";
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    const bool own = data && *data == '/';
    const char *const parts[] = {own    ? data
                                 : home ? home
                                        : "",
                                 own ? "" : "/.local/share",
                                 "/attnbench/rivals/",
                                 library->name,
                                 "/lib/",
                                 file};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        loaded_say(path, sizeof path, parts[i]);
    return open_file(library, path);
}

void *loaded_open(const struct loaded *library)
{
    const char *named = getenv(library->variable);
    void *handle = NULL;
    if (named && *named)
        return open_file(library, named);
    for (size_t i = 0; !handle && library->files[i]; i++)
        handle = open_installed(library, library->files[i]);
    for (size_t i = 0; !handle && library->files[i]; i++)
        handle = open_file(library, library->files[i]);
    return handle;
}

bool loaded_find(void *handle, const char *function, void *pointer)
{
    void *const address = dlsym(handle, function);
    memcpy(pointer, &address, sizeof address);
    return address;
}

bool loaded_is_less(enum attn_isa isa)
{
    /* where tiles are emulated, amx is there and no library is built for it */
    const bool amx = attn_isa_available(ATTN_ISA_AMX) && attn_find("onednn", ATTN_ISA_AMX);
    return (isa <= ATTN_ISA_AVX2 && attn_isa_available(ATTN_ISA_AVX512)) ||
           (isa == ATTN_ISA_AVX512_BF16 && amx);
}
