/*
 * adversary_options: parts of adversarial inputs, and the operands beside q, k and v that expose what
 * random ones hide; for adversary_inputs.c only.
 */
#ifndef HARNESS_CHECK_ADVERSARY_OPTIONS_H
#define HARNESS_CHECK_ADVERSARY_OPTIONS_H

#include "trial.h"

/* adversary_shapes.c: problems made from a case; false where it cannot be. */
typedef bool adversary_shape(struct problem_case *c);
adversary_shape shape_more_queries, shape_narrow_window, shape_weights, shape_mask,
    shape_mask_and_weights, shape_mask_blocks, shape_bias, shape_softcap, shape_softcap_far,
    shape_softcap_small, shape_sinks, shape_sinks_and_masked_rows, shape_short, shape_short_packed,
    shape_pages, shape_pages_and_lengths, shape_int8, shape_int8_channels, shape_window,
    shape_top_left, shape_alibi;

/* How many sorts of KV heads an input has on a problem; runs go on until each was one. */
typedef size_t adversary_kinds(const struct attn_problem *problem);

/* What fills the operands, or changes them after they are filled. */
typedef void adversary_change(struct trial *trial, uint64_t key);
/* adversary_masks.c */
adversary_change hide_needles, show_last_key, mask_rows, mark_blocks_of_64, mark_blocks_of_128,
    hide_columns, poison_hidden, bias_holes, bias_far_below, bias_lowest, bias_far_above, bias_nan;
/* adversary_caches.c */
adversary_change raise_sinks, vary_sinks, vary_slopes, share_pages, clear_scales, fill_extremes;

#endif
