/*
 * adversary: inputs made to expose errors that random numbers hide; for check*.c only.
 */
#ifndef HARNESS_CHECK_ADVERSARY_H
#define HARNESS_CHECK_ADVERSARY_H

#include "trial.h"

/* Phases: inputs with the case's own mask; inputs with a mask or option that the case lacks; and last the
 * most sensitive ones, which many kinds of error fail: an error is first reported by the input made for
 * it. */
enum adversary_turn { ADVERSARY_OWN, ADVERSARY_FOREIGN, ADVERSARY_FINE };

/* Runs all inputs of a phase on a problem small enough to be judged in full.  False at the first
 * failure. */
bool check_adversaries(struct checker *checker, const struct attn_problem *small,
                       enum adversary_turn turn);

/* Judges the kernel on variations of the problem: scales, masks, options, outputs, lengths and layouts
 * that it does not use (variation.c). */
bool check_variations(struct checker *checker, const struct attn_problem *small);

/* Runs the inputs needle and negative at the case's own lengths; sampled rows are judged. */
bool check_full_length(struct checker *checker);

/* The problem, or a smaller one with the same ratio of heads (at most two KV heads), dimensions, types and
 * mask, whose lengths leave the same remainders: they, and their difference, are the same modulo every
 * tile size up to the largest power of two for which the multiply-adds stay below `limit`. */
struct attn_problem check_shrink(const struct attn_problem *problem, double limit);

/* Rows compared at depth CHECK_INVARIANT, and on made-up inputs at full length. */
#define CHECK_SAMPLED_ROWS 64

/* The problem; if it has more multiply-adds than `limit`, one with fewer heads and sequences, but enough
 * for `rows` rows, and at least two KV heads and two sequences where it has them. */
struct attn_problem check_narrow(const struct attn_problem *problem, double limit, size_t rows);

/* The problem on which made-up inputs run at the case's own lengths: the case's at depth CHECK_THOROUGH,
 * otherwise one of check_narrow() with CHECK_SAMPLED_ROWS rows. */
struct attn_problem check_unshortened(const struct checker *checker);

#endif
