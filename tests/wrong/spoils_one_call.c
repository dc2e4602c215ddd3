/*
 * spoils_one_call: honest but for one call, which test_every_call.c chooses: each must be judged.
 */
#include "spoil.h"

extern int spoil_call, spoil_calls; /* number of the call to spoil; calls so far */
int spoil_call = -1, spoil_calls;

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    honest_unless(plan, tensors, spoil_calls++ == spoil_call);
}

WRONG_KERNEL(spoils_one_call,
             "honest but for one call, which test_every_call.c chooses: each must be judged");
