/*
 * sight: what a row sees, and what hides the other keys from it; for check*.c only.
 */
#ifndef HARNESS_CHECK_SIGHT_H
#define HARNESS_CHECK_SIGHT_H

#include "problem/keys.h"

/* A row, and where it looks.  Who supposes that a kernel looks elsewhere changes it. */
struct sight {
    const struct attn_problem *problem;
    const struct attn_tensors *tensors;
    struct tensors_place at;
    struct attn_sequence sequence; /* of at.b */
    struct attn_range range;       /* keys that positional masks leave */
    ptrdiff_t position;            /* of the query among the keys */
    size_t b, g;                   /* whose K ... */
    size_t v_b, v_g;               /* ... and whose V */
    double sink;                   /* -inf where there is none */
    size_t shown;                  /* a hidden key that it sees all the same; SIZE_MAX: none */
};

struct sight sight_of(const struct attn_problem *problem, const struct attn_tensors *tensors,
                      struct tensors_place at);

/* Range and position again, after a change of the problem or of the sequence. */
void sight_update(struct sight *sight);

/* What hides key j from the row, as in "which the mask hides"; NULL where the row sees it. */
const char *sight_hider(const struct sight *sight, size_t j);

/* What is added to the score of key j: ALiBi and bias. */
double sight_term(const struct sight *sight, size_t j);

/* Keys, from the first of the sequence on, that have a place in memory: those behind its end, too.  Of
 * masks, biases and scales, which have no more than kv_len, sight_reach() of them. */
size_t sight_rows(const struct sight *sight);
size_t sight_reach(const struct sight *sight);

#endif
