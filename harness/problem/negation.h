/*
 * negation: changes operands in place between calls, with a known effect on the results.
 *
 * Negates some columns of a head's V.  The same columns of O are then negated, to the last bit, because
 * rounding to nearest is symmetric, and nothing else changes: a call on operands that the kernel has not seen
 * before needs neither a new reference nor a tolerance.  Zeros of these heads may have either sign.
 *
 * If V is part of K, these columns of K and Q are negated together, which keeps every score.  For int8, whose
 * -128 has no opposite, all scales of V are negated instead.
 */
#pragma once

#include "tensors.h"

struct negation {
    size_t first_batch, batches; /* whose V is negated; all if sequences share memory */
    size_t first_head, heads;    /* of K and V */
    bool of_scales;
    unsigned char *columns; /* for each column of V: 1: negated now; owned */
};

/* Chooses a head by `random`, or all; negates nothing yet.  False: memory runs out. */
bool negation_open(struct negation *negation, const struct attn_problem *problem, bool all,
                   uint64_t random);
void negation_close(struct negation *negation);

/* Gives a set that is mapped read-only private copies of the pages that will change, which are read-only,
 * too, except while they are changed.  False fills message. */
bool negation_own(const struct negation *negation, struct tensor_set *set,
                  const struct attn_problem *problem, struct message message);

/* Chooses the negated columns again, by `random`; at least one changes. */
void negation_turn(struct negation *negation, const struct tensor_set *set,
                   const struct attn_problem *problem, uint64_t random);

/* Restores the O of operands without negation, and clears the signs of zeros and NaN. */
void negation_undo(const struct negation *negation, const struct tensor_set *set,
                   const struct attn_problem *problem);

/* Whether an element of O is negated now. */
bool negation_is_of(const struct negation *negation, const struct attn_problem *problem, size_t b,
                    size_t h, size_t d);
