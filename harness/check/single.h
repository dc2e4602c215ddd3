/*
 * single: a row of a trial as a problem of its own; for check*.c only.
 *
 * One query and the keys that it sees, dense, in f32 (f64 if the trial is): without masks, pages or other
 * sequences.  What remains is a softcap, a sink, and a bias with all terms that are added to the scores.
 */
#ifndef HARNESS_CHECK_SINGLE_H
#define HARNESS_CHECK_SINGLE_H

#include "row_view.h"

struct single {
    struct attn_problem problem; /* kv_len: as many keys as the row sees */
    struct attn_tensors tensors; /* operands only */
    float sink;
    void *block; /* of q, k, v and the bias; owned */
};

/* Allocates memory for any row of the problem; false without memory. */
bool single_open(struct single *single, const struct attn_problem *problem);

/* Copies the query and the keys that a row sees; false where it sees none. */
bool single_gather(struct single *single, const struct row_view *view);

void single_close(struct single *single);

#endif
