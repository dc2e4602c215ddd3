/*
 * draw: problems at random, for errors that show in some shapes alone.
 *
 * Every second one is plain: f32, a causal mask or none, no other option, so that a kernel that can do
 * nothing else meets many.  Lengths lie around powers of two up to 8192, dimensions are those that
 * models have and odd ones; what a problem costs is limited, so that long sequences have few heads.
 */
#ifndef HARNESS_PROBLEM_DRAW_H
#define HARNESS_PROBLEM_DRAW_H

#include "cases.h"

/* Problem number n of a seed, with its input; named draw-1 for n = 0. */
void draw_case(struct problem_case *c, uint64_t seed, size_t n);

/* Simplification number n of a problem; false past the last one.  It may leave it as it is, or make it one
 * that is none. */
bool draw_simplify(struct attn_problem *problem, size_t n);

#endif
