/*
 * Every variant: the bits of a sequence's results depend on that sequence alone.
 */
#include "testing.h"

#include "check/check.h"
#include "problem/cases.h"
#include "tested.h"

#define THREADS 4

static void bits_are_the_sequences_own(void **state)
{
    (void)state;
    static const int threads[THREADS] = {1, 2, 3, THREADS};
    struct check_result results[THREADS];
    struct case_list list = {0};
    char message[256];
    if (tested->caps.varies)
        skip();
    assert_true(cases_load(&list, "invariance", MESSAGE(message)));
    for (size_t i = 0; i < list.count; i++) {
        if (!tested_computes(tested, &list.items[i].problem, THREADS))
            continue;
        if (!check_counts(tested, &list.items[i], threads, THREADS, CHECK_INVARIANT, results))
            fail_msg("%s: %s", list.items[i].name, results[0].why);
        tested_ran++;
    }
    cases_free(&list);
    tested_skip_unless_ran();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(bits_are_the_sequences_own, tested_start),
    };
    const int status = tested_choose(argc, argv);
    return status ? status : cmocka_run_group_tests(tests, NULL, NULL);
}
