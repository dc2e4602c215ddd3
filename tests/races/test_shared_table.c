/*
 * The kernels that share a table, by name, pass every check of results: one of them has a race.  Under
 * ThreadSanitizer ctest looks at what it says of each (races.cmake).
 */
#include "testing.h"

#include <string.h>

#include "check/check_kernel.h"

#define THREADS 4

extern const struct attn_kernel wrong_lazy_table, wrong_filled_table;

static void passes_every_check(void **state)
{
    const struct attn_kernel *kernel = *state;
    struct problem_case c;
    struct parse_error error;
    struct check_result result;
    assert_true(parse_problem("hq=4,hkv=2,sq=9,skv=40,d=8,dv=5", &c.problem, &error));
    assert_true(parse_input("normal", &c.input, &error));
    if (!check_kernel(kernel, &c, THREADS, CHECK_THOROUGH, &result))
        fail_msg("%s: %s", kernel->name, result.why);
    assert_true(result.ok && result.rows > 30);
}

int main(int argc, char **argv)
{
    const struct attn_kernel *const kernels[] = {&wrong_lazy_table, &wrong_filled_table};
    for (size_t n = 0; argc == 2 && n < 2; n++)
        if (strcmp(kernels[n]->name, argv[1]) == 0) {
            const struct CMUnitTest tests[] = {
                cmocka_unit_test_prestate(passes_every_check, (void *)(uintptr_t)kernels[n])};
            return cmocka_run_group_tests(tests, NULL, NULL);
        }
    return 2;
}
