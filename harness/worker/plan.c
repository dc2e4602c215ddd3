/*
 * plan: whether the kernel computes the problem, and its workspace.
 */
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "backend.h"
#include "base/clock.h"

bool worker_takes(struct worker *worker)
{
    const struct protocol_request *r = &worker->request;
    char refusal[320];
    worker_stage("preparing");
    if (!worker->backend->refuses(worker->kernel, &r->c.problem, refusal, sizeof refusal))
        return true;
    worker_end(worker, CELL_UNSUPPORTED, "%s", refusal);
    return false;
}

static void *workspace_of(size_t bytes)
{
    const size_t align = ATTN_WORKSPACE_ALIGN;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

bool worker_plan_refused(const struct worker *worker, int threads, char *why, size_t why_size)
{
    const struct attn_problem *problem = &worker->request.c.problem;
    const size_t bytes = attn_workspace_size(worker->kernel, problem, threads);
    void *workspace = bytes ? workspace_of(bytes) : NULL;
    const char *reason = "out of memory";
    struct attn_plan plan;
    const bool taken = (workspace || !bytes) && attn_plan_init(&plan, worker->kernel, problem,
                                                               threads, workspace, bytes, &reason);
    if (taken)
        attn_plan_destroy(&plan);
    else
        snprintf(why, why_size, "%s", reason);
    free(workspace);
    return !taken;
}

bool worker_plan_open(struct worker *worker, struct worker_plan *plan)
{
    const struct protocol_request *r = &worker->request;
    const struct attn_problem *problem = &r->c.problem;
    const char *why = "";
    if (!worker_takes(worker))
        return false;
    const size_t bytes = attn_workspace_size(worker->kernel, problem, r->threads);
    *plan = (struct worker_plan){.workspace_bytes = bytes};
    if (bytes && !(plan->workspace = workspace_of(bytes))) {
        worker_end(worker, CELL_SKIPPED, "no memory for a workspace of %zu bytes", bytes);
        return false;
    }
    worker_stage("preparing");
    const double start = clock_now();
    if (!attn_plan_init(&plan->plan, worker->kernel, problem, r->threads, plan->workspace, bytes,
                        &why)) {
        free(plan->workspace);
        worker_end(worker, CELL_UNSUPPORTED, "%s", why);
        return false;
    }
    plan->prepare_s = clock_now() - start;
    return true;
}

void worker_plan_close(struct worker_plan *plan)
{
    attn_plan_destroy(&plan->plan);
    free(plan->workspace);
}
