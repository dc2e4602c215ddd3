/*
 * catalogue: every variant this program knows, the library's, those added to it, and guests.
 */
#ifndef HARNESS_PROBLEM_CATALOGUE_H
#define HARNESS_PROBLEM_CATALOGUE_H

#include "attention.h"

/* More variants, after the library's; the array must outlive the program.  For hosts that link
 * kernels of their own. */
void catalogue_add(const struct attn_kernel *const *kernels, size_t count);

/* A file with kernels from outside this program: a plug-in, or the program of the rivals.  This process
 * never loads it; a worker describes its kernels. */
#define GUEST_DIGEST \
    sizeof "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define GUEST_ARGUMENTS 1024
struct guest {
    char path[4096];
    char arguments[GUEST_ARGUMENTS]; /* of a program, as base/shell_words.h joins them; "" none */
    char digest[GUEST_DIGEST]; /* of the file; "" of the rivals, which come with this program */
    bool program;              /* to start, not a shared object to load */
    double start_s;            /* from the start of a worker until its kernels were described */
    bool rivals;               /* its kernels stand in the group of rivals, and not in `all` */
};

/* The member `plugin` of its cells: the digest, then the arguments; "" for the rivals. */
#define GUEST_IDENTITY (GUEST_DIGEST + 1 + GUEST_ARGUMENTS)
void guest_identity(const struct guest *guest, char text[GUEST_IDENTITY]);

/* The value of --plugin that names it: the path, quoted where arguments follow, and these. */
#define GUEST_TEXT (4096 + 16 + GUEST_ARGUMENTS)
const char *guest_text(const struct guest *guest, char text[GUEST_TEXT]);

/* The variants of a guest, as data: without code to execute.  All of it must outlive the program. */
void catalogue_add_guest(const struct guest *guest, const struct attn_kernel *const *kernels,
                         size_t count);

/* Where a variant comes from; NULL for those of this program. */
const struct guest *catalogue_guest(const struct attn_kernel *kernel);

/* Notes how many guests could not be described: an unknown kernel name may be one of theirs. */
void catalogue_incomplete(size_t guests);
bool catalogue_is_complete(void);

/* Variant number i, in the order of kernels/CMakeLists.txt; NULL beyond the last. */
const struct attn_kernel *catalogue_at(size_t i);
const struct attn_kernel *catalogue_find(const char *name, enum attn_isa isa);

/* The first variant of that name; NULL where there is none. */
const struct attn_kernel *catalogue_named(const char *name);

/* Names without their ISAs, each once, at most `capacity`; returns how many. */
size_t catalogue_names(const char **names, size_t capacity);

/* Groups that --kernel takes beside names; the last has a NULL name. */
struct catalogue_group {
    const char *name;
    const char *summary;
};
extern const struct catalogue_group catalogue_groups[];
bool catalogue_in_group(const char *kernel_name, const char *group);
const char *catalogue_group_of(const char *kernel_name);

#endif
