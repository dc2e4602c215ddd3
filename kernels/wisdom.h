/*
 * wisdom: choices of attn_kernel_best() that were measured on a host, in place of its rules.
 *
 * `attnbench tune` measures problems near which the rules cross, and writes what won.  Loaded, a point is the
 * choice for problems like it: of the same types, dimensions and threads, and no farther from it than
 * ATTN_WISDOM_NEAR in heads, rows and keys together.  Elsewhere the rules stand.
 */
#pragma once

#include "attention.h"

#define ATTN_WISDOM_POINTS 512 /* at most, in one file */

/* Powers of two between a problem and a point, added over heads, rows and keys: a factor of 1.5 in all. */
#define ATTN_WISDOM_NEAR 0.585

/* The variant that was the fastest for a problem on so many threads. */
struct attn_wisdom_point {
    const struct attn_problem *problem;
    int threads;
    const struct attn_kernel *kernel;
};

/* Writes a file's text, for this host and this version of the library, ended by a null character.  Returns
 * its length, as snprintf() does: what does not fit into `size` is left out. */
size_t attn_wisdom_print(const struct attn_wisdom_point *points, size_t count, char *text,
                         size_t size);

/*
 * Takes a file's text, in place of an earlier one; NULL forgets it.  Call it before other threads choose.
 * False sets *why to a static string and leaves the rules alone to choose: the text was not written by
 * attn_wisdom_print(), or was changed since, or comes from another host or version.
 */
bool attn_wisdom_load(const char *text, const char **why);

/* The loaded choice for a problem and a number of threads; NULL if there is no point near it, or its
 * variant cannot run here.  attn_kernel_best() asks it first. */
const struct attn_kernel *attn_wisdom_choice(const struct attn_problem *problem, int threads);

/* What decides: KV heads of all sequences; queries of the heads that share one; keys that each sees on
 * average. */
struct attn_shape {
    double heads, rows, keys;
};
struct attn_shape attn_shape_of(const struct attn_problem *problem);
