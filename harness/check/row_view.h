/*
 * row_view: what a row sees, and what hides the other keys from it; for check*.c only.
 */
#pragma once

#include "problem/kv.h"

/* A row, and the keys that it sees and where they lie.  A hypothesis of diagnose.c changes it. */
struct row_view {
    const struct attn_problem *problem;
    const struct attn_tensors *tensors;
    struct tensors_place at;
    struct attn_sequence sequence; /* of at.b */
    struct attn_range range;       /* keys that positional masks leave */
    ptrdiff_t position;            /* of the query among the keys */
    size_t b, g;                   /* sequence and KV head whose K it reads ... */
    size_t v_b, v_g;               /* ... and whose V */
    double sink;                   /* -inf where there is none */
    size_t shown;                  /* a hidden key that it sees by the hypothesis; SIZE_MAX: none */
    const int32_t *list;           /* of keys; NULL: all */
};

struct row_view row_view_of(const struct attn_problem *problem, const struct attn_tensors *tensors,
                            struct tensors_place at);

/* Recomputes range and position after a change of the problem or the sequence. */
void row_view_update(struct row_view *view);

/* Names what hides key j from the row, as in "which the mask hides"; NULL where the row sees it. */
const char *row_view_hider(const struct row_view *view, size_t j);

/* The terms added to the score of key j: ALiBi and bias. */
double row_view_term(const struct row_view *view, size_t j);

/* Number of the sequence's keys that exist in memory, including those behind its end; row_view_reach():
 * how many of them masks, biases and scales cover, at most kv_len. */
size_t row_view_rows(const struct row_view *view);
size_t row_view_reach(const struct row_view *view);

/* ---- a row of a trial as a problem of its own (single.c) ----------------------------------------
 *
 * One query and the keys that it sees, dense, in f32 (f64 if the trial is): without masks, pages or other
 * sequences.  What remains is a softcap, a sink, and a bias with all terms that are added to the scores.
 */

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
