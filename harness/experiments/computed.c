/*
 * computed: from a step to a worker's request.
 */
#include "computed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isa.h"
#include "problem/catalogue.h"

/* Steps are short; one that takes longer than this is taken to hang. */
#define DEADLINE_S 900.0

/* A worker's BLAS library is set up for the host's preferred instruction set and for products of this
 * many rows: projections of a layer, prefill. */
#define USUAL_LENGTH 1024

/* The guest's kernel that a step names; NULL where it names none. */
static const struct attn_kernel *guest_in(json_t *step)
{
    const char *key;
    json_t *value;
    json_object_foreach (step, key, value) {
        const char *text = json_string_value(value);
        const struct attn_kernel *kernel = text ? catalogue_named(text) : NULL;
        if (kernel && catalogue_guest(kernel))
            return kernel;
    }
    return NULL;
}

struct launch computed_run(const struct experiment *experiment, json_t *step, int threads,
                           const struct machine *machine)
{
    const struct attn_kernel *guest = guest_in(step);
    struct protocol_request request = {
        .action = PROTOCOL_EXPERIMENT,
        .threads = threads,
        .team = threads,
        .placement = threads <= machine_cores(machine) ? PLACEMENT_CORES : PLACEMENT_NONE};
    struct launch launch = {.state = CELL_SKIPPED, .why = "a step is too long"};
    char *text = json_dumps(step, JSON_COMPACT);
    attn_problem_init(&request.c.problem);
    request.c.problem.q_len = request.c.problem.kv_len = USUAL_LENGTH;
    protocol_kernel(&request, guest ? guest->name : "", attn_isa_preferred(),
                    guest ? catalogue_guest(guest) : NULL);
    for (size_t i = 0; i < PROTOCOL_FILE_COUNT; i++)
        request.files[i] = -1;
    snprintf(request.experiment, sizeof request.experiment, "%s", experiment->name);
    if (text && strlen(text) < sizeof request.step) {
        snprintf(request.step, sizeof request.step, "%s", text);
        launch = launch_worker(&request, DEADLINE_S);
    }
    free(text);
    return launch;
}
