/*
 * The interface around the kernels: which problems are valid, who supports what and why not,
 * plans, the mask rule and useful work.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attention.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

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

/* ---- problems ------------------------------------------------------------------------------ */

static void assert_invalid(const struct attn_problem *p, const char *expected)
{
    const char *why = NULL;
    assert_false(attn_problem_valid(p, &why));
    assert_non_null(why);
    if (!strstr(why, expected))
        fail_msg("'%s' does not say '%s'", why, expected);
    assert_false(attn_supports(naive(), p, &why));
}

static void bad_problems_are_refused(void **state)
{
    (void)state;
    const char *why;
    struct attn_problem p = problem();
    assert_true(attn_problem_valid(&p, &why));
    size_t *const lengths[] = {&p.batch,  &p.q_heads, &p.kv_heads, &p.q_len,
                               &p.kv_len, &p.qk_dim,  &p.v_dim};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        *lengths[i] = 0;
        assert_invalid(&p, "zero");
        *lengths[i] = 1;
    }
    p = problem(), p.size--;
    assert_invalid(&p, "size");
    p = problem(), p.q_heads = 3, p.kv_heads = 2;
    assert_invalid(&p, "multiple");
    p = problem(), p.mask = ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT;
    assert_invalid(&p, "causal");
    p = problem(), p.scale = NAN;
    assert_invalid(&p, "finite");
    p = problem(), p.options = ATTN_OPTION_SOFTCAP;
    assert_invalid(&p, "softcap");
    p = problem(), p.options = ATTN_OPTION_PAGED;
    assert_invalid(&p, "page_size");
    p = problem(), p.options = ATTN_OPTION_SHARED_KV, p.v_dim = 2;
    assert_invalid(&p, "shared K and V");
    p = problem(), p.options = ATTN_OPTION_PAGED, p.page_size = SIZE_MAX / 2;
    assert_invalid(&p, "address space");
    p = problem(), p.outputs = 0;
    assert_invalid(&p, "output");
    p = problem(), p.q_len = SIZE_MAX / 2, p.batch = 3;
    assert_invalid(&p, "address space");
    p = problem(), p.q_len = p.kv_len = (size_t)1 << 31;
    assert_true(attn_problem_valid(&p, &why));
    p.outputs = ATTN_OUTPUT_WEIGHTS;
    assert_invalid(&p, "address space");
}

/* The rule of attention.h in its own words, key by key. */
static bool sees(const struct attn_problem *p, ptrdiff_t i, ptrdiff_t j)
{
    const ptrdiff_t shift = (ptrdiff_t)p->kv_len - (ptrdiff_t)p->q_len;
    const bool top_left = p->mask & ATTN_MASK_CAUSAL_TOP_LEFT;
    const ptrdiff_t at = top_left ? i : i + shift;
    if (p->mask && j > at)
        return false;
    if (!(p->options & ATTN_OPTION_WINDOW))
        return true;
    return !(p->window_left >= 0 && j < at - p->window_left) &&
           !(p->window_right >= 0 && j > at + p->window_right);
}

static void mask_rule(void **state)
{
    (void)state;
    static const ptrdiff_t windows[][2] = {{-1, -1}, {0, 0}, {3, -1}, {-1, 2}, {2, 1}, {50, 50}};
    static const size_t lengths[] = {1, 2, 5, 9};
    struct attn_problem p = problem();
    for (p.mask = 0; p.mask <= ATTN_MASK_CAUSAL_TOP_LEFT; p.mask++)
        for (size_t w = 0; w < COUNT(windows); w++)
            for (size_t s = 0; s < COUNT(lengths) * COUNT(lengths); s++) {
                p.options = w ? ATTN_OPTION_WINDOW : 0;
                p.window_left = windows[w][0];
                p.window_right = windows[w][1];
                p.q_len = lengths[s / COUNT(lengths)];
                p.kv_len = lengths[s % COUNT(lengths)];
                double pairs = 0;
                for (ptrdiff_t i = 0; i < (ptrdiff_t)p.q_len; i++) {
                    const struct attn_range r = attn_visible(&p, i);
                    for (ptrdiff_t j = 0; j < (ptrdiff_t)p.kv_len; j++) {
                        assert_int_equal(j >= r.lo && j < r.hi, sees(&p, i, j));
                        pairs += sees(&p, i, j);
                    }
                }
                assert_true(attn_visible_pairs(&p) == pairs);
            }
}

static void useful_work(void **state)
{
    (void)state;
    struct attn_problem p = problem();
    p.batch = 2, p.q_heads = 6, p.kv_heads = 3, p.q_len = 4, p.kv_len = 7, p.qk_dim = 8,
    p.v_dim = 5;
    /* 2 * 6 heads * 28 pairs * 2 * 13 */
    assert_true(attn_useful_flops(&p) == 2 * 6 * 28 * 2 * 13);
    /* Q and O: 48 rows * 13; K and V: 2 * 3 * 7 rows * 13; 4 bytes */
    assert_true(attn_compulsory_bytes(&p) == (48 + 42) * 13 * 4);
    p.outputs |= ATTN_OUTPUT_LSE | ATTN_OUTPUT_WEIGHTS;
    assert_true(attn_compulsory_bytes(&p) == (48 + 42) * 13 * 4 + 48 * 4 + 48 * 7 * 4);
    p.outputs = ATTN_OUTPUT_O;
    p.dtype = p.kv_dtype = ATTN_BF16;
    assert_true(attn_compulsory_bytes(&p) == (48 + 42) * 13 * 2);
    /* queries 0..3 see 4 + 5 + 6 + 7 keys; 7 of 7 keys are read.  By window 0:0, the last 4. */
    p.mask = ATTN_MASK_CAUSAL;
    assert_true(attn_useful_flops(&p) == 2 * 6 * 22 * 2 * 13);
    p.options = ATTN_OPTION_WINDOW, p.window_left = p.window_right = 0;
    assert_true(attn_useful_flops(&p) == 2 * 6 * 4 * 2 * 13);
    assert_true(attn_compulsory_bytes(&p) == (48 + 24) * 13 * 2);
}

static void default_scale(void **state)
{
    (void)state;
    struct attn_problem p = problem();
    p.qk_dim = 64;
    assert_true(attn_problem_scale(&p) == 0.125f);
    p.scale = -3;
    assert_true(attn_problem_scale(&p) == -3);
}

/* ---- kernels and plans --------------------------------------------------------------------- */

/* naive without anything that a kernel may leave out. */
static struct attn_kernel bare(void)
{
    struct attn_kernel kernel = *naive();
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
        {.options = ATTN_OPTION_WINDOW, .why = "window"},
        {.options = ATTN_OPTION_SOFTCAP, .why = "softcap"},
        {.options = ATTN_OPTION_SINKS, .why = "sinks"},
        {.options = ATTN_OPTION_ALIBI, .why = "alibi"},
        {.options = ATTN_OPTION_RAGGED, .why = "ragged lengths"},
        {.options = ATTN_OPTION_PAGED, .why = "paged K and V"},
        {.options = ATTN_OPTION_PACKED, .why = "packed sequences"},
        {.options = ATTN_OPTION_SHARED_KV, .why = "shared K and V"},
        {.outputs = ATTN_OUTPUT_LSE, .why = "outputs=lse"},
        {.outputs = ATTN_OUTPUT_WEIGHTS, .why = "outputs=weights"},
        {.outputs = ATTN_OUTPUT_DQ, .why = "outputs of a backward pass"},
        {.pass = ATTN_BACKWARD, .why = "pass=backward"},
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
        p.softcap = 1;
        p.page_size = 1;
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
    struct attn_kernel foreign = *naive();
    foreign.isa = ATTN_ISA_SVE;
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
        cmocka_unit_test(bad_problems_are_refused),
        cmocka_unit_test(mask_rule),
        cmocka_unit_test(useful_work),
        cmocka_unit_test(default_scale),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(a_refusal_has_a_reason),
        cmocka_unit_test(a_kernel_is_not_null),
        cmocka_unit_test(plans_refuse_bad_workspaces),
        cmocka_unit_test(plans_need_the_kernels_library),
        cmocka_unit_test(best_kernel_supports_the_problem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
