/*
 * kept: a copy of a call's results, to be compared with those of later calls; for check*.c only.
 */
#ifndef HARNESS_CHECK_KEPT_H
#define HARNESS_CHECK_KEPT_H

#include "trial.h"

struct check_kept {
    struct attn_tensors tensors; /* its own o, lse and weights, where the problem wants them */
    char *block;                 /* owned */
};

/* Copies the results of a set; false without memory.  check_put_back() copies them back into a trial's
 * set. */
bool check_keep(struct check_kept *kept, const struct attn_problem *problem,
                const struct tensor_set *set);
void check_put_back(const struct check_kept *kept, struct trial *trial);
void check_kept_free(struct check_kept *kept);

struct check_difference {
    const char *tensor; /* "o" */
    unsigned output;
    size_t element;
    double a, b;
};

/* The first element of row `at` that differs bitwise between two calls (NaNs are equal); false where none
 * does. */
bool check_difference(const struct attn_problem *problem, const struct attn_tensors *a,
                      const struct attn_tensors *b, struct tensors_place at,
                      struct check_difference *difference);

/* The first `most` rows that have such an element; returns how many. */
size_t check_differing(const struct attn_problem *problem, const struct attn_tensors *a,
                       const struct attn_tensors *b, size_t *rows, size_t most);

#endif
