/*
 * compare: compares rows of results with the reference; for check*.c only.
 */
#ifndef HARNESS_CHECK_COMPARE_H
#define HARNESS_CHECK_COMPARE_H

#include "check.h"
#include "reference.h"

/* Pairs of a row and a key from which on threads share the rows: with fewer, waking them costs more time than
 * it saves. */
#define CHECK_PARALLEL 20000

/* Positions in [0, n) at which kernels end a tile or a thread's share, the most revealing first; at most
 * `most`.  Returns how many. */
size_t check_edges(size_t n, int threads, size_t *edges, size_t most);

/*
 * Rows to compare, by the numbers of tensors_place(), ascending: all if there are no more than `most`,
 * otherwise `most` rows over all heads, at edges of tiles and of threads' shares and at random.  Returns how
 * many; the caller frees *rows, which is NULL without memory.
 */
size_t check_pick_rows(const struct attn_problem *problem, const struct attn_tensors *tensors,
                       int threads, size_t most, uint64_t seed, size_t **rows);

/* Compares two row numbers, for qsort() and bsearch(). */
int check_ascending(const void *a, const void *b);

/* A row of the reference, and memory for it: O, and the parts that are wanted. */
enum { CHECK_BOUND = 1, CHECK_MAGNITUDE = 2, CHECK_WEIGHTS = 4, CHECK_SCORES = 8 };
struct check_row {
    struct attn_reference_row reference;
    void *workspace; /* of attn_reference() */
    double *block;   /* owned */
};

/* For any row of the problem, weights and scores with bounds if bounds are wanted; false without memory. */
bool check_row_open(struct check_row *row, const struct attn_problem *problem, unsigned parts);
void check_row_close(struct check_row *row);

/* The worst element of the first row that is wrong. */
struct check_mismatch {
    size_t row;
    const char *tensor; /* "o", "lse", "weights", "scores" */
    size_t element;
    double got, expected, bound;
};

struct check_comparison {
    size_t rows, wrong_rows;
    double max_abs_error; /* of O */
    double over_bound;    /* infinite where a NaN or infinity is wrong */
    double square_error;  /* of O, summed over elements; and of LSE, over finite rows */
    double square_error_lse;
    size_t elements, lse_rows;
    struct check_mismatch first; /* where wrong_rows > 0 */
};

/*
 * Compares the given rows of all results that the problem wants, on `threads` threads.  False
 * without memory.  `stored`: this input's reference comes from the file of check_reference_use().
 */
bool check_compare(const struct attn_kernel *kernel, const struct attn_problem *problem,
                   const struct attn_tensors *tensors, const size_t *rows, size_t count,
                   int threads, bool stored, struct check_comparison *comparison);

/* The rows that the stored reference has of a case; NULL where it is of another case or there is none. */
const size_t *check_stored_rows(const struct problem_case *c, size_t *count);

/* Sets O and LSE of row number `number` of the stored reference, with bounds as wide as the kernel's caps
 * allow. */
void check_stored_row(const struct attn_kernel *kernel, size_t number,
                      struct attn_reference_row *row);

/* How many rows of a case's own input the reference computes in 1e11 flops. */
size_t check_affordable_rows(const struct attn_problem *problem);

/* Whether a call left this thread's floating-point environment unchanged; else restores it and notes the
 * failure. */
bool check_float_env(struct check_result *result);

/* Decimal digits that distinguish any two numbers of a problem's results. */
static inline int check_digits(const struct attn_problem *problem)
{
    return problem->dtype == ATTN_F64 ? 17 : 9;
}

/* Adds the errors of a comparison on the case's own input to the result. */
void check_note(struct check_result *result, const struct check_comparison *comparison);

#endif
