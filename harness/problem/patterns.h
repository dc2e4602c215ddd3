/*
 * patterns: fills Q, K and V with prescribed scores and other contents that random numbers seldom have.
 *
 * A V that is part of K is not written.
 */
#ifndef HARNESS_PROBLEM_PATTERNS_H
#define HARNESS_PROBLEM_PATTERNS_H

#include "kv.h"

#define PATTERNS_SINK 15 /* score of a key that attracts all attention; e^-15 is 3e-7 of it */

/* The scaled score wanted at a key. */
typedef double patterns_score(const void *context, struct kv_place at);

/*
 * Fills q and k so that every query's score at key j is score(j) + N(0, noise^2), up to the
 * rounding of the element type: every query of a head is the same direction w, and key j is the
 * multiple of w that gives the score, plus noise.  noise 0: equal scores have bitwise equal keys.
 */
void patterns_scores(struct tensor_set *set, const struct attn_problem *problem, uint64_t key,
                     patterns_score *score, const void *context, double noise);

/* mean + size * N(0, 1) into an operand, whose shape the view of the problem gives. */
enum patterns_operand { PATTERNS_Q, PATTERNS_K, PATTERNS_V };
void patterns_normal(struct tensor_set *set, const struct attn_problem *problem,
                     enum patterns_operand operand, uint64_t key, double mean, double size);
void patterns_uniform(struct tensor_set *set, const struct attn_problem *problem,
                      enum patterns_operand operand, uint64_t key);

/* Fills V so that O shows which keys have weight: row j is one-hot at j mod Dv, 1 in a needle, -1
 * elsewhere. */
typedef bool patterns_needle(const void *context, struct kv_place at);
void patterns_one_hot(struct tensor_set *set, const struct attn_problem *problem,
                      patterns_needle *is_needle, const void *context);

/* V times a factor, a power of two; where it is part of K, Q is divided by it: scores stay. */
void patterns_scale_v(struct tensor_set *set, const struct attn_problem *problem, double factor);

#endif
