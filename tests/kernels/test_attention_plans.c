/*
 * Who supports what and why not; plans, their workspaces and libraries; the best kernel.
 */
#include "testing.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attention.h"

static struct attn_problem problem(void)
{
    struct attn_problem p;
    attn_problem_init(&p);
    return p;
}

static const struct attn_kernel *naive(void)
{
    return attn_find("naive", ATTN_ISA_BASELINE);
}

/* naive without anything that a kernel may leave out. */
static struct attn_kernel bare(void)
{
    struct attn_kernel kernel = *naive();
    kernel.caps.dtypes = 1u << ATTN_F32;
    kernel.caps.kv_dtypes = kernel.caps.masks = kernel.caps.options = 0;
    kernel.caps.outputs = ATTN_OUTPUT_O;
    return kernel;
}

static void refusals_say_why(void **state)
{
    (void)state;
    const struct {
        unsigned mask, options, outputs;
        enum attn_dtype dtype, kv_dtype;
        enum attn_pass pass;
        const char *why;
    } cases[] = {
        {.dtype = ATTN_F64, .kv_dtype = ATTN_F64, .why = "dtype=f64"},
        {.kv_dtype = ATTN_I8, .why = "K and V of this data type"},
        {.mask = ATTN_MASK_CAUSAL, .why = "mask=causal"},
        {.mask = ATTN_MASK_CAUSAL_TOP_LEFT, .why = "mask=causal_top_left"},
        {.mask = ATTN_MASK_BIAS, .why = "mask=bias"},
        {.mask = ATTN_MASK_BOOL, .why = "mask=bool"},
        {.mask = ATTN_MASK_TREE, .why = "mask=tree"},
        {.options = ATTN_OPTION_WINDOW, .why = "window"},
        {.options = ATTN_OPTION_SOFTCAP, .why = "softcap"},
        {.options = ATTN_OPTION_SINKS, .why = "sinks"},
        {.options = ATTN_OPTION_ALIBI, .why = "alibi"},
        {.options = ATTN_OPTION_RAGGED, .why = "ragged lengths"},
        {.options = ATTN_OPTION_PAGED, .why = "paged K and V"},
        {.options = ATTN_OPTION_PACKED, .why = "packed sequences"},
        {.options = ATTN_OPTION_SHARED_KV, .why = "shared K and V"},
        {.options = ATTN_OPTION_INDEX, .why = "keys=index"},
        {.outputs = ATTN_OUTPUT_LSE, .why = "outputs=lse"},
        {.outputs = ATTN_OUTPUT_WEIGHTS, .why = "outputs=weights"},
        {.outputs = ATTN_OUTPUT_SCORES, .why = "outputs=scores"},
        {.outputs = ATTN_OUTPUT_DQ, .why = "outputs of a backward pass"},
        {.pass = ATTN_BACKWARD, .why = "the backward pass"},
    };
    const struct attn_kernel kernel = bare();
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct attn_problem p = problem();
        const char *why = NULL;
        p.mask = cases[i].mask;
        p.options = cases[i].options;
        p.outputs |= cases[i].outputs;
        p.dtype = cases[i].dtype;
        p.kv_dtype = cases[i].kv_dtype;
        p.pass = cases[i].pass;
        p.softcap = p.options & ATTN_OPTION_SOFTCAP ? 1 : 0;
        p.page_size = p.options & ATTN_OPTION_PAGED ? 1 : 0;
        p.index_count = p.index_block = p.options & ATTN_OPTION_INDEX ? 1 : 0;
        assert_false(attn_supports(&kernel, &p, &why));
        assert_string_equal(why, cases[i].why);
        if (cases[i].dtype == ATTN_F32 && !p.pass && !(cases[i].outputs & ATTN_OUTPUT_DQ))
            assert_true(attn_supports(naive(), &p, &why));
    }
    struct attn_kernel small = *naive();
    struct attn_problem p = problem();
    const char *why = NULL;
    p.v_dim = 9;
    assert_true(attn_supports(&small, &p, &why));
    small.caps.max_dim = 8;
    assert_false(attn_supports(&small, &p, &why));
    assert_string_equal(why, "so large a head dimension");
    small.caps.outputs = 0; /* forgotten */
    assert_false(attn_supports(&small, &p, &why));
    assert_string_equal(why, "outputs=o");
}

static bool refuse_silently(const struct attn_problem *p, const char **why)
{
    (void)p;
    (void)why;
    return false;
}

/* A kernel of others may forget to say why. */
static void a_refusal_has_a_reason(void **state)
{
    (void)state;
    struct attn_kernel silent = *naive();
    const struct attn_problem p = problem();
    const char *why = NULL;
    silent.supports = refuse_silently;
    assert_false(attn_supports(&silent, &p, &why));
    assert_string_equal(why, "this problem");
}

/* Whether a call without a kernel ends the process at an assert. */
static bool ends(int call)
{
    const pid_t child = fork();
    int status = 0;
    assert_true(child >= 0);
    if (child == 0) {
        struct attn_problem p = problem();
        struct attn_plan plan;
        const char *why;
        fclose(stderr);
        if (call == 0)
            attn_supports(NULL, &p, &why);
        else if (call == 1)
            attn_workspace_size(NULL, &p, 1);
        else
            attn_plan_init(&plan, NULL, &p, 1, NULL, 0, &why);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void a_kernel_is_not_null(void **state)
{
    (void)state;
#ifdef NDEBUG
    (void)ends;
    skip();
#else
    for (int call = 0; call < 3; call++)
        assert_true(ends(call));
#endif
}

static void plans_refuse_bad_workspaces(void **state)
{
    (void)state;
    struct attn_problem p = problem();
    struct attn_plan plan;
    const char *why = NULL;
    p.kv_len = 100;
    const size_t bytes = attn_workspace_size(naive(), &p, 3);
    assert_true(bytes >= 400);
    char *memory = aligned_alloc(ATTN_WORKSPACE_ALIGN, 2 * bytes);
    assert_non_null(memory);
    assert_false(attn_plan_init(&plan, naive(), &p, 3, memory, bytes - 1, &why));
    assert_non_null(strstr(why, "small"));
    assert_false(attn_plan_init(&plan, naive(), &p, 3, NULL, bytes, &why));
    assert_false(attn_plan_init(&plan, naive(), &p, 3, memory + 4, bytes, &why));
    assert_non_null(strstr(why, "aligned"));
    assert_false(attn_plan_init(&plan, naive(), &p, 0, memory, bytes, &why));
    assert_non_null(strstr(why, "threads"));
    assert_false(attn_plan_init(&plan, naive(), &p, -3, memory, bytes, &why));
    struct attn_kernel foreign = *naive();
    foreign.isa = attn_isa_available(ATTN_ISA_SVE) ? ATTN_ISA_AVX2 : ATTN_ISA_SVE;
    assert_false(attn_plan_init(&plan, &foreign, &p, 3, memory, bytes, &why));
    assert_non_null(strstr(why, "instruction set"));

    assert_true(attn_plan_init(&plan, naive(), &p, 3, memory, bytes, &why));
    assert_int_equal(plan.threads, 1); /* naive is serial */
    attn_plan_destroy(&plan);
    assert_null(plan.kernel);
    free(memory);
}

/* A library that is there on the second try, and a kernel whose library refuses one length. */
static int loads, destroyed;

static bool load_second_time(const char **why)
{
    *why = "install it";
    return loads++ > 0;
}

static void refuse_seven_keys(struct attn_plan *plan)
{
    plan->state = plan;
    if (plan->problem.kv_len == 7)
        plan->refusal = "not seven";
}

static void count_destroyed(struct attn_plan *plan)
{
    assert_ptr_equal(plan->state, plan);
    destroyed++;
}

static void plans_need_the_kernels_library(void **state)
{
    (void)state;
    static const struct attn_library library = {.size = sizeof library, .load = load_second_time};
    static const struct attn_library linked = {.size = sizeof linked};
    struct attn_kernel kernel = *naive();
    struct attn_problem p = problem();
    struct attn_plan plan;
    const char *why = NULL;
    kernel.library = &library;
    kernel.workspace_size = NULL;
    kernel.prepare = refuse_seven_keys;
    kernel.destroy = count_destroyed;
    loads = destroyed = 0;
    p.kv_len = 6;
    assert_false(attn_plan_init(&plan, &kernel, &p, 1, NULL, 0, &why));
    assert_string_equal(why, "install it");
    assert_true(attn_plan_init(&plan, &kernel, &p, 1, NULL, 0, &why));
    attn_plan_destroy(&plan);
    assert_int_equal(destroyed, 1);
    p.kv_len = 7;
    assert_false(attn_plan_init(&plan, &kernel, &p, 1, NULL, 0, &why));
    assert_string_equal(why, "not seven");
    assert_int_equal(destroyed, 2); /* what prepare had made */
    kernel.library = &linked;
    assert_true(attn_load(&kernel, &why));
    assert_true(attn_load(naive(), &why));
}

static void best_kernel_supports_the_problem(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < ATTN_DTYPE_COUNT; dtype++)
        for (unsigned outputs = 1; outputs < 8; outputs++) {
            struct attn_problem p = problem();
            const char *why;
            p.dtype = p.kv_dtype = (enum attn_dtype)dtype;
            p.outputs = outputs;
            const struct attn_kernel *best = attn_kernel_best(&p, 2);
            assert_true(!best || attn_supports(best, &p, &why));
            assert_true(!best || attn_isa_available(best->isa));
            assert_true(best || !attn_supports(naive(), &p, &why));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(a_refusal_has_a_reason),
        cmocka_unit_test(a_kernel_is_not_null),
        cmocka_unit_test(plans_refuse_bad_workspaces),
        cmocka_unit_test(plans_need_the_kernels_library),
        cmocka_unit_test(best_kernel_supports_the_problem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
