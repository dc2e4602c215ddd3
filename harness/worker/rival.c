/*
 * rival: the kernel.
 */
#include "rival.h"

#include <stdio.h>
#include <string.h>

#include "problem/capabilities.h"
#include "problem/exchange.h"
#include "rival_program.h"

/* A struct attn_kernel has no place for a context, and a worker runs one kernel. */
static struct {
    struct worker *worker;
    json_t *description; /* owns the kernel's texts */
    struct attn_kernel kernel;
} rival;

/* ---- the kernel ------------------------------------------------------------------------------ */

/* The program is asked on as many threads as it may be asked for later, so that the answer is of use. */
static bool supports(const struct attn_problem *problem, const char **why)
{
    const int threads = rival.kernel.caps.parallel ? rival.worker->request.threads : 1;
    const struct rival_copy *copy = rival_program_bind(rival.worker, problem, threads);
    *why = copy->refusal;
    return !*copy->refusal;
}

/* The copy that computes a plan. */
static struct rival_copy *copy_of(const struct attn_plan *plan)
{
    struct rival_copy *copy = rival_program_bind(rival.worker, &plan->problem, plan->threads);
    if (*copy->refusal)
        worker_abandon(rival.worker, CELL_UNSUPPORTED, "at %d thread%s: %s", plan->threads,
                       plan->threads > 1 ? "s" : "", copy->refusal);
    return copy;
}

/* A copy of the program runs on places of its own: there are no more than for the threads asked for, and
 * a check may ask for more. */
static void prepare(struct attn_plan *plan)
{
    if (plan->threads > rival.worker->request.threads)
        plan->refusal = "more threads than the program has places for";
    else
        copy_of(plan);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    struct rival_copy *copy = copy_of(plan);
    rival_program_give(copy, 0, tensors);
    rival_program_execute(rival.worker, copy, 0);
    exchange_take(copy->file, 0, tensors);
}

/* ---- the program ----------------------------------------------------------------------------- */

static const json_t *find(const json_t *kernels, const char *name)
{
    const json_t *kernel;
    size_t i;
    json_array_foreach (kernels, i, kernel) {
        const char *its = json_string_value(json_object_get(kernel, "name"));
        if (its && strcmp(its, name) == 0)
            return kernel;
    }
    return NULL;
}

const struct attn_kernel *rival_open(struct worker *worker, char *why, size_t why_size)
{
    const struct protocol_request *r = &worker->request;
    char wrong[128] = "";
    enum cell_state state;
    json_t *kernels = rival_program_describe(r->plugin, &state, why, why_size);
    if (!kernels)
        return NULL;
    const json_t *kernel = find(kernels, r->kernel);
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
        exchange_limit(&k->caps);
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

bool rival_describe(const char *program, json_t *answer, enum cell_state *state, char *why,
                    size_t why_size)
{
    json_t *kernels = rival_program_describe(program, state, why, why_size);
    if (kernels)
        json_object_set_new(answer, "kernels", kernels);
    return kernels;
}
