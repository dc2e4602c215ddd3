/*
 * draw: random problems, to find errors that appear only for some shapes.
 *
 * Every second problem is plain: f32, a causal mask or none, no other option, so that a kernel which supports
 * nothing else still computes many.  Lengths are near powers of two up to 8192; dimensions are those of
 * models, and odd ones.  The work of a problem is limited, so that long sequences have few heads.
 */
#pragma once

#include "cases.h"

/* Multiply-adds and mask elements of a problem that the reference computes in some 0.01 s. */
#define DRAW_WORK 2e7

/* Draws problem number n of a seed, with its input and at most `most_work`; its name is draw-1 for n = 0. */
void draw_case(struct problem_case *c, uint64_t seed, size_t n, double most_work);

/* Whether something fails on a case.  The function may replace the case's input by one on which it fails. */
typedef bool draw_fails(const void *context, struct problem_case *c);

/* Simplifies a case on which something fails until no known simplification still fails, or for so many
 * tries. */
struct problem_case draw_simplest(const struct problem_case *failing, draw_fails *fails,
                                  const void *context, size_t most_tries);
