/*
 * Every variant on random problems of all masks, options, caches and types that it claims: each alone,
 * and several at once.  What no row may look at is NaN.  drawn_search.h says how to draw more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drawn_search.h"
#include "tested_kernel.h"

static void hold(const struct drawn_series *series)
{
    const struct drawn_property property = {
        .kernel = tested, .holds = drawn_is_as_reference, .test = "kernels/options"};
    tested_ran += drawn_hold(&property, series);
}

static struct drawn_limits limits_of(unsigned masks, unsigned options)
{
    return (struct drawn_limits){
        .q_len = 70,
        .kv_len = 200,
        .dim = 70,
        .masks = masks & tested->caps.masks,
        .options = options & tested->caps.options,
        .dtypes = tested->caps.dtypes & drawn_everything.dtypes,
        .kv_dtypes = tested->caps.kv_dtypes & 1u << ATTN_I8,
    };
}

static void each_alone(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 16; bit++) {
        struct drawn_limits limits = limits_of(0, 0);
        limits.must_masks = 1u << bit & 0xf & tested->caps.masks;
        limits.must_options = 1u << bit >> 4 & tested->caps.options;
        limits.kv_dtypes = 0;
        if (limits.must_masks | limits.must_options)
            hold(&(struct drawn_series){.limits = &limits, .seed = 100 * bit, .count = 12});
    }
    tested_skip_unless_ran();
}

static void together(void **state)
{
    (void)state;
    const struct drawn_limits limits = limits_of(~0u, ~0u);
    hold(&(struct drawn_series){.limits = &limits, .count = 250});
    tested_skip_unless_ran();
}

/* Few queries on many keys: more than one task or split of them. */
static void long_keys(void **state)
{
    (void)state;
    struct drawn_limits limits = limits_of(~0u, ~0u);
    limits.q_len = 1;
    limits.kv_len = 2500;
    hold(&(struct drawn_series){.limits = &limits, .seed = 1000, .count = 50});
    tested_skip_unless_ran();
}

/* Multi-head latent attention: one KV head, whose keys are wide and hold the values. */
static void latent_heads(void **state)
{
    (void)state;
    static const char *const problems[] = {
        "hq=16,hkv=1,sq=1,skv=70,d=576,dv=512,shared_kv=1,outputs=o+lse",
        "b=2,hq=5,hkv=1,sq=3,skv=300,d=576,dv=512,shared_kv=1,ragged=1,mask=causal",
        "b=2,hq=32,hkv=1,sq=1,skv=700,d=576,dv=512,shared_kv=1,ragged=1,page=16,outputs=o+lse",
    };
    static const char *const dtypes[] = {"f32", "bf16", "f16"};
    struct drawn_case cases[9];
    for (size_t n = 0; n < 9; n++) {
        char text[PARSE_TEXT];
        struct parse_error error;
        snprintf(text, sizeof text, "%s,dtype=%s", problems[n / 3], dtypes[n % 3]);
        assert_true(parse_problem(text, &cases[n].problem, &error));
        cases[n].seed = n;
    }
    hold(&(struct drawn_series){.cases = cases, .count = 9});
    tested_skip_unless_ran();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_alone, tested_start),
        cmocka_unit_test_setup(together, tested_start),
        cmocka_unit_test_setup(long_keys, tested_start),
        cmocka_unit_test_setup(latent_heads, tested_start),
    };
    const int status = tested_choose(argc, argv);
    return status ? status : cmocka_run_group_tests(tests, NULL, NULL);
}
