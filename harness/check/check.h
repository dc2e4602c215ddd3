/*
 * check: a wrong kernel never gets a time.
 *
 * Compares a kernel with the float64 reference within the derived bound (kernels/reference.c), on
 * the case's own input and on inputs made to expose what random numbers hide.
 */
#ifndef HARNESS_CHECK_CHECK_H
#define HARNESS_CHECK_CHECK_H

#include "depth.h"
#include "problem/tensors.h"

struct check_result {
    bool ok;
    bool unfinished;           /* the check could not finish for lack of memory */
    double max_abs_error;      /* of O, on the case's own input; of a failure, of the wrong element:
                                NaN where the error is not finite, or where no single element is
                                wrong */
    double error_over_bound;   /* the same divided by the bound, largest over elements */
    double hardest_over_bound; /* the same over all inputs, and the phase it belongs to */
    char hardest[64];
    double rms_ratio; /* RMS error over that of the plain naive kernel; 0 = not taken */
    size_t rows;      /* rows compared with the reference, all inputs together */
    char phase[64];   /* of the first failure: "needle", "negative", "repeat", ... */
    /* First failure, one line: which input, row (batch, head, query), element; got, expected,
     * bound; what the kernel seems to do; and the problem text that shows it. */
    char why[512];
};

/*
 * Runs the kernel (in this process) on every one of the thread counts and judges it, a result for
 * each.  Every input and its reference are made once, and the outputs of all counts must be bitwise
 * equal (unless caps say otherwise: then each count is judged alone).  The check ends at the first
 * input on which a count fails: the counts that are ok then have passed the inputs up to that one.
 * Guard-page faults are not caught here: the worker dies and its cells are reported as crashed with
 * the input that was running (fault.h).
 */
bool check_counts(const struct attn_kernel *kernel, const struct problem_case *c,
                  const int *threads, size_t count, enum check_depth depth,
                  struct check_result *results);

/* Compares sampled rows of a result that was just computed (a timed call's output) with the
 * reference; `seed` picks the rows.  Accumulates into result. */
bool check_rows(const struct attn_kernel *kernel, const struct attn_problem *problem,
                const struct attn_tensors *tensors, size_t rows, uint64_t seed,
                struct check_result *result);

/*
 * The reference of a case's own input (stream 0), once per case instead of once per cell: it costs
 * more than most kernels.  A preparing worker computes it on all its threads and keeps it in the
 * empty memory file `fd`, which the workers of the case inherit; a check then looks rows up
 * instead of computing them.  Without it (-1, the default) it computes.
 */
bool check_reference_create(const struct problem_case *c, int fd, char *message,
                            size_t message_size);
void check_reference_use(int fd);

/* Notes the current step of a check for the parent's crash report (fault.h): "checking at threads=2:
 * needle, guard page behind". */
#define CHECK_RUNNING "checking at threads=%d: "

#endif
