/*
 * Kernels that crash say what ran; kernels that are wrong on one thread count fail on that one; where memory
 * is missing none does.
 */
#include "testing.h"

#include <string.h>
#include <sys/resource.h>

#include "in_child.h"

/* Kernel, problem, and what the progress line must say of its death. */
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
    X(mask_taken_for_dense, PLAIN ",mask=bool", "past the end of mask (thread ")                   \
    X(needs_o, PLAIN, "lse alone: write at a null pointer (thread ")

#define DECLARE(name, ...) extern const struct attn_kernel wrong_##name;
CRASHES(DECLARE)

TEST(crashes_say_what_ran)
{
#define ROW(name, problem, text) {&wrong_##name, problem, text},
    static const struct {
        const struct attn_kernel *kernel;
        const char *problem, *text;
    } table[] = {CRASHES(ROW)};
#undef ROW
    for (size_t n = 0; n < sizeof table / sizeof *table; n++) {
        const struct order order = {table[n].kernel, table[n].problem, "normal", CHECK_FULL};
        in_child(check_one, &order);
        print_message("%s: %s\n", order.kernel->name, verdict->progress);
        assert_false(verdict->finished);
        assert_non_null(strstr(verdict->progress, table[n].text));
        assert_non_null(strstr(verdict->progress, "problem b=1,"));
    }
}

/* ---- every thread count is judged ----------------------------------------------------------- */

extern const struct attn_kernel wrong_nan_vanishes_alone, wrong_nan_vanishes_in_teams,
    wrong_writes_before_alone, wrong_honest, wrong_drops_last_key, wrong_leaves_last_row,
    wrong_differs_by_threads, wrong_races;

/* Thread counts are judged together, and each is told what it did itself: NULL where it passed. */
TEST(either_count_is_caught)
{
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
        const struct order order = {table[n].kernel, table[n].problem, "normal", CHECK_FULL};
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
    const struct order crash = {&wrong_writes_before_alone, PLAIN, "normal", CHECK_FULL};
    in_child(check_both, &crash);
    assert_false(verdict->finished);
    assert_non_null(strstr(verdict->progress, "checking at threads=1: "));
}

/* ---- lack of memory ---------------------------------------------------------------------------- */

/* On threads that are there already: the runtime ends a process that cannot start one. */
static void check_without_memory(const void *order)
{
#pragma omp parallel num_threads(THREADS)
    ;
    setrlimit(RLIMIT_DATA, &(struct rlimit){1, 1});
    check_one(order);
}

TEST(lack_of_memory_is_no_failure)
{
#ifdef __SANITIZE_ADDRESS__
    skip(); /* it ends the process */
#endif
    const struct order order = {&wrong_drops_last_key, PLAIN, "normal", CHECK_FULL};
    in_child(check_without_memory, &order);
    const struct check_result *r = &verdict->result;
    assert_true(verdict->finished);
    assert_false(r->ok);
    if (!r->unfinished || !strstr(r->why, "Cannot allocate memory"))
        fail_msg("%s", r->why);
    in_child(check_one, &order);
    assert_false(verdict->result.unfinished);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crashes_say_what_ran),
        cmocka_unit_test(either_count_is_caught),
        cmocka_unit_test(lack_of_memory_is_no_failure),
    };
    return cmocka_run_group_tests(tests, share_verdict, NULL);
}
