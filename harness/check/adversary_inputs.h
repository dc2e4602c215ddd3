/*
 * adversary_inputs: the adversarial inputs, and how they fill operands; for check/adversary.c only.
 */
#ifndef HARNESS_CHECK_ADVERSARY_INPUTS_H
#define HARNESS_CHECK_ADVERSARY_INPUTS_H

#include "adversary_scores.h"

struct adversary {
    const char *phase;

    /* The problem: the case, and these. */
    unsigned mask, options, outputs; /* a mask of its own for each sequence and head */
    float softcap;
    enum attn_dtype kv_dtype; /* of K and V, where it is one with scales */
    adversary_shape *shape;   /* what else; false: not for this problem */

    /* The operands: N(0, 1), or prescribed scores and V with a mean, or anything else. */
    patterns_score *score;
    double noise, mean;
    adversary_change *fill;
    bool one_hot; /* V tells keys apart */
    adversary_hider *hides;
    adversary_bias *bias;
    adversary_parent *tree;
    adversary_entry *lists;
    adversary_change *change; /* of what was filled */

    /* Several runs, until each edge was special, or each sort of head was there. */
    bool special_keys;
    const struct adversary_heads *heads;
    adversary_kinds *kinds;

    bool precise;    /* precision is judged, too */
    bool fine;       /* judged last, and not of kernels that round weights to bf16 */
    unsigned caveat; /* enum attn_caveat: not for kernels that admit it */
};

/* For small problems. */
extern const struct adversary adversaries[];
extern const size_t adversary_count;

/* For the case's own lengths: both kinds of row at once, or one after the other. */
extern const struct adversary adversary_needle_or_negative, adversary_negative, adversary_needle;

/* Makes the case the adversary's; false: there is no such problem. */
bool adversary_shape_case(const struct adversary *adversary, struct problem_case *c);

/* Fills the operands of a trial, whose special keys are chosen, and seals them. */
void adversary_fill(struct trial *trial, const struct adversary *adversary, uint64_t key);

#endif
