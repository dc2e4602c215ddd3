/*
 * dots: inner products q.k of random vectors, and their moments.
 *
 * Each vector lane is a trial with its own generator, so that a trial's numbers depend neither on the width
 * of vectors nor on the number of threads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attention.h"
#include "distribution.h"
#include "moments.h"

#define DOTS_TRIALS ((size_t)64) /* trials of a call, a multiple of any vector's lanes */

struct dots {
    enum attn_isa isa;

    /* Computes z[c * DOTS_TRIALS + t], q.k of trial first + t of a stream over its first dims[c] dimensions,
     * for `count` ascending dims. */
    void (*run)(enum distribution distribution, uint64_t key, uint64_t first, const size_t *dims,
                size_t count, float *z);
};

/* A variant for each ISA that the compiler could target, weakest first; the best that this host has. */
extern const struct dots *const dots_variants[];
extern const size_t dots_variant_count;
const struct dots *dots_best(void);

/* moments[c]: of q.k over the first dims[c] dimensions, for `count` ascending dims.  The same for any number
 * of threads.  False if memory runs out. */
bool dots_moments(enum distribution distribution, uint64_t key, size_t trials, const size_t *dims,
                  size_t count, int threads, struct moments *moments);

/* Scales of logits: powers of d. */
struct dots_scale {
    const char *name;
    double power;
};
#define DOTS_SCALES 4
#define DOTS_SCALE_ROOT 2 /* the index of 1/sqrt(d) */
extern const struct dots_scale dots_scales[DOTS_SCALES];
