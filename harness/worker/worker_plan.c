/*
 * worker_plan: makes plans and workspaces.
 */
#include "worker_plan.h"

#include <stdlib.h>

#include "base/clock.h"
#include "problem/select.h"
#include "system/aftermath.h"

enum cell_state worker_plan_takes(const struct worker *worker, struct message why)
{
    worker_stage("preparing");
    return select_refusal(worker->kernel, &worker->request.c.problem, why) ? CELL_UNSUPPORTED
                                                                           : CELL_OK;
}

enum cell_state worker_plan_make(const struct worker *worker, int threads, struct worker_plan *plan,
                                 struct message why)
{
    const struct attn_problem *problem = &worker->request.c.problem;
    const enum cell_state taken = worker_plan_takes(worker, why);
    const char *reason = "";
    if (taken != CELL_OK)
        return taken;
    const size_t bytes = attn_workspace_size(worker->kernel, problem, threads);
    *plan = (struct worker_plan){.workspace_bytes = bytes};
    const size_t align = ATTN_WORKSPACE_ALIGN, room = (bytes + align - 1) / align * align;
    if (bytes && !(plan->workspace = aligned_alloc(align, room))) {
        message_print(why, "no memory for a workspace of %zu bytes", bytes);
        return CELL_SKIPPED;
    }
    const double start = clock_now();
    if (!attn_plan_init(&plan->plan, worker->kernel, problem, threads, plan->workspace, bytes,
                        &reason)) {
        free(plan->workspace);
        message_print(why, "%s", reason);
        return CELL_UNSUPPORTED;
    }
    plan->prepare_s = clock_now() - start;
    aftermath_settle(); /* restores the working directory for relative paths */
    return CELL_OK;
}

bool worker_plan_open(struct worker *worker, struct worker_plan *plan)
{
    char why[320];
    const enum cell_state state =
        worker_plan_make(worker, worker->request.threads, plan, MESSAGE(why));
    if (state != CELL_OK)
        worker_end(worker, state, "%s", why);
    return state == CELL_OK;
}

void worker_plan_close(struct worker_plan *plan)
{
    attn_plan_destroy(&plan->plan);
    free(plan->workspace);
}
