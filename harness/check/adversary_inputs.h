/*
 * adversary_inputs: the adversarial inputs, and the functions that make their problems, masks, scores and
 * contents; for check/adversary*.c only.
 */
#pragma once

#include "trial.h"
#include "problem/patterns.h"

/* Makes another problem from a case; false where that is not possible. */
typedef bool adversary_shape(struct problem_case *c);
adversary_shape shapes_more_queries, shapes_some_more_queries, shapes_narrow_window,
    shapes_mask_blocks, shapes_short, shapes_short_packed, shapes_pages, shapes_window,
    shapes_top_left, shapes_causal, shapes_tree, shapes_tall_tree, shapes_short_groups,
    shapes_prefix, shapes_prefixes;

#define ADVERSARY_COUNT(array) (sizeof(array) / sizeof *(array))

/* How many kinds of KV heads an input has on a problem; it runs until each kind has occurred. */
typedef size_t adversary_kinds(const struct attn_problem *problem);

/* The kinds of heads of an input. */
struct adversary_heads {
    const struct adversary_head *kinds;
    size_t count;
};

/* Whether a boolean mask hides a key; `at` is the index of its element in each dimension. */
typedef bool adversary_hider(const struct trial *trial, const size_t at[4]);
void adversary_mask(struct trial *trial, adversary_hider *hides);
adversary_hider masks_hide_needle, masks_hide_all_but_last, masks_hide_rows,
    masks_hide_blocks_of_64, masks_hide_blocks_of_128, masks_hide_columns;

/* The bias of row i at key j; `random` is the one it replaces. */
typedef double adversary_bias(const struct trial *trial, size_t i, size_t j, double random);
void adversary_set_bias(struct trial *trial, adversary_bias *bias);
adversary_bias masks_bias_columns, masks_bias_holes, masks_bias_far_below, masks_bias_lowest,
    masks_bias_far_above, masks_bias_largest, masks_bias_nan;

/* The parent of draft i, in the tree of every sequence; -1: the cache. */
typedef ptrdiff_t adversary_parent(ptrdiff_t i);
void adversary_make_tree(struct trial *trial, adversary_parent *parent);
adversary_parent trees_parent_before, trees_parent_cache, trees_parent_two_before,
    trees_parent_seventh;

/* An entry of a list of keys: entry n of `count` in list `number` of KV head g in sequence b, which has
 * kv_len keys.  The function returns its key; -1, or a key that the sequence does not have, means none. */
struct adversary_place {
    size_t b, g, number, n, count, kv_len;
};
typedef ptrdiff_t adversary_entry(const struct adversary_place *place);
/* Gives the problem lists of so many keys for each `queries` queries, 0: for each, and at least enough
 * queries and keys for them. */
void adversary_add_lists(struct attn_problem *problem, size_t keys, size_t queries);
void adversary_make_lists(struct trial *trial, adversary_entry *entry);
adversary_entry index_front_padded, index_scattered, index_none_or_all, index_one, index_falling;

/* Fills the operands, or changes them after they are filled. */
typedef void adversary_change(struct trial *trial);
adversary_change masks_poison_hidden;
adversary_change trees_nan_in_draft;
adversary_change caches_raise_sinks, caches_vary_sinks, caches_nan_sinks, caches_vary_slopes,
    caches_share_pages, caches_share_prefixes;
adversary_change scales_clear, scales_vary, scales_shrink_k, scales_enlarge_v, scales_infinite_keys,
    scales_infinite_k, scales_infinite_v, scales_fill_extremes, scales_fill_bytes,
    scales_fill_nibbles;
enum { SCALE_KINDS = 4, INFINITE_K_KINDS = 3 };

/* A random number in [0, 1) for a key. */
double adversary_unit(const struct trial *trial, struct kv_place at);

/* The kind of a KV head, of `kinds`: heads rotate through the kinds over all runs of the input. */
size_t adversary_kind(const struct trial *trial, size_t b, size_t g, size_t kinds);

/* Query rows of a KV head. */
size_t adversary_rows(const struct attn_problem *problem);

/* Multiplies each query by a factor of its own. */
typedef double adversary_factor(const struct trial *trial, size_t b, size_t h, size_t i);
void adversary_stretch(struct trial *trial, adversary_factor *factor);

/* Limits of the type in which the kernel computes: f64 for problems in f64, else f32. */
struct adversary_range {
    double largest;        /* also of elements of K and V, whose scales are f32 */
    int smallest_exponent; /* 2^smallest_exponent is the smallest normal number */
    double exp_edge;       /* e^exp_edge is nearly the largest number */
};
const struct adversary_range *adversary_range(const struct trial *trial);

/* The score, clamped to the largest of its sign that can be computed without an overflow on the way. */
double adversary_held(const struct trial *trial, double score);

/* Fills Q and K so that keys have these scores, clamped by adversary_held(); the context of the functions is the
 * trial. */
void adversary_scores(struct trial *trial, patterns_score *score, double noise);

/* The largest size of elements of V for which 256 times the sum over all keys stays finite and f16 holds
 * them. */
double adversary_room(const struct trial *trial);

/* Scales V so that its largest element, or 1 where all are smaller, becomes that size. */
void adversary_enlarge_v(struct trial *trial);

patterns_score scores_needle, scores_needle_or_negative, scores_ascending, scores_descending,
    scores_falling, scores_rising, scores_exp_edge, scores_exp_edge_below, scores_tied,
    scores_spread, scores_tiny;
patterns_needle adversary_is_needle;

patterns_score far_score_of_head, far_score_across;
extern const struct adversary_heads far_heads_below, far_heads_infinite, far_heads_largest;
adversary_kinds far_kinds;
adversary_shape far_shape_infinite, far_shape_across, far_shape_farthest;
adversary_change far_stretch_to_twice;

patterns_score rises_score;
adversary_kinds rises_kinds;
adversary_shape rises_shape;
adversary_change rises_stretch_queries, rises_stretch_queries_and_values;

patterns_score adversary_sums_beside_one;
adversary_shape adversary_sums_few_keys, adversary_sums_many_keys;

adversary_change values_subnormal_v, values_subnormal_qk, values_subnormal_q, values_large_v,
    values_nan_in_k, values_nan_in_v, values_minus_nan_in_v, values_nan_in_last_column,
    values_nan_in_q, values_infinity_in_v;

adversary_change weights_fill_all_sizes, weights_fill_fractions, weights_jitter_queries;
adversary_kinds weights_fraction_kinds;
enum { SIZE_KINDS = 3 };
adversary_shape weights_shape_own_values, weights_shape_fractions;

/* ---- the inputs ------------------------------------------------------------------------------ */

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
