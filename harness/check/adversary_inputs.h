/*
 * adversary_inputs: the adversarial inputs, and how they fill operands; for check/adversary.c only.
 */
#ifndef HARNESS_CHECK_ADVERSARY_INPUTS_H
#define HARNESS_CHECK_ADVERSARY_INPUTS_H

#include "adversary_scores.h"

struct adversary {
    const char *phase;

    /* Changes to the case's problem. */
    unsigned mask, options, outputs; /* added; a mask differs between sequences and heads */
    float softcap;
    enum attn_dtype kv_dtype;       /* of K and V, if it is a type with scales */
    enum input_scales scales;       /* other than INPUT_SCALES_TOKEN */
    size_t list_keys, list_queries; /* each list of so many keys is for so many queries, 0: one */
    adversary_shape *shape;         /* other changes; false: not for this problem */

    /* The operands: N(0, 1); or prescribed scores, with a V of this mean; or what `fill` makes. */
    patterns_score *score;
    double noise, mean;
    adversary_change *fill;
    bool one_hot; /* V is one-hot, so that O shows which keys have weight */
    adversary_hider *hides;
    adversary_bias *bias;
    adversary_parent *tree;
    adversary_entry *lists;
    adversary_change *change; /* changes the filled operands */

    /* Runs are repeated until each edge was the special key, or each kind of head has occurred. */
    bool special_keys;
    const struct adversary_heads *heads;
    adversary_kinds *kinds; /* or their number: */
    size_t kind_count;

    bool precise;    /* the RMS error is judged, too */
    bool fine;       /* in phase ADVERSARY_FINE; not for kernels that round weights to bf16 */
    unsigned caveat; /* enum attn_caveat: not for kernels that have it */
};

/* For small problems. */
extern const struct adversary adversaries[];
extern const size_t adversary_count;

/* For the case's own lengths: needle and negative in alternate heads, or each alone. */
extern const struct adversary adversary_needle_or_negative, adversary_negative, adversary_needle;

/* Turns the case into the adversary's; false where that is not possible. */
bool adversary_shape_case(const struct adversary *adversary, struct problem_case *c);

/* Fills the operands of a trial, whose special keys are chosen, and seals them. */
void adversary_fill(struct trial *trial, const struct adversary *adversary, uint64_t key);

#endif
