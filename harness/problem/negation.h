/*
 * negation: changes operands in place before the next call, with a known effect on the results.
 *
 * Some columns of V of a head are negated: those columns of O come out negated to the last bit, because
 * rounding to nearest is symmetric, and nothing else changes.  So a call on operands that the kernel has
 * not seen needs no new reference and no tolerance.  Zeros of these heads may have either sign.
 *
 * Where V is part of K, these columns of K and of Q are negated together, which leaves every score as it
 * was.  For int8, whose -128 has no opposite, all scales of V are negated instead.
 */
#ifndef HARNESS_PROBLEM_NEGATION_H
#define HARNESS_PROBLEM_NEGATION_H

#include "tensors.h"

struct negation {
    size_t first_batch, batches; /* whose V is negated; all where sequences share memory */
    size_t first_head, heads;    /* of K and V */
    bool of_scales;
    unsigned char *columns; /* one byte for each of V: 1 where it is negated now; owned */
};

/* Chooses the head by `random`, or all of them; nothing is negated yet.  False without memory. */
bool negation_open(struct negation *negation, const struct attn_problem *problem, bool all,
                   uint64_t random);
void negation_close(struct negation *negation);

/* Gives a set that is mapped to be read its own copy of the pages that will change.  The rest stays
 * shared, and the copy can be read alone.  False fills message. */
bool negation_own(const struct negation *negation, struct tensor_set *set,
                  const struct attn_problem *problem, char *message, size_t message_size);

/* Negates other columns than now, by `random`: one at least differs. */
void negation_turn(struct negation *negation, const struct tensor_set *set,
                   const struct attn_problem *problem, uint64_t random);

/* Makes O what it would be if nothing were negated; without the signs of zeros and NaN. */
void negation_undo(const struct negation *negation, const struct tensor_set *set,
                   const struct attn_problem *problem);

/* Whether an element of O is negated now. */
bool negation_is_of(const struct negation *negation, const struct attn_problem *problem, size_t b,
                    size_t h, size_t d);

#endif
