/*
 * catalogue: every variant this program knows, the library's and those added to it.
 */
#ifndef HARNESS_PROBLEM_CATALOGUE_H
#define HARNESS_PROBLEM_CATALOGUE_H

#include "attention.h"

/* More variants, after the library's; the array must outlive the program.  For hosts that link
 * kernels of their own. */
void catalogue_add(const struct attn_kernel *const *kernels, size_t count);

/* Variants that are found by their whole name but stand in no list and no group: versions of a kernel
 * that only an experiment compares. */
void catalogue_add_unlisted(const struct attn_kernel *const *kernels, size_t count);

/* The first of those whose name is these characters; NULL where there is none. */
const struct attn_kernel *catalogue_unlisted(const char *name, size_t length);

/* Variant number i, in the order of kernels/CMakeLists.txt; NULL beyond the last. */
const struct attn_kernel *catalogue_at(size_t i);
const struct attn_kernel *catalogue_find(const char *name, enum attn_isa isa);

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
