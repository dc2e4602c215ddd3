/*
 * What a failing kernel is told of: the simplest case on which it fails, and a command that shows it.
 */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drawn_search.h"

extern const struct attn_kernel wrong_honest, wrong_window_left_off_by_one,
    wrong_last_page_read_whole, wrong_sink_left_out_of_lse;

static struct drawn_limits limits_of(const struct attn_kernel *kernel)
{
    return (struct drawn_limits){
        .q_len = 30,
        .kv_len = 60,
        .dim = 20,
        .masks = kernel->caps.masks,
        .options = kernel->caps.options & drawn_everything.options,
        .dtypes = kernel->caps.dtypes,
        .kv_dtypes = kernel->caps.kv_dtypes & drawn_everything.kv_dtypes,
    };
}

/* ---- properties of problems alone ---------------------------------------------------------- */

static bool few_keys_in_pages(const struct drawn_property *property, const struct problem_case *c)
{
    (void)property;
    const struct attn_problem *p = &c->problem;
    if (!(p->options & ATTN_OPTION_PAGED))
        return false;
    if (p->kv_len >= 17 && p->q_heads > p->kv_heads && (c->input.seed == 2 || c->input.seed >= 40))
        abort();
    return true;
}

/* In a child that crashes; with a low seed where one will do. */
static void finds_the_simplest_case(void **state)
{
    (void)state;
    const struct drawn_property property = {.kernel = &wrong_honest, .holds = few_keys_in_pages};
    const struct drawn_limits limits = limits_of(&wrong_honest);
    struct problem_case failing;
    size_t applied;
    char text[PARSE_TEXT];
    assert_true(drawn_find(&property,
                           &(struct drawn_series){.limits = &limits, .seed = 40, .count = 200},
                           &failing, &applied));
    assert_true(failing.input.seed >= 40);
    failing.input.seed = 7;
    assert_false(drawn_fails(&property, &failing));
    failing.input.seed = 40;
    const struct problem_case simplest = drawn_simplest(&property, &failing);
    parse_print_problem(&simplest.problem, text);
    assert_string_equal(text, "b=1,hq=2,hkv=1,sq=1,skv=17,d=1,page=1");
    assert_true(drawn_fails(&property, &simplest));
}

static bool counts(const struct drawn_property *property, const struct problem_case *c)
{
    const uint64_t *lowest = property->context;
    assert_true(c->input.seed >= *lowest);
    return c->problem.kv_len % 2;
}

static void obeys_the_environment(void **state)
{
    (void)state;
    uint64_t lowest = 7;
    const struct drawn_property property = {
        .kernel = &wrong_honest, .holds = counts, .context = &lowest};
    struct drawn_limits limits = limits_of(&wrong_honest);
    const struct drawn_series series = {.limits = &limits, .seed = 7, .count = 3};
    limits.q_len = limits.kv_len = 1;
    unsetenv("ATTNBENCH_DRAWS"); /* that all tests are run with */
    assert_int_equal(drawn_hold(&property, &series), 3);
    setenv("ATTNBENCH_DRAWS", "11", 1);
    setenv("ATTNBENCH_SEED", "100", 1);
    lowest = 100;
    assert_int_equal(drawn_hold(&property, &series), 11);
    setenv("ATTNBENCH_PROBLEM", "s=5", 1);
    assert_int_equal(drawn_hold(&property, &series), 1);
    setenv("ATTNBENCH_PROBLEM", "s=6", 1);
    assert_int_equal(drawn_hold(&property, &series), 0);
    unsetenv("ATTNBENCH_DRAWS");
    unsetenv("ATTNBENCH_SEED");
    unsetenv("ATTNBENCH_PROBLEM");
}

/* ---- kernels ------------------------------------------------------------------------------- */

static const struct wrong {
    const struct attn_kernel *kernel;
    unsigned options; /* that the simplest case has */
    size_t most_keys;
} wrong[] = {
    {&wrong_window_left_off_by_one, ATTN_OPTION_WINDOW, 2},
    {&wrong_last_page_read_whole, ATTN_OPTION_PAGED, 1},
    {&wrong_sink_left_out_of_lse, ATTN_OPTION_SINKS, 1},
};

static void says_how_to_see_it_again(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
        const struct attn_kernel *kernel = wrong[n].kernel;
        const struct drawn_property property = {.kernel = kernel, .holds = drawn_passes};
        const struct drawn_limits limits = limits_of(kernel);
        struct problem_case failing;
        size_t applied;
        char repro[DRAWN_REPRO], expected[DRAWN_REPRO], problem[PARSE_TEXT];
        assert_true(drawn_find(&property, &(struct drawn_series){.limits = &limits, .count = 200},
                               &failing, &applied));
        failing = drawn_simplest(&property, &failing);
        drawn_repro(&property, &failing, repro);
        print_message("%s\n", repro);
        assert_int_equal(failing.problem.options, wrong[n].options);
        assert_int_equal(failing.problem.mask, 0);
        assert_int_equal(failing.problem.q_len * failing.problem.q_heads, 1);
        assert_in_range(failing.problem.kv_len, 1, wrong[n].most_keys);
        parse_print_problem(&failing.problem, problem);
        snprintf(expected, sizeof expected,
                 "attnbench check --kernel %s --isa baseline --threads %d --problem '%s input=",
                 kernel->name, drawn_threads(&failing), problem);
        assert_memory_equal(repro, expected, strlen(expected));
    }
}

/* Of what is no check the test shows it. */
static void names_the_test_otherwise(void **state)
{
    (void)state;
    const struct drawn_property property = {
        .kernel = &wrong_honest, .holds = drawn_passes, .test = "kernels/relations"};
    struct problem_case c = {.input.seed = 4};
    struct parse_error error;
    char repro[DRAWN_REPRO];
    assert_true(parse_problem("s=2,d=1", &c.problem, &error));
    assert_false(drawn_fails(&property, &c));
    drawn_repro(&property, &c, repro);
    assert_string_equal(repro, "ATTNBENCH_PROBLEM='b=1,hq=1,hkv=1,sq=2,skv=2,d=1' ATTNBENCH_SEED=4 "
                               "ctest --preset release -R '^kernels/relations/honest/baseline$'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_simplest_case),
        cmocka_unit_test(obeys_the_environment),
        cmocka_unit_test(says_how_to_see_it_again),
        cmocka_unit_test(names_the_test_otherwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
