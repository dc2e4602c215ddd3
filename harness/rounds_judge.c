/*
 * rounds_judge: every cell is checked before any is timed.
 *
 * In workers of their own: a process that has run a hundred adversarial inputs is another place
 * to measure in than a fresh one, and here the reference may use every core.
 */
#include <string.h>

#include "clock.h"
#include "rounds_private.h"

/*
 * How thoroughly.  A full check compares thread counts with each other bit by bit, so for a kernel
 * that does not vary one at the largest count of its cells covers the smaller ones, which are still
 * compared with the reference on the case's own input.
 */
static enum check_depth depth_for(const struct rounds *rounds, const struct cell *cell)
{
    if (rounds->action == PROTOCOL_CHECK)
        return CHECK_THOROUGH;
    for (size_t i = 0; !cell->kernel->caps.varies && i < rounds->count; i++)
        if (rounds->cells[i].kernel == cell->kernel && rounds->cells[i].threads > cell->threads)
            return CHECK_CASE;
    return CHECK_FULL;
}

static json_t *record_of(const struct cell *cell, double wall_s)
{
    char now[32];
    clock_utc(now);
    json_t *record = json_pack("{s:s, s:s, s:f, s:O}", "type", "check", "timed_at", now, "wall_s",
                               wall_s, "check", cell->check);
    json_object_update_new(record, cell_identity(cell));
    return record;
}

/* Takes a check that was answered. */
static enum rounds_end take(struct rounds *rounds, struct cell *cell, const struct launch *launch)
{
    cell->check = json_incref(json_object_get(launch->answer, "check"));
    if (launch->state != CELL_OK || rounds->action == PROTOCOL_CHECK) {
        cell_end(cell, launch->state, "%s", launch->why);
        return rounds_finish(rounds, cell) ? ROUNDS_DONE : ROUNDS_STOPPED;
    }
    json_t *record = record_of(cell, launch->wall_s);
    return rounds->events->launched(rounds->events->context, record) ? ROUNDS_DONE : ROUNDS_STOPPED;
}

enum rounds_end rounds_judge(struct rounds *rounds, const struct protocol_request *base)
{
    const int cores = machine_cores(rounds->session->machine);
    enum rounds_end end = ROUNDS_DONE;
    for (size_t i = 0; end == ROUNDS_DONE && i < rounds->count; i++) {
        struct cell *cell = &rounds->cells[i];
        struct protocol_request r = *base;
        if (cell->done || cell->check)
            continue;
        r.action = PROTOCOL_CHECK;
        memcpy(r.kernel, cell->kernel_name, sizeof r.kernel);
        r.isa = cell->isa;
        r.blas_core = rounds_core(cell);
        r.threads = cell->threads;
        r.team = cell->threads > cores ? cell->threads : cores;
        r.slot = i;
        r.depth = depth_for(rounds, cell);
        rounds->events->launching(rounds->events->context, cell, "checking");
        struct launch launch = launch_worker(&r, rounds->deadline_s);
        rounds_note_work(rounds, &launch);
        end = launch.interrupted ? ROUNDS_INTERRUPTED : take(rounds, cell, &launch);
        json_decref(launch.answer);
    }
    return end;
}
