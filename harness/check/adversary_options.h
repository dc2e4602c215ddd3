/*
 * adversary_options: parts of adversarial inputs, and the operands beside q, k and v that expose what
 * random ones hide; for adversary_inputs.c only.
 */
#ifndef HARNESS_CHECK_ADVERSARY_OPTIONS_H
#define HARNESS_CHECK_ADVERSARY_OPTIONS_H

#include "trial.h"

/* adversary_shapes.c: problems made from a case; false where it cannot be. */
typedef bool adversary_shape(struct problem_case *c);
adversary_shape shape_more_queries, shape_some_more_queries, shape_narrow_window, shape_mask_blocks,
    shape_short, shape_short_packed, shape_pages, shape_channel_scales, shape_window,
    shape_top_left;

/* How many sorts of KV heads an input has on a problem; runs go on until each was one. */
typedef size_t adversary_kinds(const struct attn_problem *problem);

/* Sorts of heads, all of which come; adversary_far.c. */
struct adversary_heads {
    const struct adversary_head *sorts;
    size_t count;
};

/* Whether the mask hides a key, by the element's place in memory. */
typedef bool adversary_hider(const struct trial *trial, const size_t at[4]);
void adversary_mask(struct trial *trial, adversary_hider *hides);
adversary_hider hides_needle, hides_all_but_last, hides_rows, hides_blocks_of_64,
    hides_blocks_of_128, hides_columns;

/* What the bias of a row is at its key j; the random one where it stays. */
typedef double adversary_bias(const struct trial *trial, size_t i, size_t j, double random);
void adversary_set_bias(struct trial *trial, adversary_bias *bias);
adversary_bias bias_columns, bias_holes, bias_far_below, bias_lowest, bias_far_above, bias_nan;

/* What fills the operands, or changes them after they are filled. */
typedef void adversary_change(struct trial *trial, uint64_t key);
/* adversary_masks.c */
adversary_change poison_hidden;
/* adversary_caches.c */
adversary_change raise_sinks, vary_sinks, vary_slopes, share_pages, clear_scales, fill_extremes;

#endif
