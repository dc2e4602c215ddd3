/*
 * adversary_inputs: the inputs.
 *
 * Each is there because some wrong kernel passes all others; tests/wrong/ has those kernels.  The names
 * have the numbers of f32; in f64 they are those of its range.
 */
#include "adversary_inputs.h"

#include "adversary_scores.h"
#include "base/random.h"

#define NOISE 0.25 /* standard deviation around the prescribed scores */

#define LEAKS .caveat = ATTN_CAVEAT_NAN_LEAKS
#define LEAKS_OR_VANISHES .caveat = ATTN_CAVEAT_NAN_LEAKS | ATTN_CAVEAT_NAN_VANISHES

const struct adversary adversaries[] = {
    {"small problem", .fill = fill_normal},
    {"weights", .fill = fill_normal, .shape = shape_weights},
    {"fully masked rows", .fill = fill_normal, .shape = shape_more_queries},
    {"first tile masked", .fill = fill_normal, .shape = shape_narrow_window},
    {"mean 2", .fill = mean_two},
    {"negative", .score = score_negative, .noise = NOISE, .mean = 2},
    {"needle", .score = score_needle, .noise = NOISE, .one_hot = true, .special_keys = true},
    {"ascending", .score = score_ascending, .noise = NOISE, .mean = 2},
    {"descending", .score = score_descending, .noise = NOISE, .mean = 2},
    {"falling by 100", .score = score_falling, .noise = NOISE, .mean = 2},
    {"rising by 100", .score = score_rising, .noise = NOISE, .mean = 2},
    {"exp edge", .score = score_exp_edge, .mean = 2},
    {"exp edge below", .score = score_exp_edge_below, .mean = 2},
    {"ties", .score = score_tied, .mean = 2},
    {"scores of 1000", .score = score_spread, .mean = 2},
    {"subnormal v", .fill = subnormal_v, .caveat = ATTN_CAVEAT_SUBNORMALS},
    {"subnormal q and k", .fill = subnormal_qk},
    {"large v", .fill = large_v},
    {"nan in k", .fill = nan_in_k, .special_keys = true, LEAKS_OR_VANISHES},
    {"nan in v", .fill = nan_in_v, .special_keys = true, LEAKS},
    {"nan in q", .fill = nan_in_q, .caveat = ATTN_CAVEAT_NAN_VANISHES},
    {"sink", .score = score_sink, .noise = NOISE, .mean = 2, .change = jitter_queries,
     .precise = true},
    {"rises", .score = score_rise, .mean = 2, .kinds = rise_kinds, .shape = shape_rises,
     .change = stretch_queries},
    {"rises with large v", .score = score_rise, .kinds = rise_kinds, .shape = shape_rises,
     .change = stretch_queries_and_values},
    {"keys far below", .score = score_far_below, .noise = NOISE, .mean = 2, .kinds = far_kinds,
     .shape = shape_own_values},
    {"scores of -inf", .score = score_infinite, .noise = NOISE, .mean = 2, .kinds = infinite_kinds,
     .shape = shape_infinite, .caveat = ATTN_CAVEAT_INFINITE_SCORES},
    {"scores of 1e38", .score = score_largest, .noise = NOISE, .mean = 2, .kinds = largest_kinds,
     .shape = shape_own_values},
    {"rises through 0", .score = score_across, .mean = 2, .kinds = across_kinds,
     .shape = shape_across, .change = stretch_to_twice},
    {"scores of 2e38", .score = score_largest, .noise = NOISE, .mean = 2, .kinds = largest_kinds,
     .shape = shape_far_as_can_be, .caveat = ATTN_CAVEAT_INFINITE_SCORES},
    {"sums near 1", .score = score_beside_one, .mean = 2, .shape = shape_few_keys,
     .change = stretch_to_twice, .precise = true, .fine = true},
    {"a sum of 70001", .score = score_tied, .mean = 2, .shape = shape_many_keys},
    {"weights of all sizes", .fill = fill_all_sizes, .kinds = size_kinds,
     .shape = shape_own_values},
    {"exponentials of a fraction", .fill = fill_fractions, .kinds = fraction_kinds,
     .shape = shape_fractions, .precise = true, .fine = true},
    {"mask hides the needle", .score = score_needle, .noise = NOISE, .one_hot = true,
     .special_keys = true, .shape = shape_mask, .change = hide_needles},
    {"mask shows the last key", .fill = fill_normal, .shape = shape_mask, .change = show_last_key},
    {"rows masked whole", .fill = fill_normal, .shape = shape_mask, .change = mask_rows},
    {"mask in blocks of 64", .fill = fill_normal, .shape = shape_mask_blocks,
     .change = mark_blocks_of_64},
    {"mask in blocks of 128", .fill = fill_normal, .shape = shape_mask_blocks,
     .change = mark_blocks_of_128},
    {"nan in k behind a mask", .fill = nan_in_k, .special_keys = true, .shape = shape_mask,
     LEAKS_OR_VANISHES},
    {"nan in v behind a mask", .fill = nan_in_v, .special_keys = true, .shape = shape_mask, LEAKS},
    {"hidden by a mask", .fill = fill_normal, .shape = shape_mask, .change = hide_columns, LEAKS},
    {"hidden by a bias", .fill = fill_normal, .shape = shape_bias, .change = hide_columns, LEAKS},
    {"hidden by a window", .fill = fill_normal, .shape = shape_window, .change = poison_hidden,
     LEAKS},
    {"hidden by causal_top_left", .fill = fill_normal, .shape = shape_top_left,
     .change = poison_hidden, LEAKS},
    {"hidden behind the ends in pages", .fill = fill_normal, .shape = shape_pages_and_lengths,
     .change = poison_hidden, LEAKS},
    {"bias of -inf", .fill = fill_normal, .shape = shape_bias, .change = bias_holes},
    {"bias far below", .fill = fill_normal, .shape = shape_bias, .change = bias_far_below},
    {"bias as low as can be", .fill = fill_normal, .shape = shape_bias, .change = bias_lowest,
     .caveat = ATTN_CAVEAT_INFINITE_SCORES},
    {"bias of 3e38", .fill = fill_normal, .shape = shape_bias, .change = bias_far_above},
    {"capped scores of 1000", .score = score_spread, .mean = 2, .shape = shape_softcap},
    {"capped scores of 0.001", .score = score_tiny, .mean = 2, .shape = shape_softcap_small},
    {"softcap of 10000", .fill = fill_normal, .shape = shape_softcap_far, .precise = true},
    {"sinks above all keys", .fill = fill_normal, .shape = shape_sinks, .change = raise_sinks},
    {"sinks of all sizes", .fill = fill_normal, .shape = shape_sinks, .change = vary_sinks},
    {"slopes of its own", .fill = fill_normal, .shape = shape_alibi, .change = vary_slopes},
    {"masked rows and sinks", .fill = fill_normal, .shape = shape_sinks_and_masked_rows},
    {"sequences of 0 to 2 keys", .fill = fill_normal, .shape = shape_short},
    {"packed sequences of 0 to 2", .fill = fill_normal, .shape = shape_short_packed},
    {"pages", .fill = fill_normal, .shape = shape_pages},
    {"pages of several sequences", .fill = fill_normal, .shape = shape_pages,
     .change = share_pages},
    {"scales of 0", .fill = fill_normal, .shape = shape_int8, .change = clear_scales},
    {"scales of 0 for channels", .fill = fill_normal, .shape = shape_int8_channels,
     .change = clear_scales},
    {"int8 of -128 and 127", .fill = fill_normal, .shape = shape_int8, .change = fill_extremes},
    {"nan in v's last column", .fill = nan_in_last_column, .special_keys = true, LEAKS},
    {"nan in v's last column behind a mask", .fill = nan_in_last_column, .special_keys = true,
     .shape = shape_mask, LEAKS},
    {"infinity in v", .fill = infinity_in_v, LEAKS},
    {"infinity in v behind a mask", .fill = infinity_in_v, .shape = shape_mask, LEAKS},
    {"nan in q, a mask, weights", .fill = nan_in_q, .shape = shape_mask_and_weights,
     .caveat = ATTN_CAVEAT_NAN_VANISHES},
    {"nan in a bias", .fill = fill_normal, .shape = shape_bias, .change = bias_nan,
     LEAKS_OR_VANISHES},
};

const size_t adversary_count = sizeof adversaries / sizeof *adversaries;

/* ---- at the case's own lengths ------------------------------------------------------------- */

const struct adversary adversary_needle_or_negative = {.phase = "needle or negative, full length",
                                                       .score = score_needle_or_negative,
                                                       .noise = NOISE,
                                                       .mean = 2,
                                                       .special_keys = true};
const struct adversary adversary_negative = {
    .phase = "negative, full length", .score = score_negative, .noise = NOISE, .mean = 2};
const struct adversary adversary_needle = {.phase = "needle, full length",
                                           .score = score_needle,
                                           .noise = NOISE,
                                           .one_hot = true,
                                           .special_keys = true};

void adversary_fill(struct trial *trial, const struct adversary *adversary, uint64_t key)
{
    const struct adversary_context context = {trial, key};
    const struct attn_problem *p = &trial->problem;
    if (adversary->fill)
        adversary->fill(trial, key);
    else
        adversary_scores(trial, key, adversary->score, adversary->noise);
    if (adversary->one_hot)
        patterns_one_hot(&trial->set, p, adversary_is_needle, &context);
    else if (adversary->score)
        patterns_normal(&trial->set, p, PATTERNS_V, key, adversary->mean, 1);
    if (adversary->change)
        adversary->change(trial, key);
    tensors_seal(&trial->set, p);
}
