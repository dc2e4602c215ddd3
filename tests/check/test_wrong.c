/*
 * Deliberately wrong kernels must be caught, each by the phase that is there for it, and said to do
 * what they do; honest ones must pass.
 */
#include "testing.h"

#include "in_child.h"

#define MIDDLING "hq=4,hkv=2,sq=70,skv=133,d=24,dv=17"
#define FEW_QUERIES "sq=24,skv=2000,d=64"
#define LONG "sq=2,skv=65536,d=8" /* not made smaller */
#define LONGER "sq=66,skv=65536,d=8"

#define BF16 "hq=4,hkv=2,sq=70,skv=333,d=24,dv=17,dtype=bf16"

#ifdef __x86_64__
#define FLUSH "flush-to-zero set, denormals-are-zero set"
#define UPWARD "rounding upward, x87 rounding upward"
#else
#define FLUSH "flush-to-zero set"
#ifdef __aarch64__
#define UPWARD "rounding upward"
#else
#define UPWARD "another rounding mode set"
#endif
#endif
#define CHANGED "leaves the floating-point environment changed"

/* Kernel, problem, the phase and what the message must contain. */
#define CATCHES(X)                                                                            \
    X(drops_last_key, PLAIN, "own input", "did not see its last key, 68")                     \
    X(drops_last_key_of_65536, LONG, "needle", "at key 65535: o row")                         \
    X(drops_last_key_of_65536, LONGER, "needle, full length", "at key 65535: o row")          \
    X(zero_padded_key, PLAIN, "own input", "1 key of zeros")                                  \
    X(zero_padded_key, LONG, "negative", "1 key of zeros")                                    \
    X(zero_padded_key, LONGER, "small problem", "1 key of zeros")                             \
    X(scale_twice, PLAIN, "own input", "scale were applied twice")                            \
    X(causal_off_by_one, CAUSAL, "own input", "query 0 sees key 1, which the mask hides")     \
    X(forgets_to_rescale, PLAIN, "own input", "it gives key 0 the weight")                    \
    X(maximum_may_fall, PLAIN, "falling by 100", "got nan")                                   \
    X(no_maximum, PLAIN, "exp edge", "got nan")                                               \
    X(wrong_kv_head, PLAIN, "own input", "KV head 1 of sequence 0 instead of 0 of 0")         \
    X(leaves_last_row, PLAIN, "own input", "left o row (b 0, h 0, i 37) element 0 unwritten") \
    X(modifies_q, PLAIN, "own input", "changed its operand q")                                \
    X(ignores_strides, PLAIN, "mean 2", "rows of v were 17 elements apart instead of 23")     \
    X(takes_bshd_for_bhsd, PLAIN ",layout=bshd", "own input", "as if v lay (B, H, S, D)")     \
    X(writes_bhsd_for_bshd, PLAIN ",layout=bshd", "own input", "as if o lay (B, H, S, D)")    \
    X(races, PLAIN, "own input", "; right on 1 thread, on 2 ")                                \
    X(drops_rest_of_keys, PLAIN, "own input",                                                 \
      "right on 1 thread, on 2 wrong in the same way each time; as if it did not see its ")   \
    X(sum_in_bf16, PLAIN, "own input", "as if weights were summed in bf16")                   \
    X(sum_counts_twice, MORE_KEYS, "own input", "as if the sum of weights were 1.004 times")  \
    X(cached_output, PLAIN, "mean 2", "; its result is, to the bit, that of earlier ")        \
    X(keeps_by_address, PLAIN, "needle", "that of earlier operands (small problem)")          \
    X(strides_of_k, "hq=4,hkv=2,sq=70,skv=333,d=24", "mean 2", "got nan")                     \
    X(heads_adjacent, PLAIN, "mean 2", "got nan")                                             \
    X(cached_by_plan, PLAIN, "second input", "returned the result of its first")              \
    X(keeps_by_first_bytes, PLAIN, "late elements", "which begin alike")                      \
    X(keeps_by_samples, PLAIN, "late elements", "that of earlier operands (late")             \
    X(p_in_f16, FEW_QUERIES, "needle", "expected -1.66")                                      \
    X(p_in_tf32, FEW_QUERIES, "rises", "")                                                    \
    X(p_in_bf16, BF16, "own input", "")                                                       \
    X(scale_in_bf16_q, FEW_QUERIES ",dtype=bf16", "negative", "lse row")                      \
    X(infinity_leaks, CAUSAL, "infinity in v", "got nan")                                     \
    X(nan_leaks, CAUSAL, "nan in v", "reached by key 99, which the mask hides")               \
    X(nan_vanishes, CAUSAL, "nan in k", "expected nan")                                       \
    X(masked_rows_are_nan, CAUSAL, "fully masked rows", "got nan, expected 0")                \
    X(finite_mask, CAUSAL, "fully masked rows", "which the mask hides, the weight 0.01")      \
    X(lse_in_base_2, PLAIN, "small problem", "as if it were in base 2")                       \
    X(lse_in_base_2, PLAIN ",outputs=lse", "own input", "as if it were in base 2")            \
    X(lse_half_in_base_2, PLAIN, "small problem", "as if its maximum were in base 2")         \
    X(lse_without_log, PLAIN ",outputs=lse", "own input", "of its sum were not taken")        \
    X(lse_without_log, "sq=1,skv=1,d=24,outputs=lse", "own input", "of its sum were not ")    \
    X(flushes_subnormals, PLAIN, "subnormal v", "got 0")                                      \
    X(flushes_queries, PLAIN, "subnormal q, large k", "")                                     \
    X(weights_scaled_up, PLAIN, "large v", "got ")                                            \
    X(exp_wraps, PLAIN, "falling by 100", "")                                                 \
    X(one_of_a_tie, PLAIN, "ties", "")                                                        \
    X(differs_by_call, PLAIN, "repeat", "differs bitwise between two calls")                  \
    X(differs_by_threads, PLAIN, "threads", "differs bitwise on 1 threads and on 2")          \
    X(one_element_off, MIDDLING, "one key", "(1 of ")                                         \
    X(all_elements_off, MORE_KEYS, "precision", "less precision than claimed")                \
    X(all_elements_off_in_teams, MORE_KEYS, "precision", "less precision than claimed")       \
    X(leaves_flush, PLAIN, "own input", "the kernel " CHANGED ": " FLUSH " in thread 0;")     \
    X(leaves_flush_in_others, PLAIN, "own input",                                             \
      "the kernel " CHANGED ": " FLUSH " in thread 1;")                                       \
    X(prepares_flush, PLAIN, "own input",                                                     \
      "the kernel's prepare " CHANGED ": " FLUSH " in thread 0;")                             \
    X(leaves_rounding, PLAIN, "own input", "the kernel " CHANGED ": " UPWARD " in thread 0;") \
    X(leaves_threads, PLAIN, "own input", "the kernel left 2 threads running;")               \
    X(moves_thread, PLAIN, "own input", "the kernel changed the CPUs that thread 1 may run on;")
/* Scores and sums that random numbers do not make. */
#define RARE_NUMBERS(X)                                                                  \
    X(follows_large_rises, PLAIN, "rises", "")                                           \
    X(follows_rises_of_30, PLAIN, "rises with large v", "")                              \
    X(follows_rises_of_8, PLAIN, "rises with large v", "")                               \
    X(scores_from_the_first, PLAIN, "keys far below", "")                                \
    X(starts_at_minus_infinity, PLAIN, "scores of -inf", "got nan")                      \
    X(starts_at_minus_1e30, PLAIN, "scores of 1e38", "")                                 \
    X(scores_in_entries, PLAIN, "scores of 1e38", "got nan")                             \
    X(maximum_by_differences, PLAIN, "rises through 0", "")                              \
    X(lse_without_maximum, PLAIN, "scores of 1000", "lse row")                           \
    X(lse_off_by_1e5, PLAIN, "small problem", "lse row")                                 \
    X(lse_of_large_sums, PLAIN, "ascending", "lse row")                                  \
    X(lse_of_short_sum, PLAIN, "sums near 1", "lse row")                                 \
    X(lse_off_near_one, PLAIN, "sums near 1", "lse row")                                 \
    X(lse_saturates, PLAIN, "a sum of 70001", "lse row")                                 \
    X(exp_flushes_early, PLAIN, "weights of all sizes", "")                              \
    X(exp_floors_exponent, PLAIN, "weights of all sizes", "")                            \
    X(exp_entry_off, PLAIN, "exponentials of a fraction", "less precision than claimed") \
    X(rows_by_thread, PLAIN, "more threads than rows", "unwritten")

/* Less than f64 computes with.  The reference of f64 is slow. */
#define F64 ",dtype=f64"
#define SMALL "sq=8,skv=333,d=4,dv=3"
#define IN_DOUBLE(X)                                                    \
    X(computes_in_f32, PLAIN F64, "own input", "")                      \
    X(exp_of_40_bits, PLAIN F64, "own input", "")                       \
    X(exp_of_45_bits, SMALL F64, "sink", "less precision than claimed") \
    X(exp_of_47_bits, PLAIN F64 ",mask=causal_top_left", "own input", "bound")

/* What the problem leaves at its default; at the depth of `attnbench check`. */
#define DEFAULT "h=2,sq=38,skv=69,d=24"
#define UNUSED_OPTIONS(X)                                                                          \
    X(ignores_scale, DEFAULT, "scores of 2e38", "1/sqrt(D), whatever the problem says")            \
    X(scale_loses_sign, DEFAULT, "negative scale", "as if the scale were positive")                \
    X(wrong_kv_head, DEFAULT, "three query heads to a KV head", "instead of 0 of 0")               \
    X(first_sequence_only, DEFAULT, "three sequences",                                             \
      "KV head 0 of sequence 0 instead of 0 of 1")                                                 \
    X(values_of_first_sequence, DEFAULT, "three sequences",                                        \
      "as if it read V of KV head 0 of sequence 0 instead of 0 of 1")                              \
    X(drops_odd_dimension, DEFAULT, "odd dimensions", "")                                          \
    X(dense_rows, DEFAULT, "other layout", "as if k lay (B, H, S, D)")                             \
    X(slopes_by_formula, DEFAULT, "slopes of its own", "")                                         \
    X(drops_lse, DEFAULT, "small problem", "left lse row (b 0, h 0, i 0)")                         \
    X(top_left_as_causal, DEFAULT, "hidden by causal_top_left", "")                                \
    X(top_left_as_causal, DEFAULT ",mask=causal_top_left", "own input", "aligned to the last key") \
    X(ignores_window, DEFAULT, "first tile masked", "as if there were no mask")                    \
    X(ignores_right_window, DEFAULT, "window to the right", "as if there were no mask")            \
    X(window_drops_causal, DEFAULT, "causal_top_left and window",                                  \
      "gives key 0 the weight 0, expected 1")

#define DECLARE(name, ...) extern const struct attn_kernel wrong_##name;
CATCHES(DECLARE)
RARE_NUMBERS(DECLARE)
UNUSED_OPTIONS(DECLARE)
IN_DOUBLE(DECLARE)
extern const struct attn_kernel wrong_restores_flush, wrong_one_element_off_of_many, wrong_honest;

static void passes(const struct attn_kernel *kernel, enum check_depth depth)
{
    const struct order order = {kernel, PLAIN, "normal", depth};
    in_child(check_one, &order);
    if (!verdict->result.ok)
        fail_msg("%s: %s", kernel->name, verdict->result.why);
    assert_true(verdict->finished && verdict->result.rows > (depth == CHECK_FULL ? 1000 : 60));
}

/* Each result is within its bound: only bits tell. */
#define INVARIANT(X)                                                             \
    X(differs_by_call, PLAIN, "repeat", "in one call and ")                      \
    X(differs_by_neighbours, PLAIN, "neighbours", "beside other sequences and ") \
    X(differs_by_neighbours, CAUSAL ",b=5", "neighbours", "row (b 0, h 0, i ")   \
    X(differs_by_batch, MIDDLING, "batch", "row (b 0, h 0, i 0) element ")       \
    X(differs_by_batch, PLAIN ",b=7", "batch", "in a batch of 7")                \
    X(differs_by_longest, PLAIN ",b=4,ragged=1", "batch", "alone and ")          \
    X(differs_by_longest, PLAIN ",b=4,packed=1", "batch", "alone and ")
INVARIANT(DECLARE)
#define PREFIX(X) X(differs_by_prefix, PLAIN ",b=3,page=16", "pages of its own", "in shared ones")
PREFIX(DECLARE)

TEST(what_depends_on_the_batch_is_caught)
{
#define ROW(name, problem, phase, text) \
    {{&wrong_##name, problem, "normal", CHECK_INVARIANT}, phase, text},
#define ROW_OF_PREFIX(name, problem, phase, text) \
    {{&wrong_##name, problem, "normal+prefix:32", CHECK_INVARIANT}, phase, text},
    static const struct catch table[] = {INVARIANT(ROW) PREFIX(ROW_OF_PREFIX)};
#undef ROW
    assert_int_equal(missed(table, sizeof table / sizeof *table), 0);
    passes(&wrong_differs_by_batch, CHECK_FULL);
    passes(&wrong_differs_by_longest, CHECK_FULL);
    passes(&wrong_differs_by_neighbours, CHECK_FULL);
    passes(&wrong_honest, CHECK_INVARIANT);
}

TEST(wrong_kernels_are_caught)
{
#define ROW(name, problem, phase, text) \
    {{&wrong_##name, problem, "normal", CHECK_FULL}, phase, text},
    static const struct catch table[] = {CATCHES(ROW)}, rare[] = {RARE_NUMBERS(ROW)},
                              unused[] = {UNUSED_OPTIONS(ROW)}, in_double[] = {IN_DOUBLE(ROW)};
#undef ROW
    assert_int_equal(missed(in_double, sizeof in_double / sizeof *in_double), 0);
    assert_int_equal(missed(rare, sizeof rare / sizeof *rare), 0);
    assert_int_equal(missed(table, sizeof table / sizeof *table), 0);
    assert_int_equal(missed(unused, sizeof unused / sizeof *unused), 0);
}

/* What a kernel does to its threads is its own business where it undoes it. */
TEST(a_restored_environment_passes)
{
    passes(&wrong_restores_flush, CHECK_FULL);
}

/* `attnbench check --help` says so: one element within its bound, among too many for the RMS. */
TEST(one_element_off_of_many_passes)
{
    passes(&wrong_one_element_off_of_many, CHECK_FULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_kernels_are_caught),
        cmocka_unit_test(what_depends_on_the_batch_is_caught),
        cmocka_unit_test(a_restored_environment_passes),
        cmocka_unit_test(one_element_off_of_many_passes),
    };
    return cmocka_run_group_tests(tests, share_verdict, NULL);
}
