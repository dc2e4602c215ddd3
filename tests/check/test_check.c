/*
 * The check itself: honest kernels pass, timed results are judged.
 */
#include "testing.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/compare.h"
#include "check/timed.h"
#include "passes.h"
#include "problem/filled_tensors.h"

extern const struct attn_kernel wrong_honest, wrong_honest_bf16, wrong_honest_bf16_cache,
    wrong_honest_f64, wrong_cached_by_plan, wrong_nan_leaks, wrong_masked_rows_are_nan,
    wrong_starts_at_minus_infinity, wrong_starts_at_minus_1e30, wrong_flushes_subnormals,
    wrong_nan_vanishes;

/* ---- honest kernels ------------------------------------------------------------------------ */

#define CACHE "b=3,hq=4,hkv=2,sq=5,skv=37,d=12,dv=9"
#define SMALL_CACHE "b=2,hq=2,hkv=1,sq=5,skv=37,d=12,dv=9" /* f64, whose reference is slow */

/* What numbers a check takes for an error is the same under the sanitizers, which see its code elsewhere. */
static void skip_if_sanitized(void)
{
    if (sanitized_in_ci())
        skip();
}

static const struct {
    const struct attn_kernel *kernel;
    const char *problem, *input;
} honest[] = {
    {&wrong_honest, "sq=40,skv=9,d=1", "negative"},
    {&wrong_honest_f64, SMALL_CACHE ",dtype=f64,mask=bool+bias+causal,softcap=2,sinks=1,alibi=1",
     "normal+mask:elements:0.5:full+bias:full"},
    {&wrong_honest, CACHE ",packed=1,mask=bool,dtype=bf16", "normal"},
    {&wrong_honest, CACHE ",packed=1,ragged=1,window=9:2,dtype=f16", "normal+decode:2"},
    {&wrong_honest, "b=2,hq=6,hkv=1,sq=5,skv=37,d=20,dv=16,shared_kv=1,page=8", "negative"},
    /* other types, masks and inputs, of which check/registry has the sanitizers' share */
    {&wrong_honest, "hq=4,hkv=2,sq=20,skv=45,d=12,dv=9,mask=causal", "normal:1"},
    {&wrong_honest, "sq=9,skv=40,d=24,mask=causal_top_left", "uniform:3"},
    {&wrong_honest, "sq=3,skv=50,d=4,kv_dtype=i8,scale=1e-37", "normal:1"},
    {&wrong_honest, "h=2,s=68,d=32", "file:" TEST_DATA "/minilm-preamble.safetensors:layer1."},
    {&wrong_honest, "h=2,sq=20,skv=45,d=12,dtype=bf16", "normal:1"},
    {&wrong_honest, "h=2,sq=20,skv=45,d=12,dtype=f16,mask=causal,window=15:2", "normal:1"},
    {&wrong_honest_f64, SMALL_CACHE ",dtype=f64,ragged=1,page=16,mask=causal,kv_dtype=i8",
     "uniform+lens:0:37"},
    {&wrong_honest_bf16, "h=2,sq=20,skv=45,d=12,dtype=bf16,mask=causal", "normal:1"},
    {&wrong_honest_bf16_cache, "hq=4,hkv=1,sq=5,skv=45,d=12,dtype=bf16,kv_dtype=i8", "normal"},
    {&wrong_honest, CACHE ",mask=bool+bias+causal,softcap=2,sinks=1,alibi=1",
     "normal+mask:elements:0.5:full+bias:full"},
    {&wrong_honest, CACHE ",ragged=1,page=16,mask=causal,kv_dtype=i8", "uniform+lens:0:37"},
    /* other scales and lengths */
    {&wrong_honest, "sq=3,skv=50,d=1,scale=-2", "needle:17"},
    {&wrong_honest, "sq=3,skv=50,d=4,scale=1e-30", "normal:1"}, /* q . k is almost too large */
    {&wrong_honest, "hq=2,hkv=1,sq=24,skv=50,d=4,scale=1e-37",
     "normal:1"}, /* so it is for scores of 10 */
    {&wrong_honest, "sq=3,skv=50,d=1,dtype=bf16,scale=-1e-38", "normal:1"},
    {&wrong_honest, "sq=3,skv=50,d=4,dtype=f16,scale=1e-4", "normal:1"},
    {&wrong_honest_f64, "h=2,sq=9,skv=40,d=11,dtype=f64,mask=causal", "normal:1"},
    {&wrong_honest_bf16, "sq=8,skv=2000,d=16,dtype=bf16", "normal:1"},
    {&wrong_honest, "sq=8,skv=2000,d=12,outputs=o+lse", "sink"},
    /* few roundings, whose errors are by chance above their RMS */
    {&wrong_honest_bf16_cache, "hq=4,hkv=2,sq=1,skv=21,d=2,dtype=bf16,kv_dtype=i8", "normal:1"},
    {&wrong_honest_bf16_cache, "hq=4,hkv=2,sq=1,skv=37,d=1,dtype=bf16,kv_dtype=i8", "normal:1"},
    {&wrong_honest_bf16_cache, "hq=4,hkv=2,sq=1,skv=9,d=3,dtype=bf16,kv_dtype=i8", "normal:1"},
};

#define SANITIZED_ROWS 5 /* the first, which sanitizers are given, too */

TEST(honest_kernels_pass)
{
    for (size_t n = 0; n < (sanitized_in_ci() ? SANITIZED_ROWS : COUNT(honest)); n++) {
        const struct problem_case c = case_of(honest[n].problem, honest[n].input);
        assert_passes(honest[n].kernel, &c);
    }
}

/* A kernel that folds log2(e) into the scale errs by an ulp or two in LSE, whichever row.  Where all rows
 * were alike they erred by the same, which is no RMS: at these dimensions it came to more than 8 times that
 * of naive, whose sum happened to be exact. */
TEST(a_rounding_of_one_score_is_no_lost_precision)
{
    static const char *const problems[] = {"s=16,d=40", "s=16,d=61", "s=16,d=103"};
    skip_if_sanitized();
    for (size_t n = 0; n < COUNT(problems); n++) {
        const struct problem_case c = case_of(problems[n], "normal:1");
        assert_passes(attn_find("flash", ATTN_ISA_BASELINE), &c);
    }
}

/* Moves LSE of a problem of two queries by as much, unless it is small, and bound more narrowly. */
static double further;

static void move_lse(const struct attn_plan *plan, const struct attn_tensors *t)
{
    wrong_honest.execute(plan, t);
    if (plan->problem.q_len != 2 || !(plan->problem.outputs & ATTN_OUTPUT_LSE))
        return;
    for (size_t i = 0; i < 2; i++) {
        const double lse = tensors_get(&t->lse, 0, 0, i, 0);
        tensors_set(&t->lse, 0, 0, i, 0, fabs(lse) > 0.8 ? lse + further : lse);
    }
}

/* Two numbers are no sample: of these naive's sums of 255 products happen to be exact to a tenth of what is
 * to be expected, 2e-7. */
TEST(two_rows_are_no_sample)
{
    struct attn_kernel kernel = wrong_honest;
    struct check_result result;
    const struct problem_case c = case_of("sq=2,skv=2,d=255,kv_dtype=i8", "normal:1");
    skip_if_sanitized();
    kernel.execute = move_lse;
    further = 2.5e-7;
    assert_passes(&kernel, &c);
    further = 4e-6;
    assert_false(check_kernel(&kernel, &c, THREADS, CHECK_FULL, &result));
    if (!strstr(result.why, "RMS error of lse over 2 rows is "))
        fail_msg("%s", result.why);
}

/* Moves elements of O of a problem of one query by as much in relation, up and down in turn. */
static void move_o(const struct attn_plan *plan, const struct attn_tensors *t)
{
    const struct attn_problem *p = &plan->problem;
    wrong_honest_bf16_cache.execute(plan, t);
    if (p->q_len != 1 || p->batch != 1 || !(p->outputs & ATTN_OUTPUT_O))
        return;
    for (size_t h = 0; h < p->q_heads; h++)
        for (size_t d = 0; d < p->v_dim; d++) {
            const double o = tensors_get(&t->o, 0, h, 0, d);
            tensors_set(&t->o, 0, h, 0, d, o * (d % 2 ? 1 + further : 1 - further));
        }
}

/* What few roundings may exceed by chance is no room for lost bits: errors of 2^-7, four times those of
 * roundings to bf16, fail in few rows as well, where the bound finds them. */
TEST(few_roundings_are_those_of_bf16)
{
    static const char *const problems[] = {"hq=4,hkv=2,sq=1,skv=21,d=8,dtype=bf16,kv_dtype=i8",
                                           "hq=4,hkv=2,sq=1,skv=21,d=2,dtype=bf16,kv_dtype=i8"};
    struct attn_kernel kernel = wrong_honest_bf16_cache;
    struct check_result result;
    skip_if_sanitized();
    kernel.execute = move_o;
    for (size_t n = 0; n < COUNT(problems); n++) {
        const struct problem_case c = case_of(problems[n], "normal:1");
        further = 0;
        assert_passes(&kernel, &c);
        further = 0x1p-7;
        assert_false(check_kernel(&kernel, &c, THREADS, CHECK_FULL, &result));
    }
}

/* Drawn problems on which a check once called right kernels wrong: its own 1 - w1 was off by more than a
 * kernel that computes in double; weights of scores around 2^31 were held to first order; a V that is part of
 * K became larger than float16 holds. */
TEST(drawn_problems_pass)
{
    static const struct {
        const char *kernel, *problem, *input;
    } cases[] = {
        {"naive", "hq=2,hkv=1,sq=3,skv=7,d=77,dv=1,dtype=f64,scale=0.7,ragged=1", "normal:1"},
        {"naive", "hq=2,hkv=1,s=1,d=1,mask=bool,alibi=1,outputs=lse+weights", "normal:1"},
        {"flash", "s=1,d=1,dtype=f16,kv_dtype=i8,shared_kv=1", "normal:26"},
    };
    skip_if_sanitized();
    for (size_t n = 0; n < COUNT(cases); n++) {
        const struct problem_case c = case_of(cases[n].problem, cases[n].input);
        const struct attn_kernel *kernel = attn_find(cases[n].kernel, ATTN_ISA_BASELINE);
        struct check_result result;
        if (!check_kernel(kernel, &c, THREADS, CHECK_FULL, &result))
            fail_msg("%s: %s", cases[n].problem, result.why);
    }
}

#define PLAIN "h=2,s=20,d=12"
#define CAUSAL PLAIN ",mask=causal"
#define TALLER "h=2,sq=20,skv=15,d=12,mask=causal"

/* Of a kernel with such caveats: the phase that it fails, "": any, NULL: none. */
static const struct {
    const struct attn_kernel *kernel;
    unsigned caveats;
    const char *problem, *phase;
} admitted[] = {
    /* left out where a mask hides keys, and nowhere else */
    {&wrong_nan_leaks, 0, CAUSAL, "nan in v"},
    {&wrong_nan_leaks, ATTN_CAVEAT_NAN_LEAKS, CAUSAL, NULL},
    {&wrong_cached_by_plan, ATTN_CAVEAT_NAN_LEAKS, CAUSAL, ""},
    /* rows that see no key, whatever hides the keys; no other rows */
    {&wrong_masked_rows_are_nan, 0, TALLER, ""},
    {&wrong_masked_rows_are_nan, ATTN_CAVEAT_EMPTY_ROWS, TALLER, NULL},
    {&wrong_nan_leaks, ATTN_CAVEAT_EMPTY_ROWS, CAUSAL, "nan in v"},
    /* scores of -inf that no mask makes, with a mask or without */
    {&wrong_starts_at_minus_infinity, ATTN_CAVEAT_NAN_LEAKS | ATTN_CAVEAT_EMPTY_ROWS, PLAIN,
     "scores of -inf"},
    {&wrong_starts_at_minus_infinity, ATTN_CAVEAT_INFINITE_SCORES, PLAIN, NULL},
    {&wrong_starts_at_minus_1e30, ATTN_CAVEAT_INFINITE_SCORES, PLAIN, ""},
    {&wrong_flushes_subnormals, 0, PLAIN, "subnormal v"},
    {&wrong_flushes_subnormals, ATTN_CAVEAT_SUBNORMALS, PLAIN, NULL},
    /* a NaN that is seen and comes out as a number; not one that comes out where it is not seen */
    {&wrong_nan_vanishes, 0, PLAIN, "nan in k"},
    {&wrong_nan_vanishes, ATTN_CAVEAT_NAN_LEAKS, CAUSAL, "nan in q"},
    {&wrong_nan_vanishes, ATTN_CAVEAT_NAN_VANISHES, PLAIN, "scores of -inf"}, /* wrong, too */
    {&wrong_nan_vanishes, ATTN_CAVEAT_NAN_VANISHES, CAUSAL, "scores of -inf"},
    {&wrong_nan_leaks, ATTN_CAVEAT_NAN_VANISHES, CAUSAL, "nan in v"},
};

TEST(what_is_admitted_is_not_judged)
{
    for (size_t n = 0; n < COUNT(admitted); n++) {
        const struct problem_case c = case_of(admitted[n].problem, "normal:1");
        struct attn_kernel kernel = *admitted[n].kernel;
        struct check_result result;
        kernel.caps.caveats = admitted[n].caveats;
        if (!admitted[n].phase) {
            assert_passes(&kernel, &c);
            continue;
        }
        assert_false(check_kernel(&kernel, &c, THREADS, CHECK_FULL, &result));
        if (*admitted[n].phase)
            assert_string_equal(result.phase, admitted[n].phase);
    }
}

/* One query and one key: a row for each input, and o = v is exact, so that the naive kernel has no
 * error to compare with. */
TEST(the_smallest_problem_passes)
{
    struct check_result result;
    const struct problem_case c = case_of("s=1,d=1", "normal:1");
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_FULL, &result));
    assert_true(result.ok && result.rows > 20 && result.max_abs_error == 0);
    assert_true(result.rms_ratio == 0);
}

/* What the library under a kernel refuses in prepare is skipped where a check made the problem up,
 * and no pass where it is the case's own. */
static size_t refused_keys;
static int refusals;

static void refuse_keys(struct attn_plan *plan)
{
    if (plan->problem.kv_len == refused_keys) {
        plan->refusal = "so many keys";
        refusals++;
    }
}

TEST(a_library_may_refuse)
{
    const struct problem_case c = case_of("h=2,sq=40,skv=70,d=16", "normal:1");
    struct check_result result;
    struct attn_kernel kernel = wrong_honest;
    kernel.prepare = refuse_keys;
    refusals = 0;
    for (refused_keys = 1; refused_keys < 70 && !refusals; refused_keys++)
        assert_true(check_kernel(&kernel, &c, THREADS, CHECK_FULL, &result));
    assert_true(refusals > 0); /* some trial has fewer keys than the case */
    refused_keys = 70;
    assert_false(check_kernel(&kernel, &c, THREADS, CHECK_FULL, &result));
    assert_non_null(strstr(result.why, "the kernel does not support this problem"));
}

TEST(sampled_rows_are_counted)
{
    struct check_result result;
    const struct problem_case c = case_of("h=4,s=100,d=8", "normal:1");
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_INVARIANT, &result));
    assert_int_equal(result.rows, 64);
    assert_true(result.rms_ratio == 0);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_CASE, &result));
    assert_int_equal(result.rows, 400);
}

/* ---- timed results ------------------------------------------------------------------------- */

TEST(timed_results_are_judged)
{
    const struct problem_case c = case_of("h=2,s=50,d=16", "normal:1");
    struct tensor_set sets[2];
    struct attn_plan plan;
    const char *why;
    for (uint64_t n = 0; n < 2; n++)
        sets[n] = filled(&c, (struct tensors_layout){0}, n);
    struct check_result result = {.ok = true};
    assert_true(attn_plan_init(&plan, &wrong_cached_by_plan, &c.problem, 1, NULL, 0, &why));
    attn_execute(&plan, &sets[0].tensors);
    assert_true(timed_rows(plan.kernel, &c.problem, &sets[0].tensors, 4, 1, &result));
    assert_int_equal(result.rows, 4);
    attn_execute(&plan, &sets[1].tensors);
    assert_false(timed_rows(plan.kernel, &c.problem, &sets[1].tensors, 4, 2, &result));
    assert_true(result.rows == 8 && !result.ok);
    assert_string_equal(result.phase, "timed call");
    assert_non_null(strstr(result.why, "o row (b 0, h "));
    tensors_poison(&sets[1], &c.problem);
    result = (struct check_result){.ok = true};
    assert_false(timed_rows(plan.kernel, &c.problem, &sets[1].tensors, 4, 2, &result));
    assert_true(isnan(result.error_over_bound));
    attn_plan_destroy(&plan);
    tensors_free(&sets[0]);
    tensors_free(&sets[1]);
}

/* The reference of a timed call does not compute in what the call left behind, nor does the next. */
TEST(timed_calls_leave_rounding_alone)
{
    const struct problem_case c = case_of("h=2,s=50,d=16", "normal:1");
    struct check_result result = {.ok = true};
    struct tensor_set set = filled(&c, (struct tensors_layout){0}, 0);
    struct attn_plan plan;
    const char *why;
    assert_true(attn_plan_init(&plan, &wrong_honest, &c.problem, 1, NULL, 0, &why));
    attn_execute(&plan, &set.tensors);
    assert_int_equal(fesetround(FE_DOWNWARD), 0);
    assert_false(timed_rows(plan.kernel, &c.problem, &set.tensors, 4, 1, &result));
    assert_int_equal(fegetround(), FE_TONEAREST);
    assert_false(result.ok);
    assert_string_equal(result.phase, "timed call");
    assert_non_null(strstr(result.why, "leaves the floating-point environment changed: "));
    result = (struct check_result){.ok = true};
    assert_true(timed_rows(plan.kernel, &c.problem, &set.tensors, 4, 1, &result));
    attn_plan_destroy(&plan);
    tensors_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_kernels_pass),
        cmocka_unit_test(a_rounding_of_one_score_is_no_lost_precision),
        cmocka_unit_test(two_rows_are_no_sample),
        cmocka_unit_test(few_roundings_are_those_of_bf16),
        cmocka_unit_test(drawn_problems_pass),
        cmocka_unit_test(what_is_admitted_is_not_judged),
        cmocka_unit_test(the_smallest_problem_passes),
        cmocka_unit_test(sampled_rows_are_counted),
        cmocka_unit_test(timed_results_are_judged),
        cmocka_unit_test(timed_calls_leave_rounding_alone),
        cmocka_unit_test(a_library_may_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
