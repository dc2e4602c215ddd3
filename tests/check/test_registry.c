/*
 * Every variant of the registry passes the check, on problems of every kind that it computes, and on
 * drawn ones: what a check takes for an error may be one on some problems alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "passes.h"
#include "kernels/drawn_search.h"
#include "kernels/tested_kernel.h"
#include "problem/filled_tensors.h"

#define CACHE "b=4,hq=4,hkv=2,sq=9,skv=70,d=24,dv=17"

static void passes(void **state)
{
    (void)state;
    static const char *const problems[] = {
        "sq=65,skv=130,d=40",
        "hq=4,hkv=2,sq=33,skv=70,d=64,dv=24,mask=causal",
        "b=2,hq=3,hkv=1,sq=1,skv=300,d=128",
        "h=2,s=70,d=32,mask=causal,layout=bshd,window=20",
        "hq=4,hkv=2,sq=33,skv=70,d=64,mask=causal,dtype=bf16",
        "hq=4,hkv=2,sq=33,skv=70,d=64,mask=causal,dtype=f16",
        "hq=8,hkv=2,sq=1,skv=300,d=40,dtype=f16",
        CACHE ",mask=bool+causal,softcap=2,sinks=1",
        CACHE ",ragged=1,page=16,kv_dtype=i8",
        CACHE ",packed=1,mask=bias,alibi=1",
    };
    for (size_t n = 0; n < sizeof problems / sizeof *problems; n++) {
        struct problem_case c = case_of(problems[n], "normal:1");
        tested_type(&c.problem);
        struct judged_problem *t = tested_open(problems[n]);
        if (judged_run(t, tested, THREADS)) { /* else the kernel or its library refuses */
            assert_passes(tested, &c);
            tested_ran++;
        }
        judged_close(t);
    }
    tested_skip_unless_ran();
}

static bool passes_the_check(const struct drawn_property *property, const struct drawn_case *c)
{
    struct problem_case drawn = {.problem = c->problem};
    struct check_result result;
    struct parse_error error;
    const char *why;
    char input[32];
    if (!attn_supports(property->kernel, &c->problem, &why))
        return false;
    snprintf(input, sizeof input, "normal:%d", 1 + (int)(c->seed % 1000));
    assert_true(parse_input_for(input, &drawn.problem, &drawn.input, &error));
    const int threads = property->kernel->caps.parallel ? drawn_threads(c) : 1;
    if (!check_kernel(property->kernel, &drawn, threads, CHECK_FULL, &result))
        fail_msg("%s", result.why);
    return true;
}

static void passes_what_is_drawn(void **state)
{
    (void)state;
    const struct drawn_limits limits = {
        .q_len = 40,
        .kv_len = 100,
        .dim = 128,
        .masks = tested->caps.masks,
        .options = tested->caps.options,
        .dtypes = tested->caps.dtypes & drawn_everything.dtypes,
        .kv_dtypes = tested->caps.kv_dtypes & 1u << ATTN_I8,
    };
    const struct drawn_property property = {
        .kernel = tested, .holds = passes_the_check, .test = "check/registry"};
    tested_ran += drawn_hold(&property, &(struct drawn_series){.limits = &limits, .count = 1});
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        /* first: in a child, which GCC's OpenMP does not survive once its parent has used it */
        cmocka_unit_test_setup(passes_what_is_drawn, tested_start),
        cmocka_unit_test_setup(passes, tested_start),
    };
    int status = tested_choose(argc, argv);
    if (!status)
        status = cmocka_run_group_tests(tests, NULL, NULL);
    return !status && tested_ran == 0 ? TESTED_SKIPPED : status;
}
