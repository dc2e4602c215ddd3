/*
 * Kernels that do one of the options wrong must be caught: where the problem has it, on its own input or
 * by the phase that is there for them; where it has not, because they claim it.
 */
#include "testing.h"

#include "in_child.h"

#define SQUARE "hq=4,hkv=2,s=70,d=24,dv=17"
#define TREES "b=3,hq=4,hkv=2,sq=21,skv=69,d=24,dv=17,mask=tree"
#define LISTS "b=3,hq=4,hkv=2,sq=5,skv=69,d=24,dv=17,keys=index:40"
#define CACHE "b=3,hq=4,hkv=2,sq=5,skv=69,d=24,dv=17"
#define MANY_KEYS "b=3,hq=4,hkv=2,sq=5,skv=700,d=24,dv=17"
#define NIBBLES "b=3,hq=4,hkv=2,sq=5,skv=69,d=40,dv=41,kv_dtype=i4"
#define PAGES CACHE ",page=16"

/* Kernel, problem, input, the phase and what the message must contain. */
#define CATCHES(X)                                                                                 \
    X(mask_transposed, SQUARE ",mask=bool", "normal", "own input", "it gives key ")                \
    X(mask_of_the_first_head, SQUARE ",mask=bool", "normal+mask:elements:0.5:full", "own input",   \
      "as if it read the boolean mask of head 0")                                                  \
    X(mask_or_causal, SQUARE ",mask=bool+causal", "normal", "own input", "which the mask hides")   \
    X(mask_of_the_first_row, SQUARE ",mask=bool", "normal", "own input", "it gives key ")          \
    X(mask_inverted_in_tail, SQUARE ",mask=bool", "normal", "own input",                           \
      "which the boolean mask hides")                                                              \
    X(full_block_counts_as_empty, SQUARE ",mask=bool", "normal", "mask hides the needle",          \
      "at key 69")                                                                                 \
    X(full_block_misses_last_row, SQUARE ",mask=bool", "normal", "mask in blocks of 64",           \
      "which the boolean mask hides")                                                              \
    X(hides_by_minus_1e9, SQUARE ",mask=bias", "normal", "bias far below", "")                     \
    X(nan_leaks_through_weights, SQUARE ",mask=bool", "normal", "nan in v", "got nan")             \
    X(nan_unseen_in_tail, SQUARE ",mask=bool", "normal", "nan in v's last column", "got nan")      \
    X(bias_before_scale, SQUARE ",mask=bias", "normal", "own input", "")                           \
    X(scores_before_bias, SQUARE ",mask=bias,outputs=scores", "normal", "own input", "scores")     \
    X(scores_before_bias, SQUARE ",mask=bias", "normal", "scores", "scores row")                   \
    X(bias_before_softcap, SQUARE ",mask=bias,softcap=1", "normal", "own input", "")               \
    X(minus_infinity_is_lowest, SQUARE ",mask=bias", "normal", "scores of -inf, biases", "")       \
    X(softcap_after_mask, SQUARE ",mask=bool,softcap=1", "normal", "own input", "it gives key ")   \
    X(softcap_divides_only, SQUARE ",softcap=5", "normal", "own input", "it gives key ")           \
    X(tanh_overflows, SQUARE ",softcap=5", "normal", "scores of 1000", "got nan")                  \
    X(tanh_loses_small, SQUARE ",softcap=5", "normal", "softcap of 10000",                         \
      "less precision than claimed")                                                               \
    X(window_left_off_by_one, SQUARE ",window=9", "normal", "own input",                           \
      "query 10 sees key 0, which the mask hides")                                                 \
    X(window_right_off_by_one, SQUARE ",window=9:3", "normal", "own input",                        \
      "did not see its last key, 3")                                                               \
    X(alibi_without_offset, CACHE ",alibi=1,outputs=o+lse", "normal", "own input",                 \
      "as if slopes began at key 0 instead of 64")                                                 \
    X(sink_left_out_of_lse, SQUARE ",sinks=1,outputs=o+lse", "normal", "own input",                \
      "as if there were no sink")                                                                  \
    X(sink_scaled, SQUARE ",sinks=1", "normal", "own input", "as if the sink were scaled, too")    \
    X(sink_outside_maximum, SQUARE ",sinks=1", "normal", "scores of 1e38", "got ")                 \
    X(sum_in_fixed_point, PLAIN, "normal", "sink", "")                                             \
    X(sum_in_fixed_point, PLAIN, "sink", "own input", "")                                          \
    X(drops_small_weights, MORE_KEYS, "normal", "needle", "got 0, expected -1")                    \
    X(length_of_the_neighbour, CACHE ",ragged=1", "normal", "own input", "as if sequence 0 had ")  \
    X(empty_sequence_is_nan, CACHE ",ragged=1", "normal", "sequences of 0 to 2 keys",              \
      "got nan, expected 0")                                                                       \
    X(packed_reads_on, SQUARE ",b=3,packed=1", "normal", "own input",                              \
      "which lies behind the end of its sequence")                                                 \
    X(packed_top_left_of_all, SQUARE ",b=3,packed=1,mask=causal_top_left", "normal", "own input",  \
      "as if there were no mask")                                                                  \
    X(last_page_read_whole, CACHE ",page=16,ragged=1", "normal", "own input",                      \
      "which lies behind the end of its sequence")                                                 \
    X(page_of_the_first_head, CACHE ",page=16", "normal", "own input",                             \
      "KV head 0 of sequence 0 instead of 1 of 0")                                                 \
    X(table_of_the_first_sequence, CACHE ",page=16", "normal", "own input",                        \
      "KV head 0 of sequence 0 instead of 0 of 1")                                                 \
    X(k_scale_of_the_next_token, CACHE ",kv_dtype=i8", "normal", "own input", "")                  \
    X(v_scale_missing, CACHE ",kv_dtype=i8", "normal", "own input", "v_scale were not applied")    \
    X(v_scale_relative_to_first, CACHE ",kv_dtype=i8", "normal", "weights of all sizes",           \
      "got nan")                                                                                   \
    X(values_from_the_tail, CACHE ",shared_kv=1", "normal", "own input", "got ")                   \
    X(int8_taken_for_unsigned, CACHE ",kv_dtype=i8", "normal", "own input",                        \
      "as if bytes of int8 were unsigned")                                                         \
    X(int8_negated, CACHE ",kv_dtype=i8", "normal", "int8 of -128 and 127", "")                    \
    X(v_scale_missing, CACHE ",kv_dtype=f8e4m3", "normal+scales:head", "own input",                \
      "v_scale were not applied")                                                                  \
    X(k_scale_of_the_next_token, CACHE ",kv_dtype=f8e5m2", "normal", "own input", "")              \
    X(f8_bias_of_fnuz, CACHE ",kv_dtype=f8e4m3", "normal", "own input", "")                        \
    X(f8_nan_as_480, CACHE ",kv_dtype=f8e4m3", "normal", "nan in k", "expected nan")               \
    X(f8_minus_nan_as_480, CACHE ",kv_dtype=f8e4m3", "normal", "infinity in v", "expected nan")    \
    X(f8_subnormals_flushed, CACHE ",kv_dtype=f8e5m2", "normal", "f8e5m2 of all sizes", "")        \
    X(f8_infinity_as_number, CACHE ",kv_dtype=f8e5m2", "normal", "infinity in v", "")              \
    X(scaled_weights_flushed, MANY_KEYS ",kv_dtype=f8e5m2", "normal",                              \
      "f8e5m2, scales of all sizes", "")                                                           \
    X(v_scale_outside_the_sum, CACHE ",kv_dtype=i8", "normal+scales:head", "infinity in v",        \
      "expected nan")                                                                              \
    X(k_scale_outside_the_sum, CACHE ",kv_dtype=f8e4m3", "normal", "f8e4m3, infinite scales of k", \
      "expected nan")                                                                              \
    X(scaled_query_in_parts, CACHE ",kv_dtype=f8e5m2,dtype=bf16", "normal+scales:channel",         \
      "f8e5m2, -inf in k, scales of channels", "got nan")                                          \
    X(i4_halves_swapped, NIBBLES, "normal", "own input", "")                                       \
    X(i4_zero_points_ignored, NIBBLES ",kv_zeros=1", "normal", "own input",                        \
      "as if zero points were 8")                                                                  \
    X(i4_zero_of_v_for_k, NIBBLES ",kv_zeros=1", "normal", "own input",                            \
      "as if v_zero were k_zero")                                                                  \
    X(i4_scale_of_the_next_group, NIBBLES, "normal", "own input", "")                              \
    X(i4_short_group_unscaled, NIBBLES, "normal", "own input", "")                                 \
    X(i4_as_twos_complement, NIBBLES, "normal", "own input", "")                                   \
    X(list_of_the_first_query, LISTS, "normal", "own input", "as if it read the list of query 0")  \
    X(list_of_the_first_head, LISTS, "normal", "own input", "as if it read the list of KV head 0") \
    X(padding_is_key_0, LISTS, "normal", "lists padded in front", "which the list does not name")  \
    X(list_instead_of_mask, LISTS ",mask=causal", "normal", "lists padded between",                \
      "as if there were no mask")                                                                  \
    X(list_instead_of_mask, LISTS, "normal", "lists that fall, causal", "")                        \
    X(list_of_physical_keys, LISTS ",page=16", "normal", "own input", "")                          \
    X(tree_as_chain, TREES, "normal", "own input", "as if the drafts were a chain")                \
    X(tree_shows_siblings, TREES, "normal", "own input", "which the tree hides")                   \
    X(tree_stops_at_parent, TREES, "normal", "own input", "")                                      \
    X(tree_one_key_late, TREES, "normal", "own input", "which the tree hides")                     \
    X(tree_of_the_first_sequence, TREES, "normal", "own input",                                    \
      "as if it read the tree of sequence 0")                                                      \
    X(prefix_of_the_neighbour, PAGES, "normal+prefix:48", "own input", "")                         \
    X(prefix_counts_sink, PAGES ",sinks=1", "normal+prefix:48", "own input", "")                   \
    X(prefix_of_the_first_pair, PAGES, "normal", "prefixes of some sequences", "")                 \
    X(prefix_in_whole_blocks, PAGES, "normal+prefix:48", "own input", "")                          \
    X(prefix_with_others_scales, PAGES ",kv_dtype=i8", "normal+prefix:48+scales:channel",          \
      "own input", "")

/* What the problem does not use: kernels are judged by what they claim. */
#define PLAIN_SMALL "h=2,sq=38,skv=69,d=24"
#define UNUSED(X)                                                                                 \
    X(mask_transposed, PLAIN_SMALL, "normal", "square boolean mask", "")                          \
    X(mask_of_the_first_head, PLAIN_SMALL, "normal", "mask hides the needle", "")                 \
    X(full_block_counts_as_empty, PLAIN_SMALL, "normal", "mask hides the needle", "")             \
    X(nan_leaks_through_weights, PLAIN_SMALL, "normal", "nan in v behind a mask", "")             \
    X(nan_unseen_in_tail, PLAIN_SMALL ",dv=17", "normal", "nan in v's last column behind a mask", \
      "got nan")                                                                                  \
    X(bias_nan_vanishes, PLAIN_SMALL, "normal", "nan in a bias", "expected nan")                  \
    X(mask_added, PLAIN_SMALL, "normal", "nan in k behind a mask", "got nan")                     \
    X(hides_by_minus_1e9, PLAIN_SMALL, "normal", "bias far below", "")                            \
    X(lowest_means_hidden, PLAIN_SMALL, "normal", "bias as low as can be", "")                    \
    X(tanh_overflows, PLAIN_SMALL, "normal", "capped scores of 1000", "")                         \
    X(empty_sequence_is_nan, PLAIN_SMALL, "normal", "sequences of 0 to 2 keys", "")               \
    X(packed_reads_on, PLAIN_SMALL, "normal", "packed sequences of 0 to 2", "")                   \
    X(table_of_the_first_sequence, PLAIN_SMALL, "normal", "hidden behind the ends in pages", "")  \
    X(sink_outside_maximum, PLAIN_SMALL, "normal", "sinks above all keys", "got ")                \
    X(prefix_of_the_neighbour, PLAIN_SMALL, "normal", "pages of several sequences", "")           \
    X(prefix_counts_sink, PLAIN_SMALL, "normal", "a prefix of all sequences", "")                 \
    X(prefix_of_the_first_pair, PLAIN_SMALL, "normal", "prefixes of some sequences", "")          \
    X(prefix_in_whole_blocks, PLAIN_SMALL, "normal", "a prefix of all sequences", "")             \
    X(prefix_with_others_scales, PLAIN_SMALL, "normal", "prefixes of 8 bits", "")                 \
    X(v_scale_relative_to_first, PLAIN_SMALL, "normal", "scales of 0", "got nan")                 \
    X(int8_negated, PLAIN_SMALL, "normal", "int8 of -128 and 127", "")                            \
    X(f8_bias_of_fnuz, PLAIN_SMALL, "normal", "f8e4m3 of all sizes", "")                          \
    X(f8_nan_as_480, PLAIN_SMALL, "normal", "f8e4m3, nan in k", "expected nan")                   \
    X(f8_minus_nan_as_480, PLAIN_SMALL, "normal", "f8e4m3, -nan in v behind a mask", "")          \
    X(f8_subnormals_flushed, PLAIN_SMALL, "normal", "f8e4m3 of all sizes", "")                    \
    X(f8_infinity_as_number, PLAIN_SMALL, "normal", "f8e5m2, infinity in v behind a mask", "")    \
    X(scaled_weights_flushed, MANY_KEYS, "normal", "f8e4m3, scales of all sizes", "")             \
    X(v_scale_outside_the_sum, PLAIN_SMALL, "normal", "int8, infinite scales of v by heads", "")  \
    X(k_scale_outside_the_sum, PLAIN_SMALL, "normal", "int8, infinite scales of k",               \
      "expected nan")                                                                             \
    X(scaled_query_in_parts, PLAIN_SMALL ",dtype=bf16", "normal",                                 \
      "f8e5m2, -inf in k, scales of channels", "got nan")                                         \
    X(nan_sink_vanishes, PLAIN_SMALL, "normal", "sinks of nan, rows masked whole", "nan")         \
    X(scaled_query_vanishes, CACHE ",kv_dtype=f8e5m2", "normal+scales:channel",                   \
      "f8e5m2, -inf in k, scales of channels", "got nan")                                         \
    X(scaled_weights_overflow, PLAIN_SMALL, "normal", "f8e5m2, large scales of v", "")            \
    X(alibi_without_offset, PLAIN_SMALL, "normal", "slopes of its own", "")                       \
    X(i4_halves_swapped, PLAIN_SMALL, "normal", "i4 of all values", "")                           \
    X(i4_as_twos_complement, PLAIN_SMALL, "normal", "i4 of all values", "")                       \
    X(i4_scale_of_the_next_group, PLAIN_SMALL, "normal", "i4 in short groups", "")                \
    X(i4_short_group_unscaled, PLAIN_SMALL, "normal", "i4 in short groups", "")                   \
    X(i4_zero_points_ignored, PLAIN_SMALL, "normal", "i4 with zero points", "")                   \
    X(i4_zero_of_v_for_k, PLAIN_SMALL, "normal", "i4 in groups of 64, zero points, one query",    \
      "as if v_zero were k_zero")

/* Each hypothesis of the diagnosis that no other kernel here shows. */
#define DIAGNOSED(X)                                                                               \
    X(drops_first_key, SQUARE, "normal", "own input", "did not see its first key, 0")              \
    X(causal_as_top_left, CACHE ",mask=causal", "normal", "own input", "aligned to the first key") \
    X(length_of_the_shorter, CACHE ",ragged=1", "normal", "own input", " keys of sequence ")       \
    X(list_ignored, LISTS, "normal", "own input", "as if it saw keys that its list does not name") \
    X(bool_ignored, SQUARE ",mask=bool", "normal", "own input",                                    \
      "as if there were no boolean mask")                                                          \
    X(query_after, SQUARE, "normal", "own input", "as if it computed query 1")                     \
    X(query_before, SQUARE, "normal", "own input", "as if it computed query 0")                    \
    X(keys_of_the_first_head, SQUARE, "normal", "own input", "as if it read K of KV head 0")       \
    X(scale_missing, SQUARE, "normal", "own input", "as if the scale were not applied")            \
    X(exp_of_scores_in_base_2, SQUARE, "normal", "own input",                                      \
      "as if scores were multiplied by log2(e)")                                                   \
    X(exp2_of_natural_scores, SQUARE, "normal", "own input",                                       \
      "as if exp2 were used instead of exp")                                                       \
    X(softcap_ignored, SQUARE ",softcap=1", "normal", "own input", "as if there were no softcap")  \
    X(bias_ignored, SQUARE ",mask=bias", "normal", "own input", "as if there were no bias")        \
    X(slopes_ignored, SQUARE ",alibi=1", "normal", "own input", "as if there were no slope")       \
    X(k_scale_missing, CACHE ",kv_dtype=i8", "normal", "own input",                                \
      "as if k_scale were not applied")                                                            \
    X(sum_in_f16, MANY_KEYS, "normal", "own input", "as if weights were summed in f16")            \
    X(lse_in_base_10, SQUARE ",outputs=o+lse", "normal", "own input", "as if it were in base 10")  \
    X(lse_with_log2, SQUARE ",outputs=o+lse", "normal", "own input",                               \
      "as if its sum were in base 2, its maximum natural")                                         \
    X(lse_lacks_maximum, SQUARE ",outputs=o+lse", "normal", "own input",                           \
      "as if it were without its maximum")                                                         \
    X(lse_is_maximum, SQUARE ",outputs=o+lse", "normal", "own input",                              \
      "as if it were without its sum")                                                             \
    X(lse_is_sum, SQUARE ",outputs=o+lse", "normal", "own input",                                  \
      "as if the logarithm were not taken")                                                        \
    X(lse_negated, SQUARE ",outputs=o+lse", "normal", "own input", "as if its sign were changed")

#define DECLARE(name, ...) extern const struct attn_kernel wrong_##name;
CATCHES(DECLARE)
UNUSED(DECLARE)
DIAGNOSED(DECLARE)

TEST(wrong_options_are_caught)
{
#define ROW(name, problem, input, phase, text) \
    {{&wrong_##name, problem, input, CHECK_FULL}, phase, text},
    static const struct catch table[] = {CATCHES(ROW)}, unused[] = {UNUSED(ROW)},
                              diagnosed[] = {DIAGNOSED(ROW)};
#undef ROW
    assert_int_equal(missed(diagnosed, sizeof diagnosed / sizeof *diagnosed), 0);
    assert_int_equal(missed(table, sizeof table / sizeof *table), 0);
    assert_int_equal(missed(unused, sizeof unused / sizeof *unused), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_options_are_caught),
    };
    return cmocka_run_group_tests(tests, share_verdict, NULL);
}
