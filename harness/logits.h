/*
 * logits: Q and K whose scaled scores are what somebody wants them to be.
 *
 * Random inputs have well-behaved scores.  Here every query of a head points along one direction
 * w, and key j is the multiple of w that gives the score asked for, plus a little noise across.
 */
#ifndef HARNESS_LOGITS_H
#define HARNESS_LOGITS_H

#include "tensors.h"

/* The scaled score wanted at key j of KV head g in sequence b. */
typedef double logits_of(const void *context, size_t b, size_t g, size_t j);

/* Fills q and k so that every query's score at key j is logit(j) + N(0, noise^2), up to the
 * rounding of the element type.  noise 0: equal logits have bitwise equal keys. */
void logits_fill(struct tensor_set *set, const struct attn_problem *problem, uint64_t key,
                 logits_of *logit, const void *context, double noise);

#endif
