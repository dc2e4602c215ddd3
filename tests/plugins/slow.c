/*
 * slow: takes 10 ms a call, so that its check takes longer than six of its launches.
 */
#include <time.h>

#include "honest.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *t)
{
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    honest_execute(plan, t);
}

static const struct attn_kernel kernel = {
    HONEST,
    .name = "slow",
    .isa = ATTN_ISA_BASELINE,
    .execute = execute,
};

HONEST_ENTRY(kernel)
