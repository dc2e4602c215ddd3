/*
 * lengths: numbers of queries and keys of each sequence of a case.
 *
 * Lengths are a function of problem and input alone, so that all code that allocates, fills, maps or counts
 * the operands of a case agrees on them.  All sets of operands of a case have the same lengths.  The seed
 * changes only their order.
 */
#pragma once

#include "cases.h"

/* Whether sequences can have other lengths than the problem's q_len, or kv_len. */
static inline bool lengths_vary_q(const struct attn_problem *problem)
{
    return problem->options & ATTN_OPTION_PACKED;
}

static inline bool lengths_vary_kv(const struct attn_problem *problem)
{
    return problem->options & ATTN_OPTION_RAGGED || attn_keys_packed(problem);
}

/* Sequence b has q[b] queries and kv[b] keys.  Not for an input from a file.  False: memory runs out. */
struct lengths {
    size_t *q, *kv;
};
bool lengths_of(const struct problem_case *c, struct lengths *lengths);
void lengths_free(struct lengths *lengths);

/* Keys of the shortest sequence of a paged case. */
size_t lengths_shortest(const struct input *input, const struct attn_problem *problem);

/* Flops and bytes of a call, summed over the sequences; masks in operands, which may reduce them, are
 * ignored. */
struct attn_work lengths_work(const struct problem_case *c);
