/*
 * loaded.h: third-party libraries that are loaded at run time.
 *
 * The program is built, starts and works without them.  Each is looked for, in this order,
 *
 *   in the file that an environment variable names, ATTNBENCH_MKL for `mkl`;
 *   in what scripts/rivals/setup has installed, ~/.local/share/attnbench/rivals/mkl/lib
 *   (XDG_DATA_HOME in place of ~/.local/share);
 *   where the dynamic linker looks: LD_LIBRARY_PATH, then the system.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "attention.h"

/* Which definitions a library's own references prefer. */
enum loaded_symbols {
    LOADED_SHARED, /* in the program and its libraries first: OpenMP is the program's */
    LOADED_OWN     /* in the library itself first: it exports names that the program has too */
};

struct loaded {
    const char *name;         /* "mkl" */
    const char *variable;     /* "ATTNBENCH_MKL" */
    const char *const *files; /* sonames to try, the last is NULL */
    enum loaded_symbols symbols;
};

/* A handle for dlsym(), NULL where it is not found or cannot be loaded.  It stays for good. */
void *loaded_open(const struct loaded *library);

/* Stores the address of a function of that name; false where the library has none. */
bool loaded_find(void *handle, const char *function, void *pointer);

/*
 * Whether a variant's instruction set is below what this host offers for all of the variant's types, so
 * that only `--isa` selects it.  The library is then restricted to these instructions; in all other
 * variants it chooses by itself, as it does for its users. avx512 is never below, as it computes f32.
 */
bool loaded_is_less(enum attn_isa isa);

/* For descriptions: appends to a text of `size` bytes what fits. */
void loaded_say(char *text, size_t size, const char *more);
void loaded_say_number(char *text, size_t size, unsigned number);
