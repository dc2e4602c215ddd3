/*
 * rounds_launch: what every launch of a case goes through: its request, its worker, the end of its cell.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "results/row.h"
#include "rounds_private.h"

/* A program loads and compiles its library first, for which docs/protocol.md grants it so long. */
#define PROGRAM_S 300.0

void rounds_name(const struct cell *cell, struct protocol_request *request)
{
    protocol_kernel(request, cell->kernel_name, cell->isa, cell->guest);
    request->blas_core = rounds_core(cell);
}

double rounds_deadline(const struct rounds *rounds, const struct protocol_request *r)
{
    const bool asked = rounds->session->options->timeout_s > 0;
    return rounds->deadline_s + (r->program && !asked ? PROGRAM_S : 0);
}

/* Adds the times that a worker gives in its answer. */
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

bool rounds_finish(struct rounds *rounds, struct cell *cell)
{
    if (cell->row)
        return true;
    return row_finish(cell, rounds->command, rounds->session->seed) &&
           rounds->events->finished(rounds->events->context, cell);
}

/* ---- what one count's failure means for the others ------------------------------------------- */

bool rounds_is_wrong(const struct cell *cell)
{
    return cell->done && !cell->failed_at &&
           (cell->state == CELL_FAILED || cell->state == CELL_CRASHED ||
            cell->state == CELL_TIMEOUT);
}

bool rounds_same_variant(const struct cell *a, const struct cell *b)
{
    return a->isa == b->isa && a->guest == b->guest && strcmp(a->kernel_name, b->kernel_name) == 0;
}

bool rounds_runs(const struct cell *cell)
{
    return !cell->done || cell->state == CELL_OK;
}

bool rounds_spread(struct rounds *rounds)
{
    for (size_t i = 0; i < rounds->count; i++)
        for (size_t k = 0; rounds_is_wrong(&rounds->cells[i]) && k < rounds->count; k++) {
            struct cell *cell = &rounds->cells[k];
            if (!rounds_runs(cell) || !rounds_same_variant(cell, &rounds->cells[i]))
                continue;
            cell_inherit(cell, &rounds->cells[i]);
            if (!rounds_finish(rounds, cell))
                return false;
        }
    return true;
}
