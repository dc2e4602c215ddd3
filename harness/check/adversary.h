/*
 * adversary: inputs made to expose what random numbers hide; for check*.c only.
 */
#ifndef HARNESS_CHECK_ADVERSARY_H
#define HARNESS_CHECK_ADVERSARY_H

#include "trial.h"

/* Phases: inputs with the case's own mask; with a mask or option that the case lacks; and last the most
 * sensitive ones, so that failures are first named by the inputs made for them. */
enum adversary_turn { ADVERSARY_OWN, ADVERSARY_FOREIGN, ADVERSARY_FINE };

/* Runs all inputs of a phase on a problem small enough to be judged in full.  False at the first
 * failure. */
bool check_adversaries(struct checker *checker, const struct attn_problem *small,
                       enum adversary_turn turn);

/* Scales, masks, options, outputs, lengths and layouts that the problem does not use. */
bool check_variations(struct checker *checker, const struct attn_problem *small);

/* Needles and negative rows at the case's own lengths, rows sampled. */
bool check_full_length(struct checker *checker);

/* The problem, or a smaller one with the same heads ratio (at most two KV heads), dimensions,
 * types, mask and the same tails: lengths and their difference are the same modulo every tile size
 * up to the largest power of two that keeps multiply-adds below `limit`. */
struct attn_problem check_shrink(const struct attn_problem *problem, double limit);

/* Rows compared at depth CHECK_INVARIANT, and at full length but for the case's own input. */
#define CHECK_SAMPLED_ROWS 64

/* The problem, or where it has more multiply-adds than `limit` one with fewer heads and sequences:
 * enough for so many rows, at least two KV heads and sequences where it has them. */
struct attn_problem check_narrow(const struct attn_problem *problem, double limit, size_t rows);

/* What is looked at beside the case's own input at its own lengths: the problem as it is at depth
 * CHECK_THOROUGH, otherwise narrow, with rows enough for CHECK_SAMPLED_ROWS. */
struct attn_problem check_unshortened(const struct checker *checker);

#endif
