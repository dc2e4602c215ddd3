/*
 * right: what a plug-in may have: a workspace, prepare and destroy, and reasons that only supports()
 * knows.  It is wrong unless it gets what it asked for, in structs of this header's sizes.
 */
#include "honest.h"

#define SCRATCH 4096

static bool supports(const struct attn_problem *problem, const char **why)
{
    *why = "an odd head dimension";
    return problem->qk_dim % 2 == 0;
}

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    (void)problem;
    (void)threads;
    return SCRATCH;
}

static int prepared;

static void prepare(struct attn_plan *plan)
{
    plan->state = &prepared;
    prepared = 1;
}

static void destroy(struct attn_plan *plan)
{
    plan->state = NULL;
    prepared = 0;
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *t)
{
    unsigned char *scratch = plan->workspace;
    if (plan->workspace_bytes < SCRATCH || plan->state != &prepared || !prepared ||
        plan->size != sizeof *plan || plan->problem.size != sizeof plan->problem ||
        plan->kernel->size != sizeof *plan->kernel || t->size != sizeof *t)
        return; /* what was there before stays, and is found */
    scratch[0] = scratch[SCRATCH - 1] = 1;
    honest_execute(plan, t);
}

static const struct attn_kernel kernel = {
    HONEST,
    .name = "right",
    .isa = ATTN_ISA_BASELINE,
    .supports = supports,
    .workspace_size = workspace_size,
    .prepare = prepare,
    .execute = execute,
    .destroy = destroy,
};

HONEST_ENTRY(kernel)
