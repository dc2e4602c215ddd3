/*
 * rival: the kernel.
 */
#include "rival.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "bench/disturbance.h"
#include "launch_ceilings.h"
#include "problem/capabilities.h"
#include "rival_clock.h"
#include "rival_program.h"
#include "system/ceilings.h"
#include "system/task_cpus.h"

/* A struct attn_kernel has no place for a context, and a worker runs one kernel. */
static struct {
    struct worker *worker;
    json_t *description; /* owns the kernel's texts */
    struct attn_kernel kernel;
    bool ceilings;            /* the program says what its processors can do */
    struct rival_clock clock; /* of a measurement */
} rival;

/* ---- the kernel ------------------------------------------------------------------------------ */

/* The program is asked on as many threads as it may be asked for later, so that the answer is of use. */
static bool supports(const struct attn_problem *problem, const char **why)
{
    const int threads = rival.kernel.caps.parallel ? rival.worker->request.threads : 1;
    const struct rival_copy *copy = rival_program_bind(rival.worker, problem, NULL, threads);
    *why = copy->refusal;
    return !*copy->refusal;
}

/* The copy that computes a plan on these operands. */
static struct rival_copy *copy_of(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    struct rival_copy *copy =
        rival_program_bind(rival.worker, &plan->problem, tensors, plan->threads);
    if (*copy->refusal)
        worker_abandon(rival.worker, CELL_UNSUPPORTED, "at %d thread%s: %s", plan->threads,
                       plan->threads > 1 ? "s" : "", copy->refusal);
    return copy;
}

/* A copy of the program runs on places of its own: there are no more than for the threads asked for, and
 * a check may ask for more. */
static void prepare(struct attn_plan *plan)
{
    const struct rival_copy *copy;
    if (plan->threads > rival.worker->request.threads)
        plan->refusal = "more threads than the program has places for";
    else if (*(copy = rival_program_bind(rival.worker, &plan->problem, NULL, plan->threads))
                  ->refusal)
        plan->refusal = copy->refusal;
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    struct rival_copy *copy = copy_of(plan, tensors);
    rival_program_give(copy, 0, tensors);
    rival_program_execute(rival.worker, copy, 0);
    exchange_read(copy->file, 0, tensors);
}

/* ---- the program ----------------------------------------------------------------------------- */

/* A program need not say which instruction set a kernel uses. */
static bool is_of(const json_t *kernel, enum attn_isa isa)
{
    const json_t *its = json_object_get(kernel, "isa");
    enum attn_isa said;
    return !its || (attn_isa_parse(json_string_value(its), &said) && said == isa);
}

static const json_t *find(const json_t *kernels, const char *name, enum attn_isa isa)
{
    const json_t *kernel;
    size_t i;
    json_array_foreach (kernels, i, kernel) {
        const char *its = json_string_value(json_object_get(kernel, "name"));
        if (its && strcmp(its, name) == 0 && is_of(kernel, isa))
            return kernel;
    }
    return NULL;
}

const struct attn_kernel *rival_open(struct worker *worker, char *why, size_t why_size)
{
    const struct protocol_request *r = &worker->request;
    char wrong[128] = "";
    enum cell_state state;
    json_t *kernels = rival_program_describe(r, &state, why, why_size);
    if (!kernels)
        return NULL;
    const json_t *kernel = find(kernels, r->kernel, r->isa);
    struct attn_kernel *k = &rival.kernel;
    rival.worker = worker;
    rival.description = kernels;
    *k = (struct attn_kernel){.size = sizeof *k,
                              .name = r->kernel,
                              .summary = "",
                              .source = "",
                              .isa = r->isa,
                              .supports = supports,
                              .prepare = prepare,
                              .execute = execute};
    if (!kernel)
        snprintf(why, why_size, "%s no longer has %s", r->plugin, r->kernel);
    else if (!capabilities_parse(json_object_get(kernel, "caps"), &k->caps, wrong, sizeof wrong))
        snprintf(why, why_size, "%s describes %s with wrong %s", r->plugin, r->kernel, wrong);
    else {
        rival.ceilings = json_is_true(json_object_get(kernel, "ceilings"));
        if (r->c.problem.dtype == ATTN_F32)
            k->caps.compute = ATTN_F32; /* said of kernels of several types: P is rounded in bf16 */
        return k;
    }
    rival_close();
    return NULL;
}

void rival_close(void)
{
    rival_program_close();
    json_decref(rival.description);
    rival.description = NULL;
}

static bool describe(struct worker *worker, enum cell_state *state, char *why, size_t why_size)
{
    json_t *kernels = rival_program_describe(&worker->request, state, why, why_size);
    if (kernels)
        json_object_set_new(worker->answer, "kernels", kernels);
    return kernels;
}

/* ---- a measurement --------------------------------------------------------------------------- */

static void begin(struct worker *worker, const struct attn_plan *plan, struct tensor_set *sets,
                  size_t count)
{
    rival_clock_open(&rival.clock, worker, plan, sets, count);
}

static void call(size_t set)
{
    rival_clock_run(&rival.clock, set, 1);
}

static void renew(size_t first, size_t count)
{
    rival_clock_renew(&rival.clock, first, count);
}

static double timed(void *context, size_t first, size_t calls)
{
    (void)context;
    return rival_clock_run(&rival.clock, first, calls);
}

/* Of multiply-adds: this process's, unless the program knows better. */
static double probe(void *context, double seconds)
{
    const struct attn_plan *plan = rival.clock.plan;
    (void)context;
    if (rival.ceilings)
        return rival_program_ceilings(rival.worker, rival.clock.copy, seconds, 0).fma_gflops;
    return ceilings_fma(plan->kernel->isa, attn_compute(plan->kernel, &plan->problem),
                        plan->threads, seconds);
}

static double least_sample_s(void)
{
    return rival_clock_sample(&rival.clock);
}

static void judge(size_t calls, double per_call_s, struct check_result *checked)
{
    rival_clock_judge(&rival.clock, calls, per_call_s, checked);
}

/* The start of the program is part of it. */
static void note_preparation(struct worker *worker, double prepare_s)
{
    const struct rival_copy *copy = rival.clock.copy; /* NULL: the launch has failed before */
    json_object_set_new(worker->answer, "prepare_s",
                        number_json(copy ? copy->start_s + copy->prepare_s : prepare_s));
    json_object_set_new(worker->answer, "library",
                        copy && *copy->library ? json_string(copy->library) : json_null());
}

static void note_samples(struct worker *worker)
{
    const size_t bytes = task_peak_bytes(process_pid(rival.clock.copy->process));
    json_object_set_new(worker->answer, "peak_rss_bytes",
                        bytes ? json_integer((json_int_t)bytes) : json_null());
    json_t *extra = rival_extras_means(&rival.clock.copy->extras);
    if (extra)
        json_object_set_new(worker->answer, "extra", extra);
}

static json_t *ceilings(const struct worker *worker, const struct tensor_set *sets,
                        const struct bench_disturbance *disturbance, double median_s)
{
    if (!rival.ceilings)
        return worker_launch_ceilings(worker, sets, disturbance, median_s);
    worker_stage("measuring ceilings");
    const double fma = (disturbance->probe_before_gflops + disturbance->probe_after_gflops) / 2;
    const double bytes = sets->work.bytes * (double)worker->request.sets;
    const struct rival_ceilings its =
        rival_program_ceilings(rival.worker, rival.clock.copy, LAUNCH_CEILINGS_S, bytes);
    return json_pack("{s:o, s:o, s:o}", "fma_gflops", number_json(fma), "fma_host_gflops",
                     number_json(fmax(fma, its.fma_host_gflops)), "read_gbytes_per_s",
                     number_json(its.read_gbytes_per_s));
}

const struct backend rival_backend = {
    .no_huge_pages = "the operands of a program lie in a file in memory of its own",
    .describe = describe,
    .open = rival_open,
    .close = rival_close,
    .begin = begin,
    .call = call,
    .renew = renew,
    .timed = timed,
    .probe = probe,
    .least_sample_s = least_sample_s,
    .judge = judge,
    .note_preparation = note_preparation,
    .note_samples = note_samples,
    .ceilings = ceilings,
};
