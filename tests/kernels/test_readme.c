/*
 * The kernel that docs/library.md shows how to add: it passes the check that it says it would.
 */
#include "testing.h"

#include "check/check_kernel.h"

extern const struct attn_kernel attn_kernel_two_pass_baseline;

static void the_example_is_right(void **state)
{
    (void)state;
    static const char *const problems[] = {"s=48,d=24,mask=causal", "hq=4,hkv=2,sq=5,skv=9,d=3",
                                           "s=33,d=8,window=5:2"};
    for (size_t n = 0; n < sizeof problems / sizeof *problems; n++) {
        struct problem_case c = {.input = {.kind = INPUT_NORMAL, .seed = 1}};
        struct parse_error error;
        struct check_result result;
        assert_true(parse_problem(problems[n], &c.problem, &error));
        if (!check_kernel(&attn_kernel_two_pass_baseline, &c, 2, CHECK_FULL, &result))
            fail_msg("%s", result.why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_example_is_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
