/*
 * timed: judges the outputs of every sample of a launch.
 *
 * Kernels give the same bits in every call unless their caps say that they vary.  So sampled rows of the
 * first output of each set of operands are compared with the reference, and the output is hashed; after every
 * sample its outputs must have that hash.  For a kernel that varies, rows are compared after every sample.
 * Before each sample some operands are negated, with a known effect on the outputs (problem/negation.h), so
 * that a kernel which returns stored results fails.
 */
#pragma once

#include "check.h"

struct timed {
    const struct attn_kernel *kernel;
    const struct attn_problem *problem;
    struct tensor_set *sets; /* the calls rotate through them */
    size_t count;
    size_t launch; /* its number from 1, for messages */
    uint64_t seed; /* picks rows */
    /* Calls the kernel once more on that set, to show where a spoiled output is wrong. */
    void (*call)(void *context, size_t set);
    void *call_context;
    size_t samples, mismatches;
    size_t turns; /* changes of operands so far */
    struct check_result result;
    struct timed_output *outputs; /* of each set; owned */
};

/* Call before the first sample, with the members up to call_context set; false without memory. */
bool timed_open(struct timed *timed);
void timed_close(struct timed *timed);

/* Gives each set, if sets are mapped read-only, a private copy of the memory that timed_renew()
 * changes. */
bool timed_own(struct timed *timed, struct message message);

/* Changes the operands of `count` sets from number `first` on; call before a sample. */
void timed_renew(struct timed *timed, size_t first, size_t count);

/*
 * Judges a sample that has just ended: the outputs of `count` sets from number `first` on, in rotation.
 * False: result.why says "sample 17 of launch 3 differs from its first output at o (b 0, h 1, i 5) element 3:
 * got 0.25, first 0.5".
 */
bool timed_sample(struct timed *timed, size_t first, size_t count);

/* Compares sampled rows of a result that was just computed (a timed call's output) with the
 * reference; `seed` picks the rows.  Accumulates into result. */
bool timed_rows(const struct attn_kernel *kernel, const struct attn_problem *problem,
                const struct attn_tensors *tensors, size_t rows, uint64_t seed,
                struct check_result *result);
