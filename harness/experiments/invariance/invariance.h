/*
 * invariance: changes to a call that should not change its results.
 */
#ifndef HARNESS_EXPERIMENTS_INVARIANCE_INVARIANCE_H
#define HARNESS_EXPERIMENTS_INVARIANCE_INVARIANCE_H

#include "experiments/experiment.h"
#include "experiments/shared/kernel_call.h"

#define INVARIANCE_CHANGES 5

/* How the results of a change differ from those of the whole call. */
struct invariance_change {
    size_t elements, differing;
    double largest;
    bool tried; /* false where a kernel has nothing to change to */
};

const char *invariance_change_name(size_t index);

/* Makes one change to a call that has been run; false fills work->message. */
bool invariance_try(size_t index, const struct kernel_call *whole, struct invariance_change *change,
                    struct experiment_work *work);

#endif
