/*
 * layouts: kernels at other addresses, as other link orders, stacks and environments place them.
 *
 * A layout of a kernel is a variant of its own, KERNEL_FACTOR_NUMBER, found by its name but not
 * listed: the same object code in another place.
 *
 *   again        nothing moved, NUMBER counts them: what the times of equal layouts differ by
 *   stack        each call begins NUMBER bytes further down the stack
 *   environment  the environment has a variable of NUMBER bytes more, which moves the whole stack;
 *                only the experiment sets it
 *   code         linked behind NUMBER bytes of padding: what another link order does to an object
 */
#ifndef HARNESS_EXPERIMENTS_LAYOUTS_LAYOUTS_H
#define HARNESS_EXPERIMENTS_LAYOUTS_LAYOUTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "attention.h"

enum layouts_factor {
    LAYOUTS_AGAIN,
    LAYOUTS_STACK,
    LAYOUTS_ENVIRONMENT,
    LAYOUTS_CODE,
    LAYOUTS_FACTORS
};
#define LAYOUTS_PLACES 6 /* layouts of a factor */
#define LAYOUTS_KERNELS 3

/* Names of the kernels that have layouts, and of the factors. */
extern const char *const layouts_kernel_names[LAYOUTS_KERNELS + 1]; /* the last is NULL */
extern const char *const layouts_factor_names[LAYOUTS_FACTORS + 1]; /* likewise */

struct layout {
    char name[40];
    const char *kernel;
    enum layouts_factor factor;
    unsigned number; /* as in the name */
};

/* The layout of that name; NULL where it is none. */
const struct layout *layouts_find(const char *name);

/* Every layout of every kernel, of the widest f32 variant that this host runs, without code to
 * execute; returns how many. */
size_t layouts_kernels(const struct attn_kernel *const **kernels);

/* Whether the modules lie beside the program; false fills message with how to build them. */
bool layouts_built(char *message, size_t message_size);

/* The code of a layout, for workers, once a process; any other kernel is returned as it is.  NULL
 * fills message. */
const struct attn_kernel *layouts_load(const struct attn_kernel *kernel, char *message,
                                       size_t message_size);

/* Calls a function with the stack so many bytes further down, but for what a compiler takes for its
 * alignment or a sanitizer for itself, less than a cache line. */
void layouts_further_down(size_t bytes, void (*call)(void *context), void *context);

/* Sets the variable of a layout of the environment; removes it for any other kernel, and for NULL. */
void layouts_environment(const char *kernel);

/* ---- how far times move ---------------------------------------------------------------------- */

#define LAYOUTS_ROUNDS 64

/* Logarithms of the times of the layouts of one factor, launched once a round. */
struct layouts_times {
    size_t layouts, rounds;
    double logs[LAYOUTS_PLACES][LAYOUTS_ROUNDS];
};

/*
 * How far apart the farthest two layouts are, as a ratio less 1.  Each round's times are taken
 * relative to their median, which takes off what the round did to all; a layout's place is its
 * median over rounds.  NaN below two layouts or one round.
 */
double layouts_spread(const struct layouts_times *times);

/*
 * The same with an interval, and whether it is more than repeats of one layout show.
 *
 * The interval, of 95 %, is a bootstrap over rounds.  `chance` is the p-value of a permutation test:
 * if layouts did nothing, which launch of a round is which were as good as drawn, for launches are
 * shuffled; so it draws, and is the share of draws in which the layouts spread by as much more than
 * the repeats as they did, or more.  Exact for any noise.
 */
struct layouts_finding {
    double spread, lo, hi;
    double chance; /* NaN for the repeats themselves */
};
struct layouts_finding layouts_judge(const struct layouts_times *times,
                                     const struct layouts_times *again, uint64_t seed);

/* Tables and finding. */
bool layouts_report(const json_t *rows);

#endif
