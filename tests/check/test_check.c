/*
 * The check itself: honest kernels pass, timed results are judged, stored rows of the reference are
 * used for their own input only.
 */
#include "testing.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xxhash.h>

#include "check/compare.h"
#include "passes.h"
#include "problem/filled_tensors.h"

extern const struct attn_kernel wrong_honest, wrong_honest_bf16, wrong_honest_bf16_cache,
    wrong_honest_f64, wrong_cached_by_plan, wrong_nan_leaks, wrong_masked_rows_are_nan,
    wrong_starts_at_minus_infinity, wrong_starts_at_minus_1e30, wrong_flushes_subnormals,
    wrong_nan_vanishes;

int memfd_create(const char *name, unsigned flags); /* sys/mman.h shows it with _GNU_SOURCE only */

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
    assert_true(check_rows(plan.kernel, &c.problem, &sets[0].tensors, 4, 1, &result));
    assert_int_equal(result.rows, 4);
    attn_execute(&plan, &sets[1].tensors);
    assert_false(check_rows(plan.kernel, &c.problem, &sets[1].tensors, 4, 2, &result));
    assert_true(result.rows == 8 && !result.ok);
    assert_string_equal(result.phase, "timed call");
    assert_non_null(strstr(result.why, "o row (b 0, h "));
    tensors_poison(&sets[1], &c.problem);
    result = (struct check_result){.ok = true};
    assert_false(check_rows(plan.kernel, &c.problem, &sets[1].tensors, 4, 2, &result));
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
    assert_false(check_rows(plan.kernel, &c.problem, &set.tensors, 4, 1, &result));
    assert_int_equal(fegetround(), FE_TONEAREST);
    assert_false(result.ok);
    assert_string_equal(result.phase, "timed call");
    assert_non_null(strstr(result.why, "leaves the floating-point environment changed: "));
    result = (struct check_result){.ok = true};
    assert_true(check_rows(plan.kernel, &c.problem, &set.tensors, 4, 1, &result));
    attn_plan_destroy(&plan);
    tensors_free(&set);
}

/* ---- stored rows of the reference ----------------------------------------------------------- */

static int file_of(off_t bytes)
{
    const int fd = memfd_create("reference", 0);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, bytes), 0);
    return fd;
}

static off_t size_of(int fd)
{
    return lseek(fd, 0, SEEK_END);
}

static int stored_rows_of(const struct problem_case *c)
{
    char message[256];
    const int fd = file_of(0);
    if (!check_reference_create(c, fd, message, sizeof message))
        fail_msg("%s", message);
    return fd;
}

TEST(a_stored_reference_gives_the_same_verdict)
{
    static const struct {
        const struct attn_kernel *kernel;
        const char *problem;
    } table[] = {
        {&wrong_honest, "hq=4,hkv=2,sq=40,skv=30,d=24,dv=17,mask=causal,outputs=o+lse"},
        {&wrong_honest_f64, "h=2,sq=20,skv=15,d=12,mask=causal,dtype=f64,outputs=o+lse"},
        {&wrong_honest_bf16, "h=2,sq=20,skv=15,d=12,mask=causal,dtype=bf16,outputs=o+lse"},
        {&wrong_honest_bf16, "h=2,sq=20,skv=15,d=12,mask=causal,outputs=o+lse"},
        {&wrong_honest_bf16, "h=2,sq=20,skv=15,d=12,mask=causal,dtype=f16"},
    };
    for (size_t n = 0; n < COUNT(table); n++) {
        struct check_result computed, looked_up;
        const struct problem_case c = case_of(table[n].problem, "normal:4");
        assert_true(check_kernel(table[n].kernel, &c, THREADS, CHECK_CASE, &computed));
        const int fd = stored_rows_of(&c), fresh = file_of(0);
        assert_int_equal(ftruncate(fd, size_of(fd) + (1 << 20)), 0);
        check_reference_use(fd, fresh);
        assert_true(check_kernel(table[n].kernel, &c, THREADS, CHECK_CASE, &looked_up));
        assert_int_equal(size_of(fresh), 0); /* found all */
        assert_int_equal(computed.rows, looked_up.rows);
        assert_true(computed.max_abs_error == looked_up.max_abs_error);
        assert_true(fabs(computed.error_over_bound / looked_up.error_over_bound - 1) < 1e-6);
        check_reference_use(-1, -1);
        close(fd);
        close(fresh);
    }
}

/* Of h=2,s=20,d=8: 40 rows of which each has 48 bytes, then O, its bounds and its magnitudes. */
enum { ROWS = 40, HEADER = 48, ROW_BYTES = HEADER + 3 * 8 * 8 };

/* Spoils the first element of O in each row, whose hash is made to fit. */
static void spoil(int fd)
{
    const double wrong = 77;
    char row[ROW_BYTES];
    assert_int_equal(size_of(fd), ROWS * ROW_BYTES);
    for (off_t at = 0; at < ROWS * ROW_BYTES; at += ROW_BYTES) {
        assert_int_equal(pread(fd, row, ROW_BYTES, at), ROW_BYTES);
        memcpy(row + HEADER, &wrong, sizeof wrong);
        const uint64_t hash = XXH3_64bits(row + sizeof hash, ROW_BYTES - sizeof hash);
        memcpy(row, &hash, sizeof hash);
        assert_int_equal(pwrite(fd, row, ROW_BYTES, at), ROW_BYTES);
    }
}

TEST(a_stored_reference_is_used_for_its_input_only)
{
    const struct problem_case c = case_of("h=2,s=20,d=8", "normal:4");
    const int fd = stored_rows_of(&c);
    spoil(fd);
    check_reference_use(fd, -1);
    struct check_result result;
    assert_false(check_kernel(&wrong_honest, &c, THREADS, CHECK_CASE, &result));
    assert_non_null(strstr(result.why, "expected 77"));
    const char *const others[][2] = {{"h=2,s=20,d=8", "normal:5"},
                                     {"h=2,s=21,d=8", "normal:4"},
                                     {"h=2,s=20,d=8,mask=causal", "normal:4"},
                                     {"h=2,s=20,d=8,scale=0.5", "normal:4"},
                                     {"h=2,s=20,d=8,outputs=o+weights", "normal:4"}};
    for (size_t n = 0; n < COUNT(others); n++) {
        const struct problem_case other = case_of(others[n][0], others[n][1]);
        const char *why;
        const struct attn_kernel *naive = attn_find("naive", ATTN_ISA_BASELINE);
        assert_true(attn_supports(naive, &other.problem, &why));
        assert_true(check_kernel(naive, &other, THREADS, CHECK_CASE, &result));
    }
    check_reference_use(-1, -1);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_CASE, &result));
    close(fd);
}

TEST(a_damaged_row_of_the_reference_is_not_used)
{
    const struct problem_case c = case_of("h=2,s=20,d=8", "normal:4");
    struct check_result result;
    const int fd = stored_rows_of(&c);
    spoil(fd);
    const char other = 1;
    for (off_t at = ROW_BYTES - 1; at < ROWS * ROW_BYTES; at += ROW_BYTES)
        assert_int_equal(pwrite(fd, &other, 1, at), 1); /* the hash of none fits */
    check_reference_use(fd, -1);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_CASE, &result));
    spoil(fd);
    assert_int_equal(ftruncate(fd, ROW_BYTES - 1), 0);
    check_reference_use(fd, -1);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_CASE, &result));
    assert_int_equal(ftruncate(fd, 0), 0);
    check_reference_use(fd, -1);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_CASE, &result));
    check_reference_use(-1, -1);
    close(fd);
}

TEST(rows_that_a_check_computes_are_found_by_the_next)
{
    const struct problem_case c = case_of("h=2,s=20,d=8,outputs=o+lse", "normal:4");
    struct check_result plain, first, second;
    const int empty = file_of(1 << 24), known = file_of(0), fresh = file_of(0);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_FULL, &plain));
    check_reference_use(empty, known);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_FULL, &first));
    const off_t end = size_of(known);
    assert_true(end > ROWS * ROW_BYTES);
    assert_int_equal(ftruncate(known, end + (1 << 20)), 0);
    check_reference_use(known, fresh);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_FULL, &second));
    assert_int_equal(size_of(fresh), 0);
    assert_int_equal(plain.rows, first.rows);
    assert_int_equal(plain.rows, second.rows);
    assert_true(first.hardest_over_bound == second.hardest_over_bound);
    assert_string_equal(first.hardest, second.hardest);
    assert_false(check_kernel(&wrong_nan_vanishes, &c, THREADS, CHECK_FULL, &second));
    check_reference_use(-1, -1);
    close(empty);
    close(known);
    close(fresh);
}

TEST(more_rows_than_are_written_at_once_are_stored)
{
    const struct problem_case c = case_of("h=2,sq=2100,skv=3,d=2,outputs=o", "normal:4");
    struct check_result result;
    const int fd = stored_rows_of(&c), fresh = file_of(0);
    assert_int_equal(size_of(fd), 4200 * (HEADER + 3 * 2 * 8));
    assert_int_equal(ftruncate(fd, size_of(fd) + (1 << 20)), 0);
    check_reference_use(fd, fresh);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_CASE, &result));
    assert_int_equal(result.rows, 4200);
    assert_int_equal(size_of(fresh), 0);
    check_reference_use(-1, -1);
    close(fd);
    close(fresh);
}

/* With room for less than a check wants, and with a file that is no longer there, nothing is written. */
TEST(rows_without_room_are_not_stored)
{
    const struct problem_case c = case_of("h=2,s=20,d=8,outputs=o+lse", "normal:4");
    struct check_result result;
    const int known = file_of(ROWS * ROW_BYTES - 1), fresh = file_of(0);
    check_reference_use(known, fresh);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_CASE, &result));
    assert_int_equal(size_of(fresh), 0);
    assert_int_equal(ftruncate(known, ROWS * ROW_BYTES), 0);
    check_reference_use(known, fresh);
    const int other = file_of(3);
    assert_int_equal(dup2(other, fresh), fresh);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_CASE, &result));
    assert_int_equal(size_of(other), 3);
    check_reference_use(-1, -1);
    close(known);
    close(fresh);
    close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_kernels_pass),
        cmocka_unit_test(a_rounding_of_one_score_is_no_lost_precision),
        cmocka_unit_test(two_rows_are_no_sample),
        cmocka_unit_test(drawn_problems_pass),
        cmocka_unit_test(what_is_admitted_is_not_judged),
        cmocka_unit_test(the_smallest_problem_passes),
        cmocka_unit_test(sampled_rows_are_counted),
        cmocka_unit_test(timed_results_are_judged),
        cmocka_unit_test(timed_calls_leave_rounding_alone),
        cmocka_unit_test(a_library_may_refuse),
        cmocka_unit_test(a_stored_reference_gives_the_same_verdict),
        cmocka_unit_test(a_stored_reference_is_used_for_its_input_only),
        cmocka_unit_test(a_damaged_row_of_the_reference_is_not_used),
        cmocka_unit_test(rows_that_a_check_computes_are_found_by_the_next),
        cmocka_unit_test(more_rows_than_are_written_at_once_are_stored),
        cmocka_unit_test(rows_without_room_are_not_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
