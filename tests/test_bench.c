/*
 * bench: which calls are timed, on which sets, and what is recorded beside them.  Kernels here
 * count and note; none is expected to take any particular time.
 */
#define _GNU_SOURCE
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "bench.h"
#include "clock.h"

enum { SETS = 3, NOTES = 1 << 16 };

/* What the kernel under test has seen, call by call. */
static struct {
    const void *q[NOTES];
    bool poisoned[NOTES];
    size_t calls;
    double spin_s; /* each call lasts at least as long */
    size_t faults; /* each call touches so many new pages */
} seen;

static float *output(const struct attn_tensors *t)
{
    return t->o.data;
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *t)
{
    (void)plan;
    const double start = clock_now();
    if (seen.calls < NOTES) {
        seen.q[seen.calls] = t->q.data;
        seen.poisoned[seen.calls] = isnan(output(t)[0]);
    }
    seen.calls++;
    output(t)[0] = (float)seen.calls;
    if (seen.faults > 0) {
        char *pages = mmap(NULL, seen.faults * 4096, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(pages, seen.faults * 4096, MADV_NOHUGEPAGE);
        for (size_t i = 0; i < seen.faults; i++)
            pages[i * 4096] = 1;
        munmap(pages, seen.faults * 4096);
    }
    while (clock_now() - start < seen.spin_s)
        ;
}

static const struct attn_kernel kernel = {
    .size = sizeof kernel,
    .name = "noting",
    .isa = ATTN_ISA_BASELINE,
    .caps.size = sizeof kernel.caps,
    .caps.dtypes = 1u << ATTN_F32,
    .caps.outputs = ATTN_OUTPUT_O,
    .caps.forward = true,
    .execute = execute,
};

struct fixture {
    struct attn_plan plan;
    struct tensor_set sets[SETS];
};

static int set_up(void **state)
{
    static struct fixture fixture;
    static const struct tensors_layout layout = {.guard = TENSORS_TIMING};
    struct attn_problem problem;
    const char *why;
    char message[256];
    attn_problem_init(&problem);
    problem.qk_dim = problem.v_dim = 16;
    if (!attn_plan_init(&fixture.plan, &kernel, &problem, 1, NULL, 0, &why))
        return 1;
    for (int i = 0; i < SETS; i++)
        if (!tensors_alloc(&fixture.sets[i], &problem, &layout, message, sizeof message))
            return 1;
    memset(&seen, 0, sizeof seen);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < SETS; i++)
        tensors_free(&f->sets[i]);
    return 0;
}

/* A verifier that notes which sets it got and fails at number `wrong` (from 1). */
struct verifier {
    const struct tensor_set *sets[64];
    float output[64];
    size_t calls[64]; /* kernel calls so far */
    size_t n, wrong;
};

static bool verify(void *context, const struct tensor_set *set)
{
    struct verifier *v = context;
    v->sets[v->n] = set;
    v->output[v->n] = output(&set->tensors)[0];
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
    assert_int_equal(result.verified_samples, 7);
    assert_true(result.verified);
    for (size_t i = 1; i < 7; i++)
        assert_int_equal(v.calls[i] - v.calls[i - 1], result.calls_per_sample);
    assert_int_equal(v.calls[6] + result.calls_per_sample, seen.calls); /* once more, to listen */
    assert_in_range(result.calls_per_sample, 1, 11); /* 1 ms of 0.1 ms, and a twentieth */
    for (size_t i = 0; i < 7; i++)
        assert_true(result.samples_s[i] >= seen.spin_s - result.overhead_s);
    assert_true(result.overhead_s > 0 && result.overhead_s < seen.spin_s);
    assert_true(result.overhead_again_s > 0 && result.overhead_again_s < seen.spin_s);
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

static void verifier_sees_the_last_output(void **state)
{
    struct fixture *f = *state;
    struct verifier v = {0};
    const struct bench_options options = {
        .sample_s = 1e-4, .budget_s = 60, .max_samples = 6, .verify = verify, .verify_context = &v};
    struct bench_result result;
    seen.spin_s = 3e-5;
    assert_true(bench_run(&f->plan, f->sets, SETS, &options, &result));
    for (size_t i = 0; i < v.n; i++) {
        assert_ptr_equal(v.sets[i], &f->sets[(v.calls[i] - 1) % SETS]);
        assert_true(v.output[i] == (float)v.calls[i]);
    }
    bench_free(&result);
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
    assert_false(result.verified);
    assert_int_equal(v.n, 3);
    assert_int_equal(result.verified_samples, 2);
    bench_free(&result);
}

static void disturbance_is_what_happened_in_between(void **state)
{
    struct fixture *f = *state;
    char message[256];
    struct machine *machine = machine_open(NULL, message, sizeof message);
    assert_non_null(machine);
    const struct bench_options options = {
        .sample_s = 1e-6, .budget_s = 60, .max_samples = 4, .probe_s = 1e-3, .machine = machine};
    struct bench_result result;
    seen.faults = 16;
    assert_true(bench_run(&f->plan, f->sets, SETS, &options, &result));
    const struct bench_disturbance *d = &result.disturbance;
    assert_true((size_t)d->minor_faults >= 4 * result.calls_per_sample * 16);
    assert_true(d->probe_before_gflops > 0 && d->probe_after_gflops > 0);
    assert_true(d->wall_s > 0);
    assert_true(d->allowed_cpus == machine_allowed_cpus(machine));
    assert_true(d->online_cpus >= machine_threads(machine));
    assert_true(d->runnable >= 1);
    assert_false(d->migrated);
    bench_free(&result);
    machine_close(machine);
}

static void nothing_is_claimed_without_a_machine(void **state)
{
    struct fixture *f = *state;
    const struct bench_options options = {.sample_s = 1e-6, .budget_s = 60, .max_samples = 4};
    struct bench_result result;
    seen.faults = 16;
    assert_true(bench_run(&f->plan, f->sets, SETS, &options, &result));
    const struct bench_disturbance *d = &result.disturbance;
    assert_int_equal(d->minor_faults, 0);
    assert_true(d->allowed_cpus == 0);
    assert_true(d->probe_before_gflops == 0 && d->probe_after_gflops == 0);
    assert_false(d->migrated);
    bench_free(&result);
}

/* A kernel of two threads of which one works. */
static void lopsided(const struct attn_plan *plan, const struct attn_tensors *t)
{
#pragma omp parallel num_threads(plan->threads)
    if (omp_get_thread_num() == 1)
        execute(plan, t);
}

static void busy_and_waiting_threads_are_told_apart(void **state)
{
    struct fixture *f = *state;
    struct attn_kernel parallel = kernel;
    struct attn_plan plan = f->plan;
    const struct bench_options options = {.sample_s = 1e-3, .budget_s = 0, .max_samples = 1};
    bool right = false;
    parallel.execute = lopsided;
    plan.kernel = &parallel;
    plan.threads = 2;
    seen.spin_s = 1e-3;
    for (int attempt = 0; attempt < 20 && !right; attempt++) { /* thread 0 may be preempted */
        struct bench_result result;
        assert_true(bench_run(&plan, f->sets, SETS, &options, &result));
        assert_int_equal(result.threads, 2);
        if (!result.thread_busy_s) {
            assert_true(isnan(result.busy_s));
            bench_free(&result);
            skip(); /* a runtime that cannot be heard */
            return;
        }
        assert_true(result.thread_busy_s[1] >= seen.spin_s);
        assert_true(fabs(result.busy_s * 2 - result.thread_busy_s[0] - result.thread_busy_s[1]) <
                    1e-12);
        right = result.thread_busy_s[0] < seen.spin_s / 4 &&
                result.thread_barrier_s[0] > seen.spin_s / 2;
        bench_free(&result);
    }
    assert_true(right);
}

static void counters_are_of_the_samples(void **state)
{
    struct fixture *f = *state;
    struct bench_options options = {.sample_s = 1e-3, .budget_s = 60, .max_samples = 3};
    struct bench_result result;
    seen.spin_s = 1e-4;
    assert_true(bench_run(&f->plan, f->sets, SETS, &options, &result));
    assert_true(isnan(result.counters.value[COUNTER_CYCLES]));
    assert_string_equal(result.counters.why, ""); /* nobody asked */
    bench_free(&result);
    options.counters = true;
    assert_true(bench_run(&f->plan, f->sets, SETS, &options, &result));
    const double cycles = result.counters.value[COUNTER_CYCLES];
    assert_int_equal(isnan(cycles), strstr(result.counters.why, "no hardware events") != NULL);
    double seconds = 0;
    for (size_t i = 0; i < result.samples; i++)
        seconds += result.samples_s[i] * (double)result.calls_per_sample;
    const double ghz = isnan(cycles) ? 0 : cycles / seconds / 1e9;
    assert_true(fabs(result.disturbance.clock_ghz - ghz) <= 1e-9 * ghz);
    bench_free(&result);
}

static bool unbind(void *context, const struct tensor_set *set)
{
    (void)context, (void)set;
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        CPU_SET(cpu, &all);
    return sched_setaffinity(0, sizeof all, &all) == 0;
}

static void a_lost_binding_is_a_migration(void **state)
{
    struct fixture *f = *state;
    char message[256];
    struct machine *machine = machine_open(NULL, message, sizeof message);
    assert_non_null(machine);
    if (machine_threads(machine) < 2)
        skip();
    assert_true(machine_bind(machine, PLACEMENT_CORES, 1, message, sizeof message));
    struct bench_options options = {
        .sample_s = 1e-6, .budget_s = 60, .max_samples = 2, .machine = machine};
    struct bench_result result;
    assert_true(bench_run(&f->plan, f->sets, SETS, &options, &result));
    assert_false(result.disturbance.migrated);
    bench_free(&result);
    options.verify = unbind;
    assert_true(bench_run(&f->plan, f->sets, SETS, &options, &result));
    assert_true(result.disturbance.migrated);
    bench_free(&result);
    machine_close(machine);
}

static void cold_sets_outgrow_the_caches(void **state)
{
    (void)state;
    char message[256];
    struct machine *machine = machine_open(NULL, message, sizeof message);
    assert_non_null(machine);
    const double cache = (double)machine_last_level_bytes(machine);
    for (double bytes = 1000; bytes < 1e12; bytes *= 10) {
        const double sets = (double)bench_cold_sets(machine, bytes);
        assert_true(sets >= 2);
        assert_true((sets - 1) * bytes >= 4 * cache); /* touched between two turns of a set */
        assert_true((sets - 1) * bytes >= 4.0 * 4096 * 4096);
    }
    machine_close(machine);
}

/* No claim about speed: only that both readings happened, in cold mode alone. */
static void cold_mode_is_probed(void **state)
{
    (void)state;
    static const struct tensors_layout layout = {.guard = TENSORS_TIMING};
    struct attn_problem problem;
    struct attn_plan plan;
    struct tensor_set sets[2];
    struct bench_options options = {.sample_s = 1e-5, .budget_s = 0, .max_samples = 1};
    struct bench_result result;
    const char *why;
    char message[256];
    attn_problem_init(&problem);
    problem.qk_dim = problem.v_dim = 64;
    problem.kv_len = 100;
    assert_true(attn_plan_init(&plan, &kernel, &problem, 1, NULL, 0, &why));
    for (int i = 0; i < 2; i++)
        assert_true(tensors_alloc(&sets[i], &problem, &layout, message, sizeof message));
    for (int cold = 0; cold <= 1; cold++) {
        options.cold = cold;
        assert_true(bench_run(&plan, sets, 2, &options, &result));
        assert_int_equal(isnan(result.cold_first_s), !cold);
        assert_int_equal(isnan(result.cold_again_s), !cold);
        if (cold)
            assert_true(result.cold_first_s > 0 && result.cold_again_s > 0);
        bench_free(&result);
    }
    for (int i = 0; i < 2; i++)
        tensors_free(&sets[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(calls_rotate_over_the_sets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_sample_is_its_calls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_calls_are_samples_of_their_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(samples_outlast_the_clock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(verifier_sees_the_last_output, set_up, tear_down),
        cmocka_unit_test_setup_teardown(outputs_are_poisoned_before, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wrong_result_ends_the_launch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(disturbance_is_what_happened_in_between, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_claimed_without_a_machine, set_up, tear_down),
        cmocka_unit_test_setup_teardown(busy_and_waiting_threads_are_told_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(counters_are_of_the_samples, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lost_binding_is_a_migration, set_up, tear_down),
        cmocka_unit_test(cold_mode_is_probed),
        cmocka_unit_test(cold_sets_outgrow_the_caches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
