/*
 * in_program: a struct attn_kernel that another program computes.
 */
#include "backend.h"

#include <math.h>
#include <string.h>

#include "base/members.h"
#include "base/number.h"
#include "bench/disturbance.h"
#include "problem/capabilities.h"
#include "program_clock.h"
#include "program_copy.h"
#include "system/ceilings.h"
#include "system/task.h"

/* Static, as a struct attn_kernel has no context, and a worker runs one kernel. */
static struct {
    struct worker *worker;
    json_t *description; /* owns the kernel's texts */
    struct attn_kernel kernel;
    bool ceilings; /* the program measures ceilings itself */
} self;

/* ---- the kernel ------------------------------------------------------------------------------ */

/* Asks the program on the number of threads that it will run on. */
static bool supports(const struct attn_problem *problem, const char **why)
{
    const int threads = self.kernel.caps.parallel ? self.worker->request.threads : 1;
    const struct program_copy *copy = program_copy_bind(self.worker, problem, NULL, threads);
    *why = copy->refusal;
    return !*copy->refusal;
}

/* The copy that computes a plan on these operands; a refusal ends the launch. */
static struct program_copy *copy_of(const struct attn_plan *plan,
                                    const struct attn_tensors *tensors)
{
    struct program_copy *copy =
        program_copy_bind(self.worker, &plan->problem, tensors, plan->threads);
    if (*copy->refusal)
        worker_abandon(self.worker, CELL_UNSUPPORTED, "at %d thread%s: %s", plan->threads,
                       plan->threads > 1 ? "s" : "", copy->refusal);
    return copy;
}

/* Refuses more threads than the request has CPUs for, which a check may ask for. */
static void prepare(struct attn_plan *plan)
{
    const struct program_copy *copy;
    if (plan->threads > self.worker->request.threads)
        plan->refusal = "more threads than the program has places for";
    else if (*(copy = program_copy_bind(self.worker, &plan->problem, NULL, plan->threads))->refusal)
        plan->refusal = copy->refusal;
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    struct program_copy *copy = copy_of(plan, tensors);
    program_copy_give(copy, 0, tensors);
    program_copy_execute(self.worker, copy, 0);
    exchange_read(copy->file, 0, tensors);
}

/* ---- the program ----------------------------------------------------------------------------- */

/* Whether a kernel is for this instruction set; a program may leave it out. */
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
        if (strcmp(member_text(kernel, "name"), name) == 0 && is_of(kernel, isa))
            return kernel;
    }
    return NULL;
}

static void close_program(void)
{
    program_copy_close();
    json_decref(self.description);
    self.description = NULL;
}

static const struct attn_kernel *open_program(struct worker *worker, struct message why)
{
    const struct protocol_request *r = &worker->request;
    char wrong[128] = "";
    enum cell_state state;
    json_t *kernels = program_request_describe(r, &state, why);
    if (!kernels)
        return NULL;
    const json_t *kernel = find(kernels, r->kernel, r->isa);
    struct attn_kernel *k = &self.kernel;
    self.worker = worker;
    self.description = kernels;
    *k = (struct attn_kernel){.size = sizeof *k,
                              .name = r->kernel,
                              .summary = "",
                              .source = "",
                              .isa = r->isa,
                              .supports = supports,
                              .prepare = prepare,
                              .execute = execute};
    if (!kernel)
        message_print(why, "%s no longer has %s", r->plugin, r->kernel);
    else if (!capabilities_parse(json_object_get(kernel, "caps"), &k->caps, MESSAGE(wrong)))
        message_print(why, "%s describes %s with a wrong %s", r->plugin, r->kernel, wrong);
    else {
        self.ceilings = json_is_true(json_object_get(kernel, "ceilings"));
        if (r->c.problem.dtype == ATTN_F32)
            k->caps.compute = ATTN_F32; /* the description states that of 16-bit problems */
        return k;
    }
    close_program();
    return NULL;
}

static bool describe(struct worker *worker, enum cell_state *state, struct message why)
{
    json_t *kernels = program_request_describe(&worker->request, state, why);
    if (kernels)
        json_object_set_new(worker->answer, "kernels", kernels);
    return kernels;
}

/* ---- a measurement --------------------------------------------------------------------------- */

/* The program's multiply-add rate, or that of this process if the program measures none. */
static double probe(void *context, double seconds)
{
    struct program_copy *copy = program_clock_copy();
    (void)context;
    if (self.ceilings)
        return program_copy_ceilings(self.worker, copy, seconds, 0).fma_gflops;
    return ceilings_fma(self.kernel.isa,
                        attn_compute(&self.kernel, &self.worker->request.c.problem), copy->threads,
                        seconds);
}

/* "prepare_s" includes the start of the program. */
static void note_preparation(struct worker *worker, double prepare_s)
{
    const struct program_copy *copy = program_clock_copy(); /* NULL: the launch has failed */
    json_object_set_new(worker->answer, "prepare_s",
                        number_json(copy ? copy->start_s + copy->prepare_s : prepare_s));
    json_object_set_new(worker->answer, "library",
                        copy && *copy->library ? json_string(copy->library) : json_null());
}

static void note_samples(struct worker *worker)
{
    const struct program_copy *copy = program_clock_copy();
    json_object_set_new(worker->answer, "peak_rss_bytes",
                        number_size(task_peak_bytes(process_pid(copy->process))));
    json_t *extra = program_extras_means(&copy->extras);
    if (extra)
        json_object_set_new(worker->answer, "extra", extra);
}

static json_t *ceilings(const struct worker *worker, const struct tensor_set *sets,
                        const struct bench_disturbance *disturbance, double median_s)
{
    if (!self.ceilings)
        return worker_launch_ceilings(worker, sets, disturbance, median_s);
    worker_stage("measuring ceilings");
    const double fma = (disturbance->probe_before_gflops + disturbance->probe_after_gflops) / 2;
    const double bytes = sets->work.bytes * (double)worker->request.sets;
    const struct program_ceilings its =
        program_copy_ceilings(self.worker, program_clock_copy(), LAUNCH_CEILINGS_S, bytes);
    return json_pack("{s:o, s:o, s:o}", "fma_gflops", number_json(fma), "fma_host_gflops",
                     number_json(fmax(fma, its.fma_host_gflops)), "read_gbytes_per_s",
                     number_json(its.read_gbytes_per_s));
}

const struct backend in_program_backend = {
    .no_huge_pages = "operands of a program lie in a memory file of their own",
    .describe = describe,
    .open = open_program,
    .close = close_program,
    .begin = program_clock_begin,
    .call = program_clock_call,
    .renew = program_clock_renew,
    .timed = program_clock_timed,
    .probe = probe,
    .least_sample_s = program_clock_least_sample_s,
    .judge = program_clock_judge,
    .note_preparation = note_preparation,
    .note_samples = note_samples,
    .ceilings = ceilings,
};
