/*
 * adversary_scores: what adversarial inputs are made of: problems, masks, scores and contents that expose
 * what random ones hide; for adversary_inputs.c only.
 */
#ifndef HARNESS_CHECK_ADVERSARY_SCORES_H
#define HARNESS_CHECK_ADVERSARY_SCORES_H

#include "trial.h"
#include "problem/patterns.h"

/* adversary_shapes.c: problems made from a case; false where it cannot be. */
typedef bool adversary_shape(struct problem_case *c);
adversary_shape shape_more_queries, shape_some_more_queries, shape_narrow_window, shape_mask_blocks,
    shape_short, shape_short_packed, shape_pages, shape_channel_scales, shape_head_scales,
    shape_tensor_scales, shape_window, shape_top_left, shape_tree, shape_tall_tree,
    shape_short_groups;
/* adversary_index.c */
adversary_shape shape_index, shape_index_blocks, shape_index_causal, shape_index_pages;
adversary_shape shape_prefix, shape_prefixes;

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

/* The bias of row i at key j, in place of the random one; `random` itself leaves that. */
typedef double adversary_bias(const struct trial *trial, size_t i, size_t j, double random);
void adversary_set_bias(struct trial *trial, adversary_bias *bias);
adversary_bias bias_columns, bias_holes, bias_far_below, bias_lowest, bias_far_above, bias_nan;

/* The parent of draft i in every tree; -1: the cache. */
typedef ptrdiff_t adversary_parent(ptrdiff_t i);
void adversary_make_tree(struct trial *trial, adversary_parent *parent);
adversary_parent parent_before, parent_cache, parent_two_before, parent_seventh;

/* The key of an entry, number n of list `number` of a KV head, for a sequence of kv_len keys; -1: none,
 * also in place of a key that is not there. */
struct adversary_place {
    size_t b, g, number, n, count, kv_len;
};
typedef ptrdiff_t adversary_entry(const struct adversary_place *place);
void adversary_make_lists(struct trial *trial, adversary_entry *entry);
adversary_entry list_front_padded, list_scattered, list_none_or_all, list_one, list_falling;

/* What fills the operands, or changes them after they are filled. */
typedef void adversary_change(struct trial *trial, uint64_t key);
/* adversary_masks.c */
adversary_change poison_hidden;
/* adversary_trees.c */
adversary_change nan_in_draft;
/* adversary_caches.c */
adversary_change raise_sinks, vary_sinks, vary_slopes, share_pages, share_prefixes;
/* adversary_scales.c */
adversary_change clear_scales, vary_scales, infinite_keys, infinite_k_scales, infinite_v_scales,
    fill_extremes, fill_bytes, fill_nibbles;
adversary_kinds scale_kinds, infinite_k_kinds;

/* What scores are made from. */
struct adversary_context {
    const struct trial *trial;
    uint64_t key;
    const struct adversary_heads *heads; /* of score_of_head() */
};

/* The sort of a KV head, for an input that has `kinds` of them: heads rotate through them over all
 * runs. */
size_t adversary_kind(const struct trial *trial, size_t b, size_t g, size_t kinds);

/* Query rows that a KV head has. */
size_t adversary_rows(const struct attn_problem *problem);

/* Multiplies each query by a factor of its own. */
typedef double adversary_factor(const struct trial *trial, uint64_t key, size_t b, size_t h,
                                size_t i);
void adversary_stretch(struct trial *trial, uint64_t key, adversary_factor *factor);

/* Limits of the type that the kernel computes in: f32 whatever the storage, or f64. */
struct adversary_range {
    double largest;        /* of K and V, too: scales are f32 */
    int smallest_exponent; /* 2 to it is the smallest normal number */
    double exp_edge;       /* e to it is nearly the largest number */
};
const struct adversary_range *adversary_range(const struct trial *trial);

/* A score, or the one of its sign that is as large as it can be without an overflow on the way to it. */
double adversary_held(const struct trial *trial, double score);

/* Fills Q and K so that keys have these scores, held. */
void adversary_scores(struct trial *trial, const struct adversary_context *context,
                      patterns_score *score, double noise);

/* The largest size of V that still allows 256 times the sum of all keys, or that f16 holds. */
double adversary_room(const struct trial *trial);

/* Scales V so that its largest element, or 1 where all are smaller, becomes that size. */
void adversary_enlarge_v(struct trial *trial);

/* adversary_scores.c */
patterns_score score_needle, score_sink, score_negative, score_needle_or_negative, score_ascending,
    score_descending, score_falling, score_rising, score_exp_edge, score_exp_edge_below, score_tied,
    score_spread, score_tiny;
patterns_needle adversary_is_needle;

/* adversary_far.c */
patterns_score score_of_head, score_across;
extern const struct adversary_heads heads_far_below, heads_infinite, heads_largest;
adversary_kinds across_kinds;
adversary_shape shape_infinite, shape_across, shape_far_as_can_be;
adversary_change stretch_to_twice;

/* adversary_rises.c */
patterns_score score_rise;
adversary_kinds rise_kinds;
adversary_shape shape_rises;
adversary_change stretch_queries, stretch_queries_and_values;

/* adversary_sums.c */
patterns_score score_beside_one;
adversary_shape shape_few_keys, shape_many_keys;

/* adversary_values.c */
adversary_change subnormal_v, subnormal_qk, large_v, nan_in_k, nan_in_v, minus_nan_in_v,
    nan_in_last_column, nan_in_q, infinity_in_v;

/* adversary_weights.c */
adversary_change fill_all_sizes, fill_fractions, jitter_queries;
adversary_kinds size_kinds, fraction_kinds;
adversary_shape shape_own_values, shape_fractions;

#endif
