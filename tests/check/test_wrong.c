/*
 * Deliberately wrong kernels must be caught, each by the phase that is there for it, and said to do
 * what they do; honest ones must pass.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <omp.h>

#include "check/check.h"
#include "system/fault.h"

#define THREADS 2

/* What a child leaves behind. */
static struct verdict {
    struct check_result result, results[2];
    char progress[1024];
    int calls; /* of the kernel, where it counts them */
    bool finished;
} * verdict;

static struct problem_case case_of(const char *problem, const char *input)
{
    struct problem_case c = {.name = "test"};
    struct parse_error error;
    if (!parse_problem(problem, &c.problem, &error) || !parse_input(input, &c.input, &error))
        fail_msg("%s %s: %s", problem, input, error.message);
    return c;
}

/* Runs something in a child that may crash; the verdict says how it went. */
static void in_child(void (*run)(const void *), const void *argument)
{
    memset(verdict, 0, sizeof *verdict);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* also under a sanitizer */
        signal(SIGBUS, SIG_DFL);
        omp_set_num_threads(THREADS);
        fault_share(verdict->progress, sizeof verdict->progress);
        run(argument);
        verdict->finished = true;
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    if (!verdict->finished) {
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGSEGV);
    }
}

struct order {
    const struct attn_kernel *kernel;
    const char *problem;
    enum check_depth depth;
};

static void check(const void *argument)
{
    const struct order *order = argument;
    const struct problem_case c = case_of(order->problem, "normal:1");
    check_kernel(order->kernel, &c, THREADS, order->depth, &verdict->result);
}

static void check_both(const void *argument)
{
    const struct order *order = argument;
    const struct problem_case c = case_of(order->problem, "normal:1");
    const int threads[] = {1, THREADS};
    check_counts(order->kernel, &c, threads, 2, order->depth, verdict->results);
}

/* ---- the catch table ----------------------------------------------------------------------- */

#define PLAIN "hq=4,hkv=2,sq=70,skv=333,d=24,dv=17"
#define CAUSAL "hq=4,hkv=2,s=200,d=24,dv=17,mask=causal"
#define FEW_QUERIES "sq=64,skv=2000,d=64"
#define LONG "sq=2,skv=65536,d=8" /* not made smaller */
#define LONGER "sq=100,skv=65536,d=16"

#define BF16 "hq=4,hkv=2,sq=70,skv=333,d=24,dv=17,dtype=bf16"

#ifdef __x86_64__
#define FLUSH "flush-to-zero set, denormals-are-zero set"
#define UPWARD "rounding upward, x87 rounding upward"
#else
#define FLUSH "flush-to-zero set"
#define UPWARD "another rounding mode set"
#endif
#define CHANGED "leaves the floating-point environment changed"

/* Kernel, problem, and what the phase and the message must contain; CRASH: what the progress line
 * says of its death. */
#define CATCHES(X)                                                                            \
    X(drops_last_key, PLAIN, "own input", "did not see its last key, 332")                    \
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
    X(leaves_last_row, PLAIN, "own input", "left o row (b 0, h 0, i 69) element 0 unwritten") \
    X(modifies_q, PLAIN, "own input", "changed its operand q")                                \
    X(ignores_strides, PLAIN, "mean 2", "got nan")                                            \
    X(races, PLAIN, "own input", "")                                                          \
    X(cached_output, PLAIN, "mean 2", "")                                                     \
    X(cached_by_plan, PLAIN, "second input", "returned the result of its first")              \
    X(p_in_f16, FEW_QUERIES, "needle", "expected -1.66")                                      \
    X(p_in_tf32, FEW_QUERIES, "precision", "less precision than claimed")                     \
    X(p_in_bf16, BF16, "own input", "")                                                       \
    X(scale_in_bf16_q, FEW_QUERIES ",dtype=bf16", "negative", "lse row")                      \
    X(nan_leaks, CAUSAL, "nan in v", "got nan")                                               \
    X(nan_vanishes, CAUSAL, "nan in k", "expected nan")                                       \
    X(masked_rows_are_nan, CAUSAL, "fully masked rows", "got nan, expected 0")                \
    X(finite_mask, CAUSAL, "fully masked rows", "which the mask hides, the weight 0.005")     \
    X(lse_in_base_2, PLAIN, "small problem", "as if it were in base 2")                       \
    X(flushes_subnormals, PLAIN, "subnormal v", "got 0")                                      \
    X(weights_scaled_up, PLAIN, "large v", "got ")                                            \
    X(exp_wraps, PLAIN, "falling by 100", "")                                                 \
    X(one_of_a_tie, PLAIN, "ties", "")                                                        \
    X(differs_by_call, PLAIN, "repeat", "differs bitwise between two calls")                  \
    X(differs_by_threads, PLAIN, "threads", "differs bitwise on 1 threads and on 2")          \
    X(one_element_off, PLAIN, "scale of 30", "(1 of ")                                        \
    X(all_elements_off, PLAIN, "precision", "less precision than claimed")                    \
    X(leaves_flush, PLAIN, "own input", "the kernel " CHANGED ": " FLUSH " in thread 0;")     \
    X(leaves_flush_in_others, PLAIN, "own input",                                             \
      "the kernel " CHANGED ": " FLUSH " in thread 1;")                                       \
    X(prepares_flush, PLAIN, "own input",                                                     \
      "the kernel's prepare " CHANGED ": " FLUSH " in thread 0;")                             \
    X(leaves_rounding, PLAIN, "own input", "the kernel " CHANGED ": " UPWARD " in thread 0;")
/* What the problem leaves at its default; at the depth of `attnbench check`. */
#define DEFAULT "h=2,sq=70,skv=133,d=24"
#define UNUSED_OPTIONS(X)                                                               \
    X(ignores_scale, DEFAULT, "scale almost 0", "1/sqrt(D), whatever the problem says") \
    X(scale_loses_sign, DEFAULT, "negative scale", "as if the scale were positive")     \
    X(wrong_kv_head, DEFAULT, "three query heads to a KV head", "instead of 0 of 0")    \
    X(first_sequence_only, DEFAULT, "three sequences",                                  \
      "KV head 0 of sequence 0 instead of 0 of 1")                                      \
    X(drops_odd_dimension, DEFAULT, "odd dimensions", "")                               \
    X(dense_rows, DEFAULT, "other layout", "")                                          \
    X(drops_lse, DEFAULT, "small problem", "left lse row (b 0, h 0, i 0)")              \
    X(top_left_as_causal, DEFAULT, "causal_top_left, fewer queries than keys",          \
      "aligned to the last key")                                                        \
    X(ignores_window, DEFAULT, "first tile masked", "as if there were no mask")         \
    X(ignores_right_window, DEFAULT, "window to the right", "as if there were no mask") \
    X(window_drops_causal, DEFAULT, "causal_top_left and window",                       \
      "gives key 0 the weight 0, expected 1")

#define CRASHES(X)                                                                                 \
    X(writes_past_end, PLAIN, "own input: write 4 bytes past the end of o (thread 1)")             \
    X(reads_past_end, "h=2,s=90,d=23", "own input: read 4 bytes past the end of k (thread 1)")     \
    X(reads_before_front, PLAIN, "small problem: read 4 bytes before the start of v (thread 0)")   \
    X(reads_before_k, PLAIN, "small problem: read 4 bytes before the start of k (thread 0)")       \
    X(reads_far_away, PLAIN,                                                                       \
      "own input: read 4 MB past the end of k (thread 0); last row of o written: b 0, h 1, i 17; " \
      "problem b=1,")                                                                              \
    X(reads_null, PLAIN, "own input: read at a null pointer (thread 1)")                           \
    X(overruns_workspace, PLAIN,                                                                   \
      "own input: write 4 bytes past the end of workspace (thread 0); no row of o is written;")    \
    X(needs_o, PLAIN, "lse alone: write at a null pointer (thread ")

#define DECLARE(name, ...) extern const struct attn_kernel wrong_##name;
CATCHES(DECLARE)
UNUSED_OPTIONS(DECLARE)
CRASHES(DECLARE)
extern const struct attn_kernel wrong_spoils_one_call, wrong_restores_flush,
    wrong_one_element_off_of_many;

struct catch
{
    const struct attn_kernel *kernel;
    const char *problem, *phase, *text;
};

/* How many of the table were not caught, or by another phase. */
static size_t missed(const struct catch *table, size_t count, enum check_depth depth)
{
    size_t missed = 0;
    for (size_t n = 0; n < count; n++) {
        const struct order order = {table[n].kernel, table[n].problem, depth};
        in_child(check, &order);
        const struct check_result *r = &verdict->result;
        print_message("%s: [%s] %s\n", order.kernel->name, r->phase, r->why);
        if (!verdict->finished || r->ok || strcmp(r->phase, table[n].phase) != 0 ||
            !strstr(r->why, table[n].text)) {
            print_error("%s: expected [%s] ... %s ...\n", order.kernel->name, table[n].phase,
                        table[n].text);
            missed++;
        }
    }
    return missed;
}

static void wrong_kernels_are_caught(void **state)
{
    (void)state;
#define ROW(name, problem, phase, text) {&wrong_##name, problem, phase, text},
    static const struct catch table[] = {CATCHES(ROW)}, unused[] = {UNUSED_OPTIONS(ROW)};
#undef ROW
    assert_int_equal(missed(table, sizeof table / sizeof *table, CHECK_FULL), 0);
    assert_int_equal(missed(unused, sizeof unused / sizeof *unused, CHECK_FULL), 0);
}

static void passes(const struct attn_kernel *kernel)
{
    const struct order order = {kernel, PLAIN, CHECK_FULL};
    in_child(check, &order);
    if (!verdict->result.ok)
        fail_msg("%s: %s", kernel->name, verdict->result.why);
    assert_true(verdict->finished && verdict->result.rows > 1000);
}

/* What a kernel does to its threads is its own business where it undoes it. */
static void a_restored_environment_passes(void **state)
{
    (void)state;
    passes(&wrong_restores_flush);
}

/* `attnbench check --help` says so: one element within its bound, among too many for the RMS. */
static void one_element_off_of_many_passes(void **state)
{
    (void)state;
    passes(&wrong_one_element_off_of_many);
}

static void crashes_say_what_ran(void **state)
{
    (void)state;
#define ROW(name, problem, text) {&wrong_##name, problem, text},
    static const struct {
        const struct attn_kernel *kernel;
        const char *problem, *text;
    } table[] = {CRASHES(ROW)};
#undef ROW
    for (size_t n = 0; n < sizeof table / sizeof *table; n++) {
        const struct order order = {table[n].kernel, table[n].problem, CHECK_FULL};
        in_child(check, &order);
        print_message("%s: %s\n", order.kernel->name, verdict->progress);
        assert_false(verdict->finished);
        assert_non_null(strstr(verdict->progress, table[n].text));
        assert_non_null(strstr(verdict->progress, "problem b=1,"));
    }
}

/* ---- every thread count is judged ----------------------------------------------------------- */

extern const struct attn_kernel wrong_nan_vanishes_alone, wrong_nan_vanishes_in_teams,
    wrong_writes_before_alone, wrong_honest;

/* Thread counts are judged together, and each is told what it did itself: NULL where it passed. */
static void either_count_is_caught(void **state)
{
    (void)state;
    static const struct {
        const struct attn_kernel *kernel;
        const char *problem, *phase, *text[2];
    } table[] = {
        {&wrong_honest, CAUSAL, "", {NULL, NULL}},
        {&wrong_nan_vanishes_alone, CAUSAL, "nan in k", {"expected nan", NULL}},
        {&wrong_nan_vanishes_in_teams, CAUSAL, "nan in k", {NULL, "expected nan"}},
        {&wrong_drops_last_key, PLAIN, "own input", {"its last key", "its last key"}},
        {&wrong_leaves_last_row, PLAIN, "own input", {"unwritten", "unwritten"}},
        {&wrong_differs_by_threads,
         PLAIN,
         "own input",
         {"bitwise on 1 threads and on 2", "bitwise on 1 threads and on 2"}},
        {&wrong_races, PLAIN, "own input", {NULL, "got "}},
    };
    for (size_t n = 0; n < sizeof table / sizeof *table; n++) {
        const struct order order = {table[n].kernel, table[n].problem, CHECK_FULL};
        in_child(check_both, &order);
        assert_true(verdict->finished);
        for (int k = 0; k < 2; k++) {
            const struct check_result *r = &verdict->results[k];
            const char *text = table[n].text[k];
            if (r->ok != !text ||
                (text && (strcmp(r->phase, table[n].phase) != 0 || !strstr(r->why, text))))
                fail_msg("%s: [%s] %s", order.kernel->name, r->phase, r->why);
        }
    }
    const struct order crash = {&wrong_writes_before_alone, PLAIN, CHECK_FULL};
    in_child(check_both, &crash);
    assert_false(verdict->finished);
    assert_non_null(strstr(verdict->progress, "checking at threads=1: "));
}

/* ---- every call is judged ------------------------------------------------------------------ */

extern int spoil_call, spoil_calls;

static int spoiled; /* which call */

static void check_spoiled(const void *argument)
{
    const struct order *order = argument;
    spoil_call = spoiled;
    check(order);
    verdict->calls = spoil_calls;
}

/* A kernel that is honest but for one call of a whole check is caught whichever call it is; and all
 * phases are among those that catch. */
static void no_call_goes_unjudged(void **state)
{
    (void)state;
    static const char *const phases[] = {"own input",
                                         "small problem",
                                         "fully masked rows",
                                         "first tile masked",
                                         "mean 2",
                                         "negative",
                                         "needle",
                                         "ascending",
                                         "descending",
                                         "falling by 100",
                                         "rising by 100",
                                         "exp edge",
                                         "exp edge below",
                                         "ties",
                                         "scores of 1000",
                                         "subnormal v",
                                         "subnormal q and k",
                                         "large v",
                                         "nan in k",
                                         "nan in v",
                                         "nan in q",
                                         "repeat",
                                         "threads",
                                         "second input",
                                         "keys permuted",
                                         "scores shifted",
                                         "v linear",
                                         "split and merged",
                                         "within the range of v",
                                         "normal input",
                                         "scale almost 0",
                                         "scale of 0.01",
                                         "scale of 1",
                                         "scale of 30",
                                         "negative scale",
                                         "negative scale of 30",
                                         "three sequences",
                                         "a KV head for each query head",
                                         "three query heads to a KV head",
                                         "one KV head",
                                         "one query",
                                         "one key",
                                         "fewer queries than keys",
                                         "more queries than keys",
                                         "odd dimensions",
                                         "dimensions of 1",
                                         "v wider than k",
                                         "v narrower than k",
                                         "other layout",
                                         "other layout, three sequences",
                                         "lse alone",
                                         "o and lse",
                                         "causal, fewer queries than keys",
                                         "causal, more queries than keys",
                                         "causal_top_left, fewer queries than keys",
                                         "causal_top_left, more queries than keys",
                                         "window to the left",
                                         "window to the right",
                                         "window to both sides",
                                         "window of one key",
                                         "window wider than all keys",
                                         "causal and window",
                                         "causal and window to both sides",
                                         "causal_top_left and window",
                                         "causal_top_left and window to both sides"};
    bool seen[sizeof phases / sizeof *phases] = {false};
    const struct order order = {&wrong_spoils_one_call, "hq=4,hkv=2,sq=9,skv=40,d=8,dv=5",
                                CHECK_THOROUGH};
    spoiled = -1;
    in_child(check_spoiled, &order);
    assert_true(verdict->finished && verdict->result.ok);
    const int calls = verdict->calls;
    assert_in_range(calls, 40, 400);
    for (spoiled = 0; spoiled < calls; spoiled++) {
        in_child(check_spoiled, &order);
        if (verdict->result.ok)
            fail_msg("call %d of %d was spoiled and nobody noticed", spoiled, calls);
        for (size_t n = 0; n < sizeof phases / sizeof *phases; n++)
            seen[n] |= strcmp(verdict->result.phase, phases[n]) == 0;
    }
    for (size_t n = 0; n < sizeof phases / sizeof *phases; n++)
        if (!seen[n])
            fail_msg("phase \"%s\" caught nothing", phases[n]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_kernels_are_caught),
        cmocka_unit_test(a_restored_environment_passes),
        cmocka_unit_test(one_element_off_of_many_passes),
        cmocka_unit_test(crashes_say_what_ran),
        cmocka_unit_test(either_count_is_caught),
        cmocka_unit_test(no_call_goes_unjudged),
    };
    verdict =
        mmap(NULL, sizeof *verdict, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return verdict == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
