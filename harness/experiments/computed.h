/*
 * computed: a step in a worker that calls the experiment's compute().
 */
#ifndef HARNESS_EXPERIMENTS_COMPUTED_H
#define HARNESS_EXPERIMENTS_COMPUTED_H

#include "experiment.h"
#include "session/launch.h"

/* Runs a step, shorter than PROTOCOL_STEP as text, on so many threads, a core each where there are
 * enough.  "rows" of the answer has the rows. */
struct launch computed_run(const struct experiment *experiment, json_t *step, int threads,
                           const struct machine *machine);

#endif
