/*
 * timed: samples whose outputs are spoiled after the fact are found, and said where.
 */
#define _GNU_SOURCE
#include "testing.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/timed.h"
#include "problem/filled_tensors.h"

extern const struct attn_kernel wrong_honest;

enum { SETS = 3 };

/* An honest kernel bound to a problem of few rows, and sets whose outputs it has filled. */
struct fixture {
    struct problem_case c;
    struct attn_kernel kernel;
    struct attn_plan plan;
    struct tensor_set sets[SETS];
    struct timed timed;
    size_t calls; /* to get a first output back */
};

static void call(void *context, size_t set)
{
    struct fixture *f = context;
    f->calls++;
    attn_execute(&f->plan, &f->sets[set].tensors);
}

static int set_up(void **state)
{
    static struct fixture f;
    static const struct tensors_layout layout = {.guard = TENSORS_TIMING};
    const char *why;
    char message[256];
    f = (struct fixture){.c = case_of("b=2,h=1,sq=2,skv=9,d=4", "normal:1"),
                         .kernel = wrong_honest};
    f.c.problem.outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE;
    f.timed = (struct timed){.kernel = &f.kernel,
                             .problem = &f.c.problem,
                             .sets = f.sets,
                             .count = SETS,
                             .launch = 3,
                             .seed = 1,
                             .call = call,
                             .call_context = &f,
                             .result = {.ok = true}};
    assert_true(attn_plan_init(&f.plan, &f.kernel, &f.c.problem, 1, NULL, 0, &why));
    for (size_t n = 0; n < SETS; n++) {
        assert_true(tensors_alloc(&f.sets[n], &f.c.problem, &layout, MESSAGE(message)));
        assert_true(tensors_fill(&f.sets[n], &f.c, n, MESSAGE(message)));
        attn_execute(&f.plan, &f.sets[n].tensors);
    }
    assert_true(timed_open(&f.timed));
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    timed_close(&f->timed);
    attn_plan_destroy(&f->plan);
    for (size_t n = 0; n < SETS; n++)
        tensors_free(&f->sets[n]);
    return 0;
}

/* The lowest bit of an element of a result. */
static void flip(const struct attn_tensor *t, size_t b, size_t i, size_t d)
{
    ((uint32_t *)attn_row(t, b, 0, i))[d] ^= 1;
}

static void right_samples_pass(void **state)
{
    struct fixture *f = *state;
    for (size_t n = 0; n < 20; n++)
        assert_true(timed_sample(&f->timed, n % SETS, 1 + n % SETS));
    assert_int_equal(f->timed.samples, 20);
    assert_int_equal(f->timed.mismatches, 0);
    assert_int_equal(f->timed.result.rows, 4 * SETS); /* of each first output, all that there are */
    assert_int_equal(f->calls, 0);
}

/* One bit of any result of any of the sets that a sample left behind. */
static void one_bit_is_seen(void **state)
{
    struct fixture *f = *state;
    for (size_t n = 0; n < 16; n++)
        assert_true(timed_sample(&f->timed, 0, SETS));
    flip(&f->sets[1].tensors.o, 1, 0, 3);
    const double got = tensors_get(&f->sets[1].tensors.o, 1, 0, 0, 3);
    assert_false(timed_sample(&f->timed, 2, SETS));
    assert_int_equal(f->timed.samples, 17);
    assert_int_equal(f->timed.mismatches, 1);
    assert_int_equal(f->calls, 1);
    char why[256];
    snprintf(why, sizeof why,
             "sample 17 of launch 3 differs from its first output at o (b 1, h 0, i 0) element 3: "
             "got %.9g, first %.9g",
             got, tensors_get(&f->sets[1].tensors.o, 1, 0, 0, 3));
    assert_string_equal(f->timed.result.why, why);
    assert_string_equal(f->timed.result.phase, "timed call");
    assert_false(f->timed.result.ok);
    assert_true(isnan(f->timed.result.error_over_bound));
}

static void lse_is_a_result_too(void **state)
{
    struct fixture *f = *state;
    assert_true(timed_sample(&f->timed, 0, SETS));
    flip(&f->sets[0].tensors.lse, 0, 1, 0);
    assert_false(timed_sample(&f->timed, 0, 1));
    assert_non_null(strstr(f->timed.result.why, "sample 2 of launch 3 differs from its first "
                                                "output at lse (b 0, h 0, i 1) element 0: got "));
}

/* A set that the sample has not written is not looked at. */
static void only_what_a_sample_wrote_is_judged(void **state)
{
    struct fixture *f = *state;
    assert_true(timed_sample(&f->timed, 0, SETS));
    flip(&f->sets[1].tensors.o, 0, 0, 0);
    assert_true(timed_sample(&f->timed, 2, 2));
    assert_false(timed_sample(&f->timed, 0, 2));
}

/* The first output is no better than the reference says. */
static void a_first_output_is_held_to_the_reference(void **state)
{
    struct fixture *f = *state;
    tensors_set(&f->sets[2].tensors.o, 1, 0, 1, 2, 7);
    assert_true(timed_sample(&f->timed, 0, 2));
    assert_false(timed_sample(&f->timed, 2, 1));
    assert_non_null(strstr(f->timed.result.why, "sample 2 of launch 3: o row (b 1, h 0, i 1) "
                                                "element 2: got 7, expected "));
    assert_int_equal(f->timed.mismatches, 1);
}

/* A kernel that varies is held to the reference after every sample, and to no bits. */
static void a_kernel_may_vary_within_its_bound(void **state)
{
    struct fixture *f = *state;
    f->kernel.caps.varies = true;
    assert_true(timed_sample(&f->timed, 0, 1));
    flip(&f->sets[0].tensors.o, 0, 0, 0);
    assert_true(timed_sample(&f->timed, 0, 1));
    assert_int_equal(f->timed.result.rows, 8);
    tensors_set(&f->sets[0].tensors.o, 0, 0, 0, 0, 7);
    assert_false(timed_sample(&f->timed, 0, 1));
    assert_non_null(strstr(f->timed.result.why, "sample 3 of launch 3: o row (b 0, h 0, i 0) "));
}

/* Where no call gives the first output back, there is no place to name. */
static void never_again(void *context, size_t set)
{
    struct fixture *f = context;
    f->calls++;
    flip(&f->sets[set].tensors.o, 0, 0, 1);
}

static void a_first_output_may_be_lost(void **state)
{
    struct fixture *f = *state;
    assert_true(timed_sample(&f->timed, 0, 1));
    f->timed.call = never_again;
    flip(&f->sets[0].tensors.o, 0, 0, 0);
    assert_false(timed_sample(&f->timed, 0, 1));
    assert_string_equal(f->timed.result.why, "sample 2 of launch 3 differs from its first output");
    assert_in_range(f->calls, 2, 100);
}

static void rounding_is_looked_at_every_time(void **state)
{
    struct fixture *f = *state;
    assert_true(timed_sample(&f->timed, 0, 1));
    assert_true(timed_sample(&f->timed, 0, 1));
    fesetround(FE_UPWARD);
    assert_false(timed_sample(&f->timed, 0, 1));
    assert_int_equal(fegetround(), FE_TONEAREST);
    assert_non_null(strstr(f->timed.result.why,
                           "sample 3 of launch 3: leaves the floating-point environment changed: "
                           "rounding upward"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(right_samples_pass, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_bit_is_seen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lse_is_a_result_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_what_a_sample_wrote_is_judged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_first_output_is_held_to_the_reference, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_kernel_may_vary_within_its_bound, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_first_output_may_be_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rounding_is_looked_at_every_time, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
