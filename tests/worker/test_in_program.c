/*
 * in_program: a program as a kernel: values, the whole check, its clock, and what becomes of programs that
 * break, cheat or run on other threads than they were asked for.
 */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/check_kernel.h"
#include "system/fault.h"
#include "worker/backend.h"
#include "worker/program_clock.h"

/* Some 4 ms a call in Perl. */
#define PROBLEM "hq=2,hkv=1,sq=40,skv=40,d=8,mask=causal"

static struct worker worker;
static struct problem_case small;
static const struct tensors_layout plain = {.guard = TENSORS_TIMING};

static void close_kernel(void)
{
    in_program_backend.close();
    if (worker.machine)
        machine_close(worker.machine);
    json_decref(worker.answer);
    worker.machine = NULL;
    worker.answer = NULL;
}

/* A worker that is asked for the kernel of a program of tests/programs/. */
static const struct attn_kernel *open_kernel(const char *program, const char *kernel, int threads,
                                             struct message why)
{
    struct parse_error error;
    close_kernel(); /* of a test that has failed */
    worker = (struct worker){.request.action = PROTOCOL_CHECK,
                             .request.setting.placement = PLACEMENT_CORES,
                             .request.threads = threads,
                             .request.sets = 2,
                             .request.program = true};
    struct protocol_request *r = &worker.request;
    snprintf(r->plugin, sizeof r->plugin, "%s/%s", TEST_PROGRAMS, program);
    snprintf(r->kernel, sizeof r->kernel, "%s", kernel);
    small = (struct problem_case){.input = {.kind = INPUT_NORMAL, .seed = 1}};
    assert_true(parse_problem(PROBLEM, &small.problem, &error));
    r->c = small;
    worker.answer = json_object();
    worker.machine = machine_open(NULL, why);
    assert_non_null(worker.machine);
    worker.kernel = in_program_backend.open(&worker, why);
    return worker.kernel;
}

/* What the worker's answer says; "" where it was not abandoned. */
static const char *said(const char *key)
{
    const char *text = json_string_value(json_object_get(worker.answer, key));
    return text ? text : "";
}

static void fill(struct tensor_set *set, uint64_t stream)
{
    char message[256];
    assert_true(tensors_alloc(set, &small.problem, &plain, MESSAGE(message)));
    assert_true(tensors_fill(set, &small, stream, MESSAGE(message)));
}

/* ---- an honest program ----------------------------------------------------------------------- */

static void it_is_described(void **state)
{
    char why[256];
    (void)state;
    const struct attn_kernel *kernel = open_kernel("honest.pl", "perl", 1, MESSAGE(why));
    if (!kernel)
        fail_msg("%s", why);
    assert_string_equal(kernel->name, "perl");
    assert_int_equal(kernel->caps.dtypes, 1u << ATTN_F32);
    assert_int_equal(kernel->caps.masks, ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT |
                                             ATTN_MASK_BIAS | ATTN_MASK_BOOL);
    assert_int_equal(kernel->caps.options, ATTN_OPTION_WINDOW | ATTN_OPTION_SINKS |
                                               ATTN_OPTION_ALIBI | ATTN_OPTION_RAGGED |
                                               ATTN_OPTION_PAGED | ATTN_OPTION_PACKED |
                                               ATTN_OPTION_SHARED_KV);
    assert_int_equal(kernel->caps.kv_dtypes, 1u << ATTN_I8);
    assert_int_equal(kernel->caps.outputs, ATTN_OUTPUT_O | ATTN_OUTPUT_LSE);
    assert_false(kernel->caps.parallel);
    close_kernel();
    assert_null(open_kernel("honest.pl", "python", 1, MESSAGE(why)));
    assert_non_null(strstr(why, "honest.pl no longer has python"));
    close_kernel();
}

static void it_computes_what_a_kernel_computes(void **state)
{
    struct attn_plan plans[2];
    struct tensor_set sets[2];
    char why[256];
    const char *reason;
    (void)state;
    const struct attn_kernel *kernels[] = {open_kernel("honest.pl", "perl", 1, MESSAGE(why)),
                                           attn_find("online", ATTN_ISA_BASELINE)};
    static char workspace[1 << 16] __attribute__((aligned(ATTN_WORKSPACE_ALIGN)));
    if (setjmp(worker.abandoned))
        fail_msg("%s: %s", said("state"), said("why"));
    for (int n = 0; n < 2; n++) {
        fill(&sets[n], 7);
        assert_true(attn_plan_init(&plans[n], kernels[n], &small.problem, 1, workspace,
                                   sizeof workspace, &reason));
        attn_execute(&plans[n], &sets[n].tensors);
        attn_plan_destroy(&plans[n]);
    }
    for (size_t h = 0; h < 2; h++)
        for (size_t i = 0; i < 40; i++)
            for (size_t d = 0; d < 8; d++)
                assert_float_equal(tensors_get(&sets[0].tensors.o, 0, h, i, d),
                                   tensors_get(&sets[1].tensors.o, 0, h, i, d), 1e-6);
    tensors_free(&sets[0]);
    tensors_free(&sets[1]);
    close_kernel();
}

static void it_passes_the_whole_check(void **state)
{
    struct check_result result;
    char why[256];
    (void)state;
    if (!SANITIZED)
        skip(); /* commands/programs asks the same, of a problem with every kind of tensor */
    const struct attn_kernel *kernel = open_kernel("honest.pl", "perl", 1, MESSAGE(why));
    small.problem.q_len = small.problem.kv_len = 9;
    if (setjmp(worker.abandoned))
        fail_msg("%s: %s", said("state"), said("why"));
    if (!check_kernel(kernel, &small, 1, CHECK_FULL, &result))
        fail_msg("%s", result.why);
    assert_true(result.rows > 1000);
    assert_true(result.error_over_bound > 0 && result.error_over_bound < 0.5);
    close_kernel();
}

static void it_may_refuse_a_problem(void **state)
{
    const char *reason = NULL;
    char why[256];
    (void)state;
    const struct attn_kernel *kernel = open_kernel("refuses_small.pl", "perl", 1, MESSAGE(why));
    if (setjmp(worker.abandoned))
        fail_msg("%s: %s", said("state"), said("why"));
    assert_true(attn_supports(kernel, &small.problem, &reason));
    small.problem.q_len = 3;
    assert_false(attn_supports(kernel, &small.problem, &reason));
    assert_string_equal(reason, "fewer than 4 queries");
    close_kernel();
}

/* ---- clocks ---------------------------------------------------------------------------------- */

/* Samples of a program's kernel by its own clock, judged; false where the launch was abandoned. */
static bool samples_of(const char *program, size_t calls)
{
    struct check_result checked = {.ok = true};
    struct attn_plan plan;
    struct tensor_set sets[2];
    const char *reason;
    char why[256];
    const struct attn_kernel *kernel = open_kernel(program, "perl", 1, MESSAGE(why));
    worker.request.action = PROTOCOL_MEASURE;
    fill(&sets[0], 0);
    fill(&sets[1], 1);
    bool kept = false;
    if (setjmp(worker.abandoned) == 0) {
        double seconds = 0;
        assert_true(attn_plan_init(&plan, kernel, &small.problem, 1, NULL, 0, &reason));
        program_clock_begin(&worker, &plan, sets, 2);
        assert_true(program_clock_least_sample_s() > 0);
        for (int n = 0; n < 4; n++)
            seconds += program_clock_timed(NULL, (size_t)n % 2, calls);
        assert_true(seconds > 0);
        program_clock_judge(calls, seconds / 4 / (double)calls, &checked);
        assert_true(checked.rows > 0);
        kept = true;
    }
    tensors_free(&sets[0]);
    tensors_free(&sets[1]);
    return kept;
}

TEST(an_honest_clock_is_believed)
{
    if (!samples_of("honest.pl", 30))
        fail_msg("%s: %s", said("state"), said("why"));
    close_kernel();
}

static void a_cheating_clock_is_not(void **state)
{
    static const struct {
        const char *program, *why;
        size_t calls;
        bool patience; /* refused after seconds of requests, as others are made */
    } table[] = {
        {"says_nanosecond.sh", "the program says 1e-09 s for 30 calls", 30, false},
        {"says_half.sh", "without round trips and copying", 30, false},
        {"skips_calls.pl", "for 4 times as many", 8, true},
        {"skips_most.pl", "but a single one on new operands takes", 500, true},
    };
    (void)state;
    for (size_t n = 0; n < sizeof table / sizeof *table; n++) {
        if (table[n].patience && sanitized_in_ci())
            continue;
        if (samples_of(table[n].program, table[n].calls))
            fail_msg("%s was believed", table[n].program);
        assert_string_equal(said("state"), "implausible");
        if (!strstr(said("why"), table[n].why))
            fail_msg("%s: %s", table[n].program, said("why"));
        close_kernel();
    }
}

static void kept_results_are_found(void **state)
{
    struct check_result result;
    char why[256];
    (void)state;
    const struct attn_kernel *kernel = open_kernel("keeps_results.pl", "perl", 1, MESSAGE(why));
    if (setjmp(worker.abandoned))
        fail_msg("%s: %s", said("state"), said("why"));
    assert_false(check_kernel(kernel, &small, 1, CHECK_FULL, &result));
    assert_false(samples_of("keeps_results.pl", 30));
    assert_string_equal(said("state"), "failed");
    close_kernel();
}

/* ---- programs that break --------------------------------------------------------------------- */

/* Whether a check ends before its time. */
static bool is_abandoned(int threads)
{
    struct check_result result;
    if (setjmp(worker.abandoned))
        return true;
    check_kernel(worker.kernel, &small, threads, CHECK_CASE, &result);
    return false;
}

static void a_broken_program_ends_the_launch(void **state)
{
    static const struct {
        const char *program, *end, *why;
        int threads;
        int cores; /* of a machine on which it shows */
    } table[] = {
        {"breaks-garbage", "crashed",
         "the program answers nonsense, which is not JSON, while checking", 1, 1},
        {"breaks-exits", "crashed", "the program ended (exit status 3), while checking", 1, 1},
        {"breaks-dies", "crashed", "the program was killed by SIGSEGV, while checking", 1, 1},
        {"breaks-fails", "failed", "the program says: no luck, while checking", 1, 1},
        {"runs_one_thread.pl", "failed", "was asked for 2 threads, runs 1", 2, 2},
        {"leaves_cpus.pl", "failed", "which is not one of the team's", 1, 2},
        {"lacks_library.pl", "unavailable", "install libfast with: apt install libfast", 1, 1},
    };
    static char progress[4096];
    (void)state;
    fault_share(progress, sizeof progress);
    for (size_t n = 0; n < sizeof table / sizeof *table; n++) {
        char why[256];
        if (!open_kernel(table[n].program, "perl", table[n].threads, MESSAGE(why)))
            fail_msg("%s", why);
        if (machine_cores(worker.machine) < table[n].cores) {
            close_kernel();
            continue;
        }
        if (!is_abandoned(table[n].threads))
            fail_msg("%s was not noticed", table[n].program);
        assert_string_equal(said("state"), table[n].end);
        if (!strstr(said("why"), table[n].why))
            fail_msg("%s: %s", table[n].program, said("why"));
        close_kernel();
    }
    fault_share(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_described),
        cmocka_unit_test(it_computes_what_a_kernel_computes),
        cmocka_unit_test(it_passes_the_whole_check),
        cmocka_unit_test(it_may_refuse_a_problem),
        cmocka_unit_test(an_honest_clock_is_believed),
        cmocka_unit_test(a_cheating_clock_is_not),
        cmocka_unit_test(kept_results_are_found),
        cmocka_unit_test(a_broken_program_ends_the_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
