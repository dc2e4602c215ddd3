/*
 * Every variant on random problems and 2 to 8 threads, for ThreadSanitizer: with a report its process ends
 * with a status of its own.  Of results it is only asked that they are written; others compare them.
 *
 *     ATTNBENCH_DRAWS=N    N problems of each kind
 *
 * In this process and not in a child, as other tests of random problems: Archer does not survive a fork.
 */
#include "testing.h"

#include <stdlib.h>

#include "kernels/drawn_operands.h"
#include "kernels/tested.h"

#define DRAWS 35 /* five on each number of threads */

/* Whether the kernel supports the problem. */
static bool run(const struct attn_problem *problem, uint64_t seed)
{
    const int threads = tested->caps.parallel ? 2 + (int)(seed % 7) : 1;
    char text[PARSE_TEXT];
    struct drawn_operands d;
    parse_print_problem(problem, text);
    print_message("%d threads: %s\n", threads, text); /* a report stands behind its problem */
    drawn_open(&d, problem, !(tested->caps.caveats & ATTN_CAVEAT_NAN_LEAKS), seed);
    const bool ran = tested_call(tested, problem, &d.tensors, threads) != 0;
    drawn_close(&d);
    return ran;
}

static void run_all(size_t q_len, size_t kv_len, size_t dim)
{
    const char *asked = getenv("ATTNBENCH_DRAWS");
    const uint64_t draws = asked ? strtoull(asked, NULL, 10) : DRAWS;
    struct drawn_limits limits = drawn_everything;
    limits.q_len = q_len;
    limits.kv_len = kv_len;
    limits.dim = dim;
    limits.masks &= tested->caps.masks;
    limits.options &= tested->caps.options;
    limits.dtypes &= tested->caps.dtypes;
    limits.kv_dtypes &= tested->caps.kv_dtypes;
    for (uint64_t seed = 0; seed < draws; seed++) {
        const struct attn_problem problem = drawn_problem(&limits, seed);
        tested_ran += run(&problem, seed);
    }
    print_message("%zu problems\n", tested_ran);
    tested_skip_unless_ran();
}

/* Fewer rows than threads. */
static void fewer_rows_than_threads_do_not_race(void **state)
{
    (void)state;
    run_all(7, 24, 40);
}

/* Several tiles and blocks, and tasks that threads take from each other. */
static void tiles_and_blocks_do_not_race(void **state)
{
    (void)state;
    run_all(150, 300, 70);
}

/* Few queries on many keys: more than one split of a sequence. */
static void splits_of_keys_do_not_race(void **state)
{
    (void)state;
    run_all(2, 2500, 70);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(fewer_rows_than_threads_do_not_race, tested_start),
        cmocka_unit_test_setup(tiles_and_blocks_do_not_race, tested_start),
        cmocka_unit_test_setup(splits_of_keys_do_not_race, tested_start),
    };
    const int status = tested_choose(argc, argv);
    return status ? status : cmocka_run_group_tests(tests, NULL, NULL);
}
