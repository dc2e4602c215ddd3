/*
 * timed: every sample of a launch judged.
 *
 * Kernels give the same bits at every call unless their caps say that they vary.  So the first output
 * of each set of operands is compared with the reference by sampled rows and hashed, and after
 * every sample each output that it left behind must have that hash.  For a kernel that varies, rows are
 * compared after every sample.  Before each sample operands are negated such that the new outputs are
 * known (problem/negation.h): this finds a kernel that returns stored results.
 */
#ifndef HARNESS_CHECK_TIMED_H
#define HARNESS_CHECK_TIMED_H

#include "check.h"

struct check_timed {
    const struct attn_kernel *kernel;
    const struct attn_problem *problem;
    struct tensor_set *sets; /* those that the calls rotate over */
    size_t count;
    size_t launch; /* its number from 1, for messages */
    uint64_t seed; /* picks rows */
    /* Calls the kernel once more on that set, to show where a spoiled output is wrong. */
    void (*call)(void *context, size_t set);
    void *call_context;
    size_t samples, mismatches;
    size_t turns; /* of operands, so far */
    struct check_result result;
    struct check_timed_output *outputs; /* what is known of each set's; owned */
};

/* Before the first sample, with the members above set; false without memory. */
bool check_timed_open(struct check_timed *timed);
void check_timed_close(struct check_timed *timed);

/* Gives each set its own copy of what check_timed_renew() changes, where sets are mapped to be read. */
bool check_timed_own(struct check_timed *timed, char *message, size_t message_size);

/* Before a sample: new operands in `count` sets from number `first` on. */
void check_timed_renew(struct check_timed *timed, size_t first, size_t count);

/*
 * Judges a sample that has just ended: the outputs of `count` sets, from number `first` on and after
 * the last one from 0 again.  False: result.why says "sample 17 of launch 3 differs from its first
 * output at o (b 0, h 1, i 5) element 3: got 0.25, first 0.5".
 */
bool check_timed_sample(struct check_timed *timed, size_t first, size_t count);

#endif
