/*
 * computed: from a step to a worker's request.
 */
#include "computed.h"

#include <stdio.h>

/* Steps are short; one that takes longer than this is taken to hang. */
#define DEADLINE_S 900.0

/* A worker's BLAS library is set up for the host's best instruction set and for products of this
 * many rows: projections of a layer, prefill. */
#define USUAL_LENGTH 1024

struct launch computed_run(const struct experiment *experiment, const char *step, int threads,
                           const struct machine *machine)
{
    struct protocol_request request = {
        .action = PROTOCOL_EXPERIMENT,
        .threads = threads,
        .team = threads,
        .placement = threads <= machine_cores(machine) ? PLACEMENT_CORES : PLACEMENT_NONE};
    attn_problem_init(&request.c.problem);
    request.c.problem.q_len = request.c.problem.kv_len = USUAL_LENGTH;
    for (int isa = 0; isa < ATTN_ISA_COUNT; isa++)
        if (attn_isa_available((enum attn_isa)isa))
            request.isa = (enum attn_isa)isa;
    for (size_t i = 0; i < PROTOCOL_FILE_COUNT; i++)
        request.files[i] = -1;
    snprintf(request.experiment, sizeof request.experiment, "%s", experiment->name);
    snprintf(request.step, sizeof request.step, "%s", step);
    return launch_worker(&request, DEADLINE_S);
}
