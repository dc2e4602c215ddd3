/*
 * adversary_inputs: the adversarial inputs, and how they fill operands; for check/adversary.c only.
 */
#ifndef HARNESS_CHECK_ADVERSARY_INPUTS_H
#define HARNESS_CHECK_ADVERSARY_INPUTS_H

#include "adversary_options.h"
#include "trial.h"
#include "problem/patterns.h"

struct adversary {
    const char *phase;
    patterns_score *score; /* prescribed scores and V with a mean ... */
    double noise, mean;
    adversary_change *fill;   /* ... or anything else */
    bool one_hot;             /* V tells keys apart */
    bool special_keys;        /* several runs, until each edge was special */
    adversary_kinds *kinds;   /* several runs, until each sort of head was there */
    adversary_shape *shape;   /* false: not for this problem */
    adversary_change *change; /* of what was filled */
    bool precise;             /* precision is judged, too */
    bool fine;                /* judged last, and not of kernels that round weights to bf16 */
    unsigned caveat;          /* enum attn_caveat: not for kernels that admit it */
};

/* For small problems. */
extern const struct adversary adversaries[];
extern const size_t adversary_count;

/* For the case's own lengths: both kinds of row at once, or one after the other. */
extern const struct adversary adversary_needle_or_negative, adversary_negative, adversary_needle;

/* Fills the operands of a trial, whose special keys are chosen, and seals them. */
void adversary_fill(struct trial *trial, const struct adversary *adversary, uint64_t key);

#endif
