/*
 * bench: which calls are timed, on which sets, and which are verified.  Kernels here count and note;
 * none is expected to take any particular time.
 */
#define _GNU_SOURCE
#include "testing.h"

#include <unistd.h>

#include "noting_kernel.h"

/* A verifier that notes which sets it got, from the last one backwards, and fails at number `wrong`
 * (from 1). */
struct verifier {
    const struct tensor_set *of;
    size_t sets[64], count[64]; /* the last one; how many */
    float output[64][SETS];
    size_t calls[64]; /* kernel calls so far */
    size_t n, wrong;
};

static bool verify(void *context, size_t first, size_t count)
{
    struct verifier *v = context;
    assert_in_range(count, 1, SETS);
    v->sets[v->n] = (first + count - 1) % SETS;
    v->count[v->n] = count;
    for (size_t i = 0; v->of && i < count; i++)
        v->output[v->n][i] = output(&v->of[(v->sets[v->n] + SETS - i) % SETS].tensors)[0];
    v->calls[v->n] = seen.calls;
    return ++v->n != v->wrong;
}

static void calls_rotate_over_the_sets(void **state)
{
    struct fixture *f = *state;
    const struct bench_options options = {
        .warmup_s = 1e-3, .sample_s = 1e-4, .budget_s = 1, .max_samples = 5};
    struct bench_result result;
    seen.spin_s = 2e-5;
    assert_true(bench_run(&f->plan, f->sets, SETS, &options, &result));
    assert_true(seen.calls > SETS && seen.calls < NOTES);
    for (size_t i = 0; i < seen.calls; i++)
        assert_ptr_equal(seen.q[i], f->sets[i % SETS].tensors.q.data);
    bench_free(&result);
}

static void every_sample_is_its_calls(void **state)
{
    struct fixture *f = *state;
    struct verifier v = {0};
    const struct bench_options options = {.warmup_s = 1e-3,
                                          .sample_s = 1e-3,
                                          .budget_s = 60,
                                          .max_samples = 7,
                                          .verify = verify,
                                          .verify_context = &v};
    struct bench_result result;
    seen.spin_s = 1e-4;
    assert_true(bench_run(&f->plan, f->sets, SETS, &options, &result));
    assert_int_equal(result.samples, 7);
    assert_int_equal(v.n, 7);
    for (size_t i = 1; i < 7; i++)
        assert_in_range(v.calls[i] - v.calls[i - 1], result.calls_per_sample,
                        result.calls_per_sample + 1); /* at most one stray to so few */
    assert_int_equal(v.calls[6] + result.calls_per_sample, seen.calls); /* once more, to listen */
    assert_in_range(result.calls_per_sample, 1, 11); /* 1 ms of 0.1 ms, and a twentieth */
    for (size_t i = 0; i < 7; i++)
        assert_true(result.samples_s[i] >= seen.spin_s - result.overhead_s);
    assert_true(result.overhead_s > 0 && result.overhead_s < seen.spin_s);
    assert_true(result.overhead_again_s > 0 && result.overhead_again_s < seen.spin_s);
    bench_free(&result);
}

/* Calls of another process: what it says is the time of a sample, and nothing runs here. */
struct elsewhere {
    size_t first[64], calls[64], n;
};

static double time_elsewhere(void *context, size_t first, size_t calls)
{
    struct elsewhere *e = context;
    e->first[e->n] = first;
    e->calls[e->n++] = calls;
    return 2e-4 * (double)calls;
}

static void calls_elsewhere_are_timed_there(void **state)
{
    struct fixture *f = *state;
    struct elsewhere e = {.n = 0};
    struct verifier v = {0};
    const struct bench_options options = {.sample_s = 1e-3,
                                          .budget_s = 60,
                                          .max_samples = 7,
                                          .verify = verify,
                                          .verify_context = &v,
                                          .timed = time_elsewhere,
                                          .timed_context = &e};
    struct bench_result result;
    assert_true(bench_run(&f->plan, f->sets, SETS, &options, &result));
    assert_int_equal(seen.calls, 0);
    assert_int_equal(result.calls_per_sample, 6); /* 1 ms of 0.2 ms, and a twentieth */
    assert_int_equal(result.samples, 7);
    assert_int_equal(v.n, 7);
    for (size_t i = 0; i < 7; i++)
        assert_float_equal(result.samples_s[i], 2e-4, 1e-12);
    for (size_t i = 1; i < e.n; i++)
        assert_int_equal(e.first[i], (e.first[i - 1] + e.calls[i - 1]) % SETS);
    assert_int_equal(v.sets[6], (e.first[e.n - 1] + e.calls[e.n - 1] - 1) % SETS);
    assert_true(result.overhead_s == 0 && isnan(result.busy_s));
    bench_free(&result);
}

/* A clock that an interruption of 5 ms meets in the first of its loops. */
static double time_interrupted(void *context, size_t first, size_t calls)
{
    struct elsewhere *e = context;
    return time_elsewhere(e, first, calls) + (e->n == 1 ? 5e-3 : 0);
}

static void an_interrupted_loop_is_not_believed(void **state)
{
    struct fixture *f = *state;
    struct elsewhere e = {.n = 0};
    const struct bench_options options = {.sample_s = 1e-3,
                                          .budget_s = 60,
                                          .max_samples = 1,
                                          .timed = time_interrupted,
                                          .timed_context = &e};
    struct bench_result result;
    assert_true(bench_run(&f->plan, f->sets, SETS, &options, &result));
    assert_int_equal(result.calls_per_sample, 6);
    bench_free(&result);
}

static void long_calls_are_samples_of_their_own(void **state)
{
    struct fixture *f = *state;
    const struct bench_options options = {.sample_s = 1e-3, .budget_s = 0, .max_samples = 9};
    struct bench_result result;
    seen.spin_s = 2e-3;
    assert_true(bench_run(&f->plan, f->sets, SETS, &options, &result));
    assert_int_equal(result.calls_per_sample, 1);
    assert_int_equal(result.samples, 1); /* no budget: one all the same */
    bench_free(&result);
}

/* A sample is never shorter than a thousand steps of the clock, whatever was asked: a call of 1 us
 * must be repeated.  One attempt may be preempted in its only call so long that it need not be. */
static void samples_outlast_the_clock(void **state)
{
    struct fixture *f = *state;
    const struct bench_options options = {.sample_s = 0, .budget_s = 0, .max_samples = 1};
    size_t most = 0;
    seen.spin_s = 1e-6;
    for (int attempt = 0; attempt < 10 && most < 2; attempt++) {
        struct bench_result result;
        assert_true(bench_run(&f->plan, f->sets, SETS, &options, &result));
        assert_true(result.clock_resolution_s > 0);
        most = result.calls_per_sample > most ? result.calls_per_sample : most;
        bench_free(&result);
    }
    assert_true(most >= 2);
}

/* Those of as many calls as there are sets, or as the sample had. */
static void verifier_sees_the_last_outputs(void **state)
{
    struct fixture *f = *state;
    for (int single = 0; single <= 1; single++) {
        struct verifier v = {.of = f->sets};
        const struct bench_options options = {.sample_s = single ? 0 : 1e-4,
                                              .budget_s = 60,
                                              .max_samples = 6,
                                              .verify = verify,
                                              .verify_context = &v};
        struct bench_result result;
        memset(&seen, 0, sizeof seen);
        seen.spin_s = single ? 2e-3 : 3e-5;
        assert_true(bench_run(&f->plan, f->sets, SETS, &options, &result));
        assert_int_equal(v.n, 6);
        for (size_t i = 0; i < v.n; i++) {
            assert_int_equal(v.sets[i], (v.calls[i] - 1) % SETS);
            assert_int_equal(v.count[i],
                             result.calls_per_sample < SETS ? result.calls_per_sample : SETS);
            for (size_t k = 0; k < v.count[i]; k++)
                assert_true(v.output[i][k] == (float)(v.calls[i] - k));
        }
        bench_free(&result);
    }
}

/* A clock on which a call takes 10 us however busy the host is. */
static double time_steadily(void *context, size_t first, size_t calls)
{
    (void)context, (void)first;
    seen.calls += calls;
    return 1e-5 * (double)calls;
}

/* Stray calls shift which calls of a sample are its last: not the same ones of every seed, and few. */
static void stray_calls_are_few_and_differ(void **state)
{
    struct fixture *f = *state;
    size_t stray[2][64] = {{0}}, all[2] = {0}, of[2] = {0};
    for (int n = 0; n < 2; n++) {
        struct verifier v = {0};
        const struct bench_options options = {.sample_s = 1e-3,
                                              .budget_s = 60,
                                              .max_samples = 40,
                                              .seed = (uint64_t)n,
                                              .timed = time_steadily,
                                              .verify = verify,
                                              .verify_context = &v};
        struct bench_result result;
        memset(&seen, 0, sizeof seen);
        assert_true(bench_run(&f->plan, f->sets, SETS, &options, &result));
        for (size_t i = 1; i < v.n; i++) {
            stray[n][i] = v.calls[i] - v.calls[i - 1] - result.calls_per_sample;
            all[n] += stray[n][i];
            of[n] += result.calls_per_sample;
        }
        bench_free(&result);
    }
    for (int n = 0; n < 2; n++)
        assert_in_range(all[n], 1, of[n] / 16);
    assert_memory_not_equal(stray[0], stray[1], sizeof stray[0]);
}

/* The first calls of a sample, as many as there are sets, find poison, not the last results. */
static void outputs_are_poisoned_before(void **state)
{
    struct fixture *f = *state;
    for (int cold = 0; cold <= 1; cold++) {
        struct verifier v = {0};
        const struct bench_options options = {.sample_s = 1e-4,
                                              .budget_s = 60,
                                              .max_samples = 6,
                                              .cold = cold,
                                              .verify = verify,
                                              .verify_context = &v};
        struct bench_result result;
        memset(&seen, 0, sizeof seen);
        seen.spin_s = 1e-5;
        assert_true(bench_run(&f->plan, f->sets, SETS, &options, &result));
        assert_true(isnan(result.cold_first_s)); /* one key of 64 bytes */
        for (size_t i = 0; i < v.n; i++) {
            const size_t first = v.calls[i] - result.calls_per_sample;
            for (size_t call = 0; call < result.calls_per_sample; call++)
                assert_int_equal(seen.poisoned[first + call], call < SETS);
        }
        bench_free(&result);
    }
}

static void a_wrong_result_ends_the_launch(void **state)
{
    struct fixture *f = *state;
    struct verifier v = {.wrong = 3};
    const struct bench_options options = {
        .sample_s = 1e-5, .budget_s = 60, .max_samples = 6, .verify = verify, .verify_context = &v};
    struct bench_result result;
    assert_false(bench_run(&f->plan, f->sets, SETS, &options, &result));
    assert_int_equal(v.n, 3);
    bench_free(&result);
}

static bool verify_slowly(void *context, size_t first, size_t count)
{
    usleep(60000);
    return verify(context, first, count);
}

/* Time to look at outputs is not taken from the samples: a short launch would have one of them alone. */
static void verifying_costs_no_samples(void **state)
{
    struct fixture *f = *state;
    struct verifier v = {0};
    const struct bench_options options = {.sample_s = 1e-5,
                                          .budget_s = 0.05,
                                          .max_samples = 3,
                                          .verify = verify_slowly,
                                          .verify_context = &v};
    struct bench_result result;
    assert_true(bench_run(&f->plan, f->sets, SETS, &options, &result));
    assert_int_equal(result.samples, 3);
    assert_true(result.verifying_s >= 0.18);
    bench_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(calls_rotate_over_the_sets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_sample_is_its_calls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_elsewhere_are_timed_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_interrupted_loop_is_not_believed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_calls_are_samples_of_their_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(samples_outlast_the_clock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(verifier_sees_the_last_outputs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stray_calls_are_few_and_differ, set_up, tear_down),
        cmocka_unit_test_setup_teardown(outputs_are_poisoned_before, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wrong_result_ends_the_launch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(verifying_costs_no_samples, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
