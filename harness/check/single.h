/*
 * single: a row of a trial as a problem of its own; for check*.c only.
 *
 * One query and the keys that it sees, dense and in f32 (f64 where the trial is): no mask, pages or other
 * sequences.  Remaining options are softcap, a sink, and a bias that holds all terms added to the scores.
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

/* Room for any row of the problem; false without memory. */
bool single_open(struct single *single, const struct attn_problem *problem);

/* Gathers what a row sees; false where that is nothing. */
bool single_gather(struct single *single, const struct row_view *view);

void single_close(struct single *single);

#endif
