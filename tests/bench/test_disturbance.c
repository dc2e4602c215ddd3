/*
 * bench: what is recorded beside the samples: disturbance, threads that wait, counters, cold caches.
 */
#define _GNU_SOURCE
#include "testing.h"

#include <omp.h>
#include <sched.h>

#include "noting_kernel.h"

static void disturbance_is_what_happened_in_between(void **state)
{
    struct fixture *f = *state;
    char message[256];
    struct machine *machine = machine_open(NULL, MESSAGE(message));
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

static bool unbind(void *context, size_t first, size_t count)
{
    (void)context, (void)first, (void)count;
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
    struct machine *machine = machine_open(NULL, MESSAGE(message));
    assert_non_null(machine);
    if (machine_threads(machine) < 2)
        skip();
    assert_true(machine_bind(machine, PLACEMENT_CORES, 1, MESSAGE(message)));
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

TEST(cold_sets_outgrow_the_caches)
{
    char message[256];
    struct machine *machine = machine_open(NULL, MESSAGE(message));
    assert_non_null(machine);
    const double cache = (double)machine_last_level_bytes(machine);
    for (double bytes = 1000; bytes < 1e12; bytes *= 10) {
        const double sets = (double)bench_cold_sets(machine, bytes);
        assert_true(sets >= 2);
        assert_true((sets - 1) * bytes >= 4 * cache); /* touched between two turns of a set */
        assert_true((sets - 1) * bytes >= 4.0 * 4096 * (double)sysconf(_SC_PAGESIZE));
    }
    machine_close(machine);
}

/* No claim about speed: only that both readings happened, in cold mode alone. */
TEST(cold_mode_is_probed)
{
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
        assert_true(tensors_alloc(&sets[i], &problem, &layout, MESSAGE(message)));
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
