/*
 * patterns: fills Q, K and V with prescribed scores and other contents that random numbers seldom have.
 *
 * A V that is part of K is not written.
 */
#pragma once

#include "kv.h"

#define PATTERNS_SINK 15 /* score of a key that attracts all attention; e^-15 is 3e-7 of it */

/* The scaled score that a key should have. */
typedef double patterns_score(const void *context, struct kv_place at);

/* -30 for every key: a key of score 0, such as padding, would weigh 1e13 times as much. */
patterns_score patterns_negative;

/* PATTERNS_SINK for key 0 and 0 for the others: each of these weighs next to nothing, all together something. */
patterns_score patterns_sink;

/*
 * Fills q and k so that every query's score at key j is score(j) + N(0, noise^2), up to rounding to the
 * element type: every query of a head is the same vector w, and key j is a multiple of w plus noise.  noise
 * 0: equal scores have bitwise equal keys.
 */
void patterns_scores(struct tensor_set *set, const struct attn_problem *problem, uint64_t key,
                     patterns_score *score, const void *context, double noise);

/* Fill an operand with mean + size * N(0, 1), or with U(-1, 1). */
enum patterns_operand { PATTERNS_Q, PATTERNS_K, PATTERNS_V };
void patterns_normal(struct tensor_set *set, const struct attn_problem *problem,
                     enum patterns_operand operand, uint64_t key, double mean, double size);
void patterns_uniform(struct tensor_set *set, const struct attn_problem *problem,
                      enum patterns_operand operand, uint64_t key);

/* Fills V so that O shows which keys have weight: row j is one-hot at j mod Dv, with 1 for a needle and -1
 * for other keys. */
typedef bool patterns_needle(const void *context, struct kv_place at);
void patterns_one_hot(struct tensor_set *set, const struct attn_problem *problem,
                      patterns_needle *is_needle, const void *context);

/* Multiplies V by a factor, a power of two; if V is part of K, divides Q by it, which keeps scores. */
void patterns_scale_v(struct tensor_set *set, const struct attn_problem *problem, double factor);
