/*
 * compare: compares rows of results with the reference; for check*.c only.
 */
#pragma once

#include "check.h"
#include "reference.h"

/* Pairs of a row and a key from which on threads share the rows: with fewer, waking them costs more time than
 * it saves. */
#define COMPARE_PARALLEL 20000

/* Positions in [0, n) at which kernels end a tile or a thread's share, the most revealing first; at most
 * `most`.  Returns how many. */
size_t pick_edges(size_t n, int threads, size_t *edges, size_t most);

/*
 * Rows to compare, by the numbers of tensors_place(), ascending: all if there are no more than `most`,
 * otherwise `most` rows over all heads, at edges of tiles and of threads' shares and at random.  Returns how
 * many; the caller frees *rows, which is NULL without memory.
 */
size_t pick_rows(const struct attn_problem *problem, const struct attn_tensors *tensors,
                 int threads, size_t most, uint64_t seed, size_t **rows);

/* ---- a row of the reference (reference_row.c) --------------------------------------------------- */

/* A row of the reference, and memory for it: O, and the parts that are wanted. */
enum { REFERENCE_BOUND = 1, REFERENCE_MAGNITUDE = 2, REFERENCE_WEIGHTS = 4, REFERENCE_SCORES = 8 };
struct reference_row {
    struct attn_reference_row reference;
    void *workspace; /* of attn_reference() */
    double *block;   /* owned */
};

/* For any row of the problem, weights and scores with bounds if bounds are wanted; false without memory. */
bool reference_row_open(struct reference_row *row, const struct attn_problem *problem,
                        unsigned parts);
void reference_row_close(struct reference_row *row);

/* Computes a row, with bounds as wide as the kernel's caps allow; NULL: those of an f32 kernel, which
 * reference_row_widen() turns into these.  A row that sees no key has bounds of 0, and keeps them. */
void reference_row_compute(struct reference_row *row, const struct attn_kernel *kernel,
                           const struct attn_problem *problem, const struct attn_tensors *tensors,
                           struct tensors_place at);
void reference_row_widen(struct reference_row *row, const struct attn_kernel *kernel,
                         const struct attn_problem *problem);

/* ---- comparing -------------------------------------------------------------------------------- */

/* The worst element of the first row that is wrong. */
struct mismatch {
    size_t row;
    const char *tensor; /* "o", "lse", "weights", "scores" */
    size_t element;
    double got, expected, bound;
};

struct comparison {
    size_t rows, wrong_rows;
    double max_abs_error; /* of O */
    double over_bound;    /* infinite where a NaN or infinity is wrong */
    double square_error;  /* of O, summed over elements; and of LSE, over finite rows */
    double square_error_lse;
    size_t elements, lse_rows;
    struct mismatch first; /* where wrong_rows > 0 */
};

/*
 * Compares the given rows of all results that the problem wants, on `threads` threads.  False
 * without memory.  `input` is that of stored_input(), or STORED_NEVER.
 */
bool compare_rows(const struct attn_kernel *kernel, const struct attn_problem *problem,
                  const struct attn_tensors *tensors, const size_t *rows, size_t count, int threads,
                  uint64_t input, struct comparison *comparison);

/* ---- rows of the reference that are stored (stored_reference.c) ------------------------------- */

/* A hash of all operands, which must be as tensors_seal() found them, and of the problem without its outputs:
 * rows with the same hash and number have the same reference. */
#define STORED_NEVER 0
uint64_t stored_input(const struct attn_problem *problem, const struct tensor_set *set);

/* An input whose rows are looked up in the files of stored_reference_use(), or computed and stored there. */
struct stored {
    uint64_t input;
    char *fresh;  /* rows that are not yet in a file; NULL: computed rows are not stored.  Owned */
    size_t count; /* of them */
};

/* For some rows.  Where the problem wants weights or scores nothing is looked up or stored. */
void stored_open(struct stored *stored, const struct attn_problem *problem, uint64_t input,
                 const size_t *rows, size_t count);
void stored_close(struct stored *stored, const struct attn_problem *problem);

/* Sets row->reference to that of row `number`, with bounds as wide as the kernel's caps allow; any thread. */
void stored_row(struct stored *stored, const struct attn_kernel *kernel,
                const struct attn_problem *problem, const struct attn_tensors *tensors,
                size_t number, struct reference_row *row);

/* pick_rows() for a case's own input: the same for all kernels and thread counts. */
size_t pick_own(const struct problem_case *c, const struct attn_tensors *tensors, size_t **rows);

/* ---- others --------------------------------------------------------------------------------- */

/* How many rows of a case's own input the reference computes in 1e11 flops. */
size_t pick_affordable(const struct attn_problem *problem);

/* Decimal digits that distinguish any two numbers of a problem's results. */
static inline int compare_digits(const struct attn_problem *problem)
{
    return problem->dtype == ATTN_F64 ? 17 : 9;
}

/* Adds the errors of a comparison on the case's own input to the result. */
void compare_note(struct check_result *result, const struct comparison *comparison);
