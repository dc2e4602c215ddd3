/*
 * plan: whether the kernel computes the problem, and its workspace.
 */
#include "plan.h"

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

bool worker_plan_open(struct worker *worker, struct worker_plan *plan)
{
    const struct protocol_request *r = &worker->request;
    const struct attn_problem *problem = &r->c.problem;
    const char *why = "";
    if (!worker_takes(worker))
        return false;
    const size_t bytes = attn_workspace_size(worker->kernel, problem, r->threads);
    *plan = (struct worker_plan){.workspace_bytes = bytes};
    const size_t align = ATTN_WORKSPACE_ALIGN;
    if (bytes && !(plan->workspace = aligned_alloc(align, (bytes + align - 1) / align * align))) {
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
