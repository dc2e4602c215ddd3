/*
 * check: a wrong kernel never gets a time.
 *
 * Compares a kernel with the float64 reference within the derived bound (kernels/reference.c), on
 * the case's own input and on inputs made to expose what random numbers hide.
 */
#pragma once

#include "depth.h"
#include "problem/tensors.h"

struct check_result {
    bool ok;
    bool unfinished;           /* the check could not finish for lack of memory */
    double max_abs_error;      /* of O, on the case's own input; after a failure that of the wrong
                                element, NaN where it is not finite or no single element is wrong */
    double error_over_bound;   /* the largest error of an element over its bound, likewise */
    double hardest_over_bound; /* the same over all inputs, and the phase that it comes from */
    char hardest[64];
    double rms_ratio; /* RMS error over that of the plain naive kernel; 0: not computed */
    size_t rows;      /* rows compared with the reference, all inputs together */
    char phase[64];   /* of the first failure: "needle", "negative", "repeat", ... */
    /* First failure, one line: which input, row (batch, head, query), element; got, expected,
     * bound; what the kernel seems to do; and the problem text that shows it. */
    char why[512];
};

/*
 * Runs the kernel, in this process, on each of the thread counts and judges it; results[n] is that of
 * threads[n].  Each input and its reference are made once, and the outputs of all counts must be bitwise
 * equal; if the kernel's caps say that it varies, each count is judged alone.  The check ends at the first
 * input on which a count fails; a count that is ok has then passed the inputs up to that one.  Faults on
 * guard pages are not caught here: the worker dies, and its cells are reported as crashed with the input that
 * was running (fault.h).
 */
bool check_counts(const struct attn_kernel *kernel, const struct problem_case *c,
                  const int *threads, size_t count, enum check_depth depth,
                  struct check_result *results);

/*
 * Rows of the reference are stored in memory files, because computing them costs more than most kernels.
 * After stored_reference_use(), checks look rows up in the file `known` and write missing ones to `fresh`, an
 * empty file.  Zeros at the end of `known` are room for these: `fresh` grows no larger.  -1, the default: no
 * file.  stored_reference_create() stores the rows of a case's own input in an empty file, on all
 * threads.
 */
void stored_reference_use(int known, int fresh);
bool stored_reference_create(const struct problem_case *c, int fd, struct message message);

/* Beginning of the step that a check notes for the parent's crash report (fault.h): "checking at
 * threads=2: needle, guard page behind". */
#define CHECK_RUNNING "checking at threads=%d: "
