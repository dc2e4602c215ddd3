/*
 * lengths: how many queries and keys each sequence of a case has.
 *
 * A function of problem and input alone, so that whoever allocates, fills, maps or counts the operands
 * of a case agrees; every set of operands of a case has the same lengths, and how many there are of each
 * does not depend on the seed.
 */
#ifndef HARNESS_PROBLEM_LENGTHS_H
#define HARNESS_PROBLEM_LENGTHS_H

#include "cases.h"

/* Whether sequences can differ from the problem's q_len, and kv_len. */
static inline bool lengths_vary_q(const struct attn_problem *problem)
{
    return problem->options & ATTN_OPTION_PACKED;
}

static inline bool lengths_vary_kv(const struct attn_problem *problem)
{
    return problem->options & ATTN_OPTION_RAGGED || attn_keys_packed(problem);
}

/* The lengths of all sequences, for free(): queries of sequence b are q[b], keys kv[b].  The input is of
 * no file.  False without memory. */
struct lengths {
    size_t *q, *kv;
};
bool lengths_of(const struct problem_case *c, struct lengths *lengths);
void lengths_free(struct lengths *lengths);

/* Keys of the shortest sequence of a case in pages. */
size_t lengths_shortest(const struct input *input, const struct attn_problem *problem);

/* What a call computes and touches as far as problem and lengths say, summed over the sequences: a mask
 * in the operands may leave less.  Needs no operands. */
struct attn_work lengths_work(const struct problem_case *c);

#endif
