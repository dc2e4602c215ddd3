/*
 * adversary_inputs: the inputs.
 *
 * Each is here because some wrong kernel passes all the others; those kernels are in tests/wrong/.  Numbers
 * in names are those for f32; for f64 they are larger, as its range is.
 */
#include "adversary_inputs.h"

#include "base/random.h"

#define NOISE 0.25 /* standard deviation around the prescribed scores */

#define LEAKS .caveat = ATTN_CAVEAT_NAN_LEAKS
#define LEAKS_OR_VANISHES .caveat = ATTN_CAVEAT_NAN_LEAKS | ATTN_CAVEAT_NAN_VANISHES
#define INFINITE LEAKS_OR_VANISHES | ATTN_CAVEAT_INFINITE_SCORES
#define INFINITE_K .change = scales_infinite_k, .kind_count = INFINITE_K_KINDS, INFINITE
#define BESIDE_BIASES                                                                     \
    .mask = ATTN_MASK_BIAS, .bias = masks_bias_largest, .score = far_score_of_head,       \
    .heads = &far_heads_infinite, .noise = NOISE, .mean = 2, .shape = far_shape_infinite, \
    .caveat = ATTN_CAVEAT_INFINITE_SCORES

const struct adversary adversaries[] = {
    {.phase = "small problem"},
    {"weights", .outputs = ATTN_OUTPUT_WEIGHTS},
    {"fully masked rows", .shape = shapes_more_queries},
    {"first tile masked", .shape = shapes_narrow_window},
    {"mean 2", .mean = 2},
    {"negative", .score = patterns_negative, .noise = NOISE, .mean = 2},
    {"needle", .score = scores_needle, .noise = NOISE, .one_hot = true, .special_keys = true},
    {"ascending", .score = scores_ascending, .noise = NOISE, .mean = 2},
    {"descending", .score = scores_descending, .noise = NOISE, .mean = 2},
    {"falling by 100", .score = scores_falling, .noise = NOISE, .mean = 2},
    {"rising by 100", .score = scores_rising, .noise = NOISE, .mean = 2},
    {"exp edge", .score = scores_exp_edge, .mean = 2},
    {"exp edge below", .score = scores_exp_edge_below, .mean = 2},
    {"ties", .score = scores_tied, .mean = 2},
    {"scores of 1000", .score = scores_spread, .mean = 2},
    {"subnormal v", .change = values_subnormal_v, .caveat = ATTN_CAVEAT_SUBNORMALS},
    {"subnormal q and k", .change = values_subnormal_qk},
    {"subnormal q, large k", .change = values_subnormal_q, .fine = true,
     .caveat = ATTN_CAVEAT_SUBNORMALS},
    {"large v", .change = values_large_v},
    {"nan in k", .change = values_nan_in_k, .special_keys = true, LEAKS_OR_VANISHES},
    {"nan in v", .change = values_nan_in_v, .special_keys = true, LEAKS},
    {"nan in q", .change = values_nan_in_q, .caveat = ATTN_CAVEAT_NAN_VANISHES},
    {"sink", .score = patterns_sink, .noise = NOISE, .mean = 2, .change = weights_jitter_queries,
     .precise = true},
    {"rises", .score = rises_score, .mean = 2, .kinds = rises_kinds, .shape = rises_shape,
     .change = rises_stretch_queries},
    {"rises with large v", .score = rises_score, .kinds = rises_kinds, .shape = rises_shape,
     .change = rises_stretch_queries_and_values},
    {"keys far below", .score = far_score_of_head, .heads = &far_heads_below, .noise = NOISE,
     .mean = 2, .shape = weights_shape_own_values},
    {"scores of -inf", .score = far_score_of_head, .heads = &far_heads_infinite, .noise = NOISE,
     .mean = 2, .shape = far_shape_infinite, .caveat = ATTN_CAVEAT_INFINITE_SCORES},
    {"scores of 1e38", .score = far_score_of_head, .heads = &far_heads_largest, .noise = NOISE,
     .mean = 2, .shape = weights_shape_own_values},
    {"rises through 0", .score = far_score_across, .mean = 2, .kinds = far_kinds,
     .shape = far_shape_across, .change = far_stretch_to_twice},
    {"scores of 2e38", .score = far_score_of_head, .heads = &far_heads_largest, .noise = NOISE,
     .mean = 2, .shape = far_shape_farthest, .caveat = ATTN_CAVEAT_INFINITE_SCORES},
    {"sums near 1", .score = adversary_sums_beside_one, .mean = 2, .shape = adversary_sums_few_keys,
     .change = far_stretch_to_twice, .precise = true, .fine = true},
    {"a sum of 70001", .score = scores_tied, .mean = 2, .shape = adversary_sums_many_keys},
    {"weights of all sizes", .fill = weights_fill_all_sizes, .kind_count = SIZE_KINDS,
     .shape = weights_shape_own_values},
    {"exponentials of a fraction", .fill = weights_fill_fractions, .kinds = weights_fraction_kinds,
     .shape = weights_shape_fractions, .precise = true, .fine = true},
    {"mask hides the needle", .score = scores_needle, .noise = NOISE, .one_hot = true,
     .special_keys = true, .mask = ATTN_MASK_BOOL, .hides = masks_hide_needle},
    {"mask shows the last key", .mask = ATTN_MASK_BOOL, .hides = masks_hide_all_but_last},
    {"rows masked whole", .mask = ATTN_MASK_BOOL, .hides = masks_hide_rows},
    {"mask in blocks of 64", .shape = shapes_mask_blocks, .hides = masks_hide_blocks_of_64},
    {"mask in blocks of 128", .shape = shapes_mask_blocks, .hides = masks_hide_blocks_of_128},
    {"nan in k behind a mask", .change = values_nan_in_k, .special_keys = true,
     .mask = ATTN_MASK_BOOL, LEAKS_OR_VANISHES},
    {"nan in v behind a mask", .change = values_nan_in_v, .special_keys = true,
     .mask = ATTN_MASK_BOOL, LEAKS},
    {"hidden by a mask", .mask = ATTN_MASK_BOOL, .hides = masks_hide_columns,
     .change = masks_poison_hidden, LEAKS},
    {"hidden by a bias", .mask = ATTN_MASK_BIAS, .bias = masks_bias_columns,
     .change = masks_poison_hidden, LEAKS},
    {"hidden by a bias, weights", .mask = ATTN_MASK_BIAS, .bias = masks_bias_columns,
     .change = masks_poison_hidden, .outputs = ATTN_OUTPUT_WEIGHTS, LEAKS},
    {"hidden by a window", .shape = shapes_window, .change = masks_poison_hidden, LEAKS},
    {"hidden by causal_top_left", .shape = shapes_top_left, .change = masks_poison_hidden, LEAKS},
    {"hidden behind the ends in pages", .options = ATTN_OPTION_RAGGED, .shape = shapes_pages,
     .change = masks_poison_hidden, LEAKS},
    {"bias of -inf", .mask = ATTN_MASK_BIAS, .bias = masks_bias_holes},
    {"bias far below", .mask = ATTN_MASK_BIAS, .bias = masks_bias_far_below},
    {"bias as low as can be", .mask = ATTN_MASK_BIAS, .bias = masks_bias_lowest,
     .caveat = ATTN_CAVEAT_INFINITE_SCORES},
    {"bias of 3e38", .mask = ATTN_MASK_BIAS, .bias = masks_bias_far_above},
    {"scores of -inf, biases", BESIDE_BIASES},
    {"scores of -inf, biases, weights", BESIDE_BIASES, .outputs = ATTN_OUTPUT_WEIGHTS},
    /* 200 times as large as the cap: tanh is 1 to the precision of f32. */
    {"capped scores of 1000", .score = scores_spread, .mean = 2, .softcap = 5},
    {"capped scores of 0.001", .score = scores_tiny, .mean = 2, .softcap = 50},
    /* N(0, 1) is so small beside the cap that tanh(x) = x: a tanh whose absolute error is an ulp of 1
     * makes scores wrong by 1e-3. */
    {"softcap of 10000", .softcap = 1e4F, .precise = true},
    {"sinks above all keys", .options = ATTN_OPTION_SINKS, .change = caches_raise_sinks},
    {"sinks of all sizes", .options = ATTN_OPTION_SINKS, .change = caches_vary_sinks},
    {"sinks of nan, rows masked whole", .mask = ATTN_MASK_BOOL, .options = ATTN_OPTION_SINKS,
     .hides = masks_hide_rows, .change = caches_nan_sinks, .caveat = ATTN_CAVEAT_NAN_VANISHES},
    {"sinks of nan, more queries than keys", .options = ATTN_OPTION_SINKS,
     .shape = shapes_more_queries, .change = caches_nan_sinks, .caveat = ATTN_CAVEAT_NAN_VANISHES},
    {"slopes of its own", .options = ATTN_OPTION_ALIBI, .change = caches_vary_slopes},
    {"masked rows and sinks", .options = ATTN_OPTION_SINKS, .shape = shapes_some_more_queries},
    {"sequences of 0 to 2 keys", .shape = shapes_short},
    {"packed sequences of 0 to 2", .shape = shapes_short_packed},
    {"pages", .shape = shapes_pages},
    {"pages of several sequences", .shape = shapes_pages, .change = caches_share_pages},
    {"a prefix of all sequences", .options = ATTN_OPTION_RAGGED | ATTN_OPTION_SINKS,
     .shape = shapes_prefix},
    {"prefixes of some sequences", .options = ATTN_OPTION_RAGGED, .shape = shapes_prefixes,
     .change = caches_share_prefixes},
    {"prefixes of 8 bits", .kv_dtype = ATTN_I8, .shape = shapes_prefixes,
     .change = caches_share_prefixes},
    {"scales of 0", .kv_dtype = ATTN_I8, .change = scales_clear},
    {"scales of 0 for channels", .kv_dtype = ATTN_I8, .scales = INPUT_SCALES_CHANNEL,
     .change = scales_clear},
    {"int8 of -128 and 127", .kv_dtype = ATTN_I8, .change = scales_fill_extremes},
    {"f8e4m3 of all sizes", .kv_dtype = ATTN_F8E4M3, .change = scales_fill_bytes},
    {"f8e5m2 of all sizes", .kv_dtype = ATTN_F8E5M2, .change = scales_fill_bytes},
    {"f8e4m3, scales of all sizes", .kv_dtype = ATTN_F8E4M3, .change = scales_vary,
     .kind_count = SCALE_KINDS, .caveat = ATTN_CAVEAT_SUBNORMALS},
    {"f8e5m2, scales of all sizes", .kv_dtype = ATTN_F8E5M2, .change = scales_vary,
     .kind_count = SCALE_KINDS, .caveat = ATTN_CAVEAT_SUBNORMALS},
    {"f8e5m2, large scales of v", .kv_dtype = ATTN_F8E5M2, .change = scales_enlarge_v},
    {"f8e5m2, large scales of v by heads", .kv_dtype = ATTN_F8E5M2, .scales = INPUT_SCALES_HEAD,
     .change = scales_enlarge_v},
    {"f8e4m3, nan in k", .kv_dtype = ATTN_F8E4M3, .change = values_nan_in_k, .special_keys = true,
     LEAKS_OR_VANISHES},
    {"f8e4m3, -nan in v behind a mask", .kv_dtype = ATTN_F8E4M3, .change = values_minus_nan_in_v,
     .special_keys = true, .mask = ATTN_MASK_BOOL, LEAKS},
    {"f8e5m2, -nan in v", .kv_dtype = ATTN_F8E5M2, .change = values_minus_nan_in_v,
     .special_keys = true, LEAKS},
    {"f8e5m2, infinity in v behind a mask", .kv_dtype = ATTN_F8E5M2, .change = values_infinity_in_v,
     .mask = ATTN_MASK_BOOL, LEAKS},
    {"f8e4m3, hidden by a mask", .kv_dtype = ATTN_F8E4M3, .mask = ATTN_MASK_BOOL,
     .hides = masks_hide_columns, .change = masks_poison_hidden, LEAKS},
    {"i4 of all values", .kv_dtype = ATTN_I4, .change = scales_fill_nibbles},
    {"i4 in short groups", .kv_dtype = ATTN_I4, .shape = shapes_short_groups,
     .change = scales_fill_nibbles},
    {"i4 with zero points", .kv_dtype = ATTN_I4, .options = ATTN_OPTION_ZERO_POINTS,
     .shape = shapes_short_groups, .change = scales_fill_nibbles},
    {"i4, scales of 0", .kv_dtype = ATTN_I4, .change = scales_clear},
    {"i4, scales of all sizes", .kv_dtype = ATTN_I4, .shape = shapes_short_groups,
     .change = scales_vary, .kind_count = SCALE_KINDS, .caveat = ATTN_CAVEAT_SUBNORMALS},
    {"i4, large queries, small scales of k", .kv_dtype = ATTN_I4, .change = scales_shrink_k},
    {"i4, nan in k", .kv_dtype = ATTN_I4, .change = values_nan_in_k, .special_keys = true,
     LEAKS_OR_VANISHES},
    {"i4, hidden by a mask", .kv_dtype = ATTN_I4, .mask = ATTN_MASK_BOOL,
     .hides = masks_hide_columns, .change = masks_poison_hidden, LEAKS},
    {"nan in v's last column", .change = values_nan_in_last_column, .special_keys = true, LEAKS},
    {"nan in v's last column behind a mask", .change = values_nan_in_last_column,
     .special_keys = true, .mask = ATTN_MASK_BOOL, LEAKS},
    {"infinity in v", .change = values_infinity_in_v, LEAKS},
    {"infinity in v behind a mask", .change = values_infinity_in_v, .mask = ATTN_MASK_BOOL, LEAKS},
    {"infinity in v behind a bias", .change = values_infinity_in_v, .mask = ATTN_MASK_BIAS,
     .bias = masks_bias_holes, LEAKS},
    {"nan in q, a mask, weights", .change = values_nan_in_q, .mask = ATTN_MASK_BOOL,
     .outputs = ATTN_OUTPUT_WEIGHTS, .caveat = ATTN_CAVEAT_NAN_VANISHES},
    {"nan in a bias", .mask = ATTN_MASK_BIAS, .bias = masks_bias_nan, LEAKS_OR_VANISHES},
    {"scores", .outputs = ATTN_OUTPUT_SCORES},
    {"tree that is a chain", .shape = shapes_tree, .tree = trees_parent_before},
    {"tree that is a star", .shape = shapes_tree, .tree = trees_parent_cache},
    {"two branches across blocks", .shape = shapes_tall_tree, .tree = trees_parent_two_before},
    {"broad tree", .shape = shapes_tree, .tree = trees_parent_seventh},
    {"nan in a draft", .shape = shapes_tree, .tree = trees_parent_seventh,
     .change = trees_nan_in_draft, LEAKS_OR_VANISHES},
    {"lists padded in front", .list_keys = 83, .lists = index_front_padded},
    {"lists padded between", .list_keys = 83, .list_queries = 3, .lists = index_scattered},
    {"lists of nothing and of all", .list_keys = 83, .lists = index_none_or_all},
    {"lists of one key", .list_keys = 83, .list_queries = 3, .lists = index_one},
    {"lists that fall, causal", .shape = shapes_causal, .list_keys = 150, .list_queries = 2,
     .lists = index_falling},
    {"lists across pages", .shape = shapes_pages, .list_keys = 83, .lists = index_scattered},
    {"hidden by lists", .list_keys = 83, .lists = index_scattered, .change = masks_poison_hidden,
     LEAKS},
    {"hidden by lists, pages", .shape = shapes_pages, .list_keys = 83, .lists = index_scattered,
     .change = masks_poison_hidden, LEAKS},
    {"nan in k, a mask, scores", .change = values_nan_in_k, .special_keys = true,
     .mask = ATTN_MASK_BOOL, .outputs = ATTN_OUTPUT_SCORES, LEAKS_OR_VANISHES},
    {"f8e5m2, -inf in k, scales of channels", .kv_dtype = ATTN_F8E5M2,
     .scales = INPUT_SCALES_CHANNEL, .change = scales_infinite_keys, INFINITE},
    {"int8, infinite scales of k", .kv_dtype = ATTN_I8, INFINITE_K},
    {"int8, infinite scales of k by channels", .kv_dtype = ATTN_I8, .scales = INPUT_SCALES_CHANNEL,
     INFINITE_K},
    {"int8, infinite scales of k by heads", .kv_dtype = ATTN_I8, .scales = INPUT_SCALES_HEAD,
     INFINITE_K},
    {"int8, infinite scales of k in all", .kv_dtype = ATTN_I8, .scales = INPUT_SCALES_TENSOR,
     INFINITE_K},
    {"f8e4m3, infinite scales of k", .kv_dtype = ATTN_F8E4M3, INFINITE_K},
    {"f8e4m3, infinite scales of k by heads", .kv_dtype = ATTN_F8E4M3, .scales = INPUT_SCALES_HEAD,
     INFINITE_K},
    {"f8e5m2, infinite scales of k", .kv_dtype = ATTN_F8E5M2, INFINITE_K},
    {"f8e5m2, infinite scales of k by channels", .kv_dtype = ATTN_F8E5M2,
     .scales = INPUT_SCALES_CHANNEL, INFINITE_K},
    {"i4, infinite scales of k", .kv_dtype = ATTN_I4, INFINITE_K},
    {"i4, infinite scales of k by heads", .kv_dtype = ATTN_I4, .scales = INPUT_SCALES_HEAD,
     INFINITE_K},
    {"int8, infinite scales of k behind a mask", .kv_dtype = ATTN_I8, .mask = ATTN_MASK_BOOL,
     INFINITE_K},
    {"f8e4m3, infinite scales of k behind a mask", .kv_dtype = ATTN_F8E4M3, .mask = ATTN_MASK_BOOL,
     INFINITE_K},
    {"i4, infinite scales of k behind a mask", .kv_dtype = ATTN_I4, .mask = ATTN_MASK_BOOL,
     INFINITE_K},
    {"int8, infinite scales of v by heads", .kv_dtype = ATTN_I8, .scales = INPUT_SCALES_HEAD,
     .change = scales_infinite_v, INFINITE},
    {"f8e5m2, infinite scales of v by heads", .kv_dtype = ATTN_F8E5M2, .scales = INPUT_SCALES_HEAD,
     .change = scales_infinite_v, INFINITE},
    {"int8, infinite scales of v behind a mask", .kv_dtype = ATTN_I8, .mask = ATTN_MASK_BOOL,
     .change = scales_infinite_v, INFINITE},
    {"f8e4m3, infinite scales of v behind a mask", .kv_dtype = ATTN_F8E4M3, .mask = ATTN_MASK_BOOL,
     .change = scales_infinite_v, INFINITE},
    {"i4, infinite scales of v behind a mask", .kv_dtype = ATTN_I4, .mask = ATTN_MASK_BOOL,
     .change = scales_infinite_v, INFINITE},
};

const size_t adversary_count = sizeof adversaries / sizeof *adversaries;

/* ---- at the case's own lengths ------------------------------------------------------------- */

const struct adversary adversary_needle_or_negative = {.phase = "needle or negative, full length",
                                                       .score = scores_needle_or_negative,
                                                       .noise = NOISE,
                                                       .mean = 2,
                                                       .special_keys = true};
const struct adversary adversary_negative = {
    .phase = "negative, full length", .score = patterns_negative, .noise = NOISE, .mean = 2};
const struct adversary adversary_needle = {.phase = "needle, full length",
                                           .score = scores_needle,
                                           .noise = NOISE,
                                           .one_hot = true,
                                           .special_keys = true};

bool adversary_shape_case(const struct adversary *adversary, struct problem_case *c)
{
    struct attn_problem *p = &c->problem;
    p->mask |= adversary->mask;
    p->options |= adversary->options | (adversary->softcap > 0 ? ATTN_OPTION_SOFTCAP : 0);
    p->outputs |= adversary->outputs;
    if (adversary->softcap > 0)
        p->softcap = adversary->softcap;
    if (adversary->kv_dtype)
        kv_set_type(p, adversary->kv_dtype);
    if (adversary->scales)
        c->input.scales = adversary->scales;
    if (adversary->mask & ATTN_MASK_BOOL)
        c->input.mask_full = true;
    if (adversary->mask & ATTN_MASK_BIAS)
        c->input.bias = INPUT_BIAS_FULL;
    if (adversary->list_keys)
        adversary_add_lists(p, adversary->list_keys, adversary->list_queries);
    return !adversary->shape || adversary->shape(c);
}

void adversary_fill(struct trial *trial, const struct adversary *adversary, uint64_t key)
{
    const struct attn_problem *p = &trial->problem;
    trial->key = key;
    trial->heads = adversary->heads;
    if (adversary->fill)
        adversary->fill(trial);
    else if (adversary->score)
        adversary_scores(trial, adversary->score, adversary->noise);
    else
        for (unsigned n = PATTERNS_Q; n <= PATTERNS_V; n++)
            patterns_normal(&trial->set, p, n, random_key(key, n), 0, 1);
    if (adversary->one_hot)
        patterns_one_hot(&trial->set, p, adversary_is_needle, trial);
    else if (adversary->score || adversary->mean != 0)
        patterns_normal(&trial->set, p, PATTERNS_V, key, adversary->mean, 1);
    if (adversary->hides)
        adversary_mask(trial, adversary->hides);
    if (adversary->bias)
        adversary_set_bias(trial, adversary->bias);
    if (adversary->tree)
        adversary_make_tree(trial, adversary->tree);
    if (adversary->lists)
        adversary_make_lists(trial, adversary->lists);
    if (adversary->change)
        adversary->change(trial);
    tensors_seal(&trial->set, p);
}
