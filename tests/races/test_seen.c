/*
 * The kernels of lazy_table.c: their results are right.  Under ThreadSanitizer ctest looks at what it
 * says of the one that is named (races.cmake).
 */
#include "testing.h"

#include <string.h>

#include "check/check.h"

extern const struct attn_kernel wrong_lazy_table, wrong_filled_table;

static const struct attn_kernel *named;

static void passes_every_check(void **state)
{
    (void)state;
    struct problem_case c;
    struct parse_error error;
    struct check_result result;
    assert_true(parse_problem("hq=4,hkv=2,sq=9,skv=40,d=8,dv=5", &c.problem, &error));
    assert_true(parse_input("normal", &c.input, &error));
    if (!check_kernel(named, &c, 4, CHECK_THOROUGH, &result))
        fail_msg("%s: %s", named->name, result.why);
    assert_true(result.ok && result.rows > 30);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(passes_every_check)};
    if (argc != 2)
        return 2;
    named = strcmp(argv[1], "lazy_table") == 0 ? &wrong_lazy_table : &wrong_filled_table;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
