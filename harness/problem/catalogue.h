/*
 * catalogue: all variants: the library's, those that a linking program adds, and guests'.
 */
#pragma once

#include "attention.h"

/* A file with kernels from outside this program: a plug-in, or the program of the rivals.  This process
 * never loads it; a worker describes its kernels. */
#define GUEST_DIGEST \
    sizeof "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define GUEST_ARGUMENTS 1024
struct guest {
    char path[4096];
    char arguments[GUEST_ARGUMENTS]; /* of a program, joined by base/shell_words.h; "": none */
    char digest[GUEST_DIGEST]; /* of the file; "" for the rivals, which come with this program */
    bool program;              /* to start, not a shared object to load */
    double start_s;            /* from the start of a worker until it has described the kernels */
    bool rivals;               /* its kernels are in the group `rivals`, and not in `all` */
};

/* The value of --plugin: the path, quoted if arguments follow, and the arguments. */
#define GUEST_TEXT (4096 + 16 + GUEST_ARGUMENTS)
const char *catalogue_guest_text(const struct guest *guest, char text[GUEST_TEXT]);

/* Adds variants after the library's: a guest's, which are data without code, or, with NULL, those of a program
 * that links its own kernels; all of it must stay valid. */
void catalogue_add(const struct guest *guest, const struct attn_kernel *const *kernels,
                   size_t count);

/* The guest that a variant belongs to; NULL: this program. */
const struct guest *catalogue_guest(const struct attn_kernel *kernel);

/* Records how many guests could not be described; unknown kernel names may be theirs. */
void catalogue_incomplete(size_t guests);
bool catalogue_is_complete(void);

/* Variant number i, in the order of kernels/CMakeLists.txt; NULL past the last. */
const struct attn_kernel *catalogue_at(size_t i);
const struct attn_kernel *catalogue_find(const char *name, enum attn_isa isa);

/* A kernel's first variant; NULL: no kernel has the name. */
const struct attn_kernel *catalogue_named(const char *name);

/* Names of kernels, each once, at most `capacity`; returns how many. */
size_t catalogue_names(const char **names, size_t capacity);

/* Groups that --kernel takes, too; the last has a NULL name. */
struct catalogue_group {
    const char *name;
    const char *summary;
};
extern const struct catalogue_group catalogue_groups[];
bool catalogue_in_group(const char *kernel_name, const char *group);
const char *catalogue_group_of(const char *kernel_name);
