/*
 * rounds_launch: the parts of every launch of a case: its request, its worker, the end of its cell.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "results/row.h"
#include "rounds_private.h"
#include "session_needs.h"

/* Time for a program to load and compile its library, as docs/protocol.md states. */
#define PROGRAM_S 300.0

/* A check may take so many times what it is estimated to. */
#define SLOWEST_CHECK 20

void rounds_name(const struct cell *cell, struct protocol_request *request)
{
    protocol_kernel(request, cell->kernel_name, cell->isa, cell->guest);
    request->blas_core = rounds_core(cell);
    request->placement = cell->setting.placement;
    request->memory = cell->setting.memory;
    request->huge_pages = cell->setting.huge_pages;
    request->cold = cell->setting.cold;
    request->sets = request->cold ? request->sets : ROUNDS_WARM_SETS;
    request->variables = cell->setting.variables;
}

double rounds_deadline(const struct rounds *rounds, const struct protocol_request *r)
{
    if (rounds->session->options->timeout_s > 0)
        return rounds->deadline_s;
    const double check_s = r->action == PROTOCOL_CHECK
                               ? session_check_s(attn_useful_flops(&r->c.problem), r->depth)
                               : 0;
    return rounds->deadline_s + SLOWEST_CHECK * check_s + (r->program ? PROGRAM_S : 0);
}

/* Adds the times in a worker's answer to rounds->time. */
static void note_work(struct rounds *rounds, const struct launch *launch)
{
    struct session_time *time = &rounds->time;
    const struct {
        const char *phase;
        double *sum;
    } phases[] = {{"prepare_s", &time->preparing_s}, {"filled_s", &time->preparing_s},
                  {"placed_s", &time->preparing_s},  {"check_s", &time->checking_s},
                  {"sampled_s", &time->timing_s},    {"probed_s", &time->probing_s}};
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        *phases[i].sum += json_number_value(json_object_get(launch->answer, phases[i].phase));
}

void rounds_keep_log(struct cell *cell, const struct launch *launch)
{
    cell->memory_limit_bytes = launch->memory_limit_bytes;
    if (!launch->log || (cell->log && !cell_state_is_bad(launch->state)))
        return;
    free(cell->log);
    cell->log = alloc_text(launch->log);
}

struct launch rounds_launch(struct rounds *rounds, const struct protocol_request *request,
                            double deadline_s)
{
    const double start = clock_now();
    tensors_file_move(&rounds->operands, request->shift);
    rounds->time.preparing_s += clock_now() - start;
    struct launch launch = launch_worker(request, deadline_s);
    note_work(rounds, &launch);
    return launch;
}

/* ---- events ---------------------------------------------------------------------------------- */

void rounds_say(const struct rounds *rounds, const struct cell *cell, const char *what)
{
    if (rounds->events)
        rounds->events->launching(rounds->events->context, cell, what);
}

bool rounds_record(const struct rounds *rounds, json_t *record)
{
    if (rounds->events)
        return rounds->events->launched(rounds->events->context, record);
    json_decref(record);
    return true;
}

bool rounds_finish(struct rounds *rounds, struct cell *cell)
{
    if (cell->row)
        return true;
    return row_finish(cell, rounds->command, rounds->session->seed) &&
           (!rounds->events || rounds->events->finished(rounds->events->context, cell));
}
