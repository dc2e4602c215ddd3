/*
 * rounds_judge: checks every cell before any is timed.
 *
 * Checks have workers of their own: times of a process that has run a hundred adversarial inputs may differ
 * from those of a fresh one, and in a check the reference may use every core.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/members.h"
#include "problem/outputs.h"
#include "rounds_private.h"
#include "system/memory_file.h"

bool rounds_judge_is_wrong(const struct cell *cell)
{
    return cell->done && !cell->failed_at && cell_state_is_wrong(cell->state);
}

/* Whether a cell has no result yet, or the state ok. */
static bool runs(const struct cell *cell)
{
    return !cell->done || cell->state == CELL_OK;
}

bool rounds_judge_spread(struct rounds *rounds)
{
    for (size_t i = 0; i < rounds->count; i++) {
        const struct cell *wrong = &rounds->cells[i];
        for (size_t k = 0; rounds_judge_is_wrong(wrong) && k < rounds->count; k++) {
            struct cell *cell = &rounds->cells[k];
            if (!runs(cell) || !cell_same_variant(cell, wrong))
                continue;
            cell_inherit(cell, wrong->state, wrong->threads, wrong->why);
            if (!rounds_launch_finish(rounds, cell))
                return false;
        }
    }
    return true;
}

/* ---- one check ----------------------------------------------------------------------------- */

/* The cells of a variant, which are judged together. */
struct group {
    struct cell *cells[CHECK_COUNTS];
    size_t count;
};

/* Includes cells that are done, because outputs of all are compared. */
static struct group group_of(struct rounds *rounds, const struct cell *like,
                             struct protocol_request *r)
{
    struct group group = {.count = 0};
    r->threads = 1;
    for (size_t i = 0; i < rounds->count && group.count < CHECK_COUNTS; i++) {
        struct cell *cell = &rounds->cells[i];
        if (!runs(cell) || !cell_same_variant(cell, like))
            continue;
        r->counts[group.count] = (struct protocol_count){cell->threads, group.count};
        r->threads = cell->threads > r->threads ? cell->threads : r->threads;
        group.cells[group.count++] = cell;
    }
    r->count = group.count;
    return group;
}

/* The thread count on which the kernel ran when the worker died; 0: no kernel ran. */
static int threads_of(const struct launch *launch)
{
    int threads = 0;
    const char *at = strstr(launch->why, "checking at threads=");
    return at && sscanf(at, CHECK_RUNNING, &threads) == 1 ? threads : 0;
}

/* Ends a cell that has not passed. */
static bool fail(struct rounds *rounds, struct cell *cell, enum cell_state state, const char *why)
{
    cell_end(cell, state, "%s", why);
    json_decref(cell->row);
    cell->row = NULL;
    return rounds_launch_finish(rounds, cell);
}

/* For a worker without verdicts: ends the cell that it was checking, or all if that is unknown. */
static bool end_unjudged(struct rounds *rounds, const struct group *group,
                         const struct launch *launch)
{
    const int threads = threads_of(launch);
    const bool wrong = launch->state == CELL_CRASHED || launch->state == CELL_TIMEOUT;
    bool written = true, known = false;
    for (size_t k = 0; k < group->count; k++)
        known |= group->cells[k]->threads == threads;
    for (size_t k = 0; written && k < group->count; k++)
        if ((!known || group->cells[k]->threads == threads) && (wrong || !group->cells[k]->done)) {
            cell_forget_errors(group->cells[k]);
            written = fail(rounds, group->cells[k], launch->state, launch->why);
        }
    return written;
}

/* Applies a verdict.  If the worker ended badly after its verdicts, a cell that passed gets the worker's
 * state and reason, and does not count as failed. */
static bool apply_verdict(struct rounds *rounds, struct cell *cell, const json_t *verdict,
                          const struct launch *launch)
{
    assert(cell);
    enum cell_state state = CELL_FAILED;
    cell_state_parse(member_text(verdict, "state"), &state);
    char reason[CELL_WHY];
    if (cell->done && state == CELL_OK)
        return true;
    json_decref(cell->check);
    cell->check = json_incref(json_object_get(verdict, "check"));
    snprintf(reason, sizeof reason, "%s", member_text(verdict, "why"));
    if (cell_state_is_bad(state))
        launch_quote(launch, reason);
    if (state != CELL_OK)
        return fail(rounds, cell, state, reason);
    return launch->state == CELL_OK || fail(rounds, cell, launch->state, launch->why);
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

/* Records that a cell has passed. */
static bool pass(struct rounds *rounds, struct cell *cell, const struct launch *launch)
{
    if (rounds->action == PROTOCOL_MEASURE)
        return record_write(rounds->record, record_of(cell, launch->wall_s), false);
    cell_end(cell, CELL_OK, "%s", "");
    return rounds_launch_finish(rounds, cell);
}

/* Applies a worker's verdicts: first to cells that failed, then to the others of the variant. */
static bool apply_verdicts(struct rounds *rounds, const struct group *group,
                           const struct launch *launch)
{
    const json_t *verdicts = json_object_get(launch->answer, "verdicts");
    bool written = json_is_array(verdicts) || end_unjudged(rounds, group, launch);
    for (size_t k = 0; written && k < json_array_size(verdicts); k++)
        written = apply_verdict(rounds, group->cells[k], json_array_get(verdicts, k), launch);
    written = written && rounds_judge_spread(rounds);
    for (size_t k = 0; written && k < group->count; k++)
        if (!group->cells[k]->done)
            written = pass(rounds, group->cells[k], launch);
    return written;
}

/* Launches a check.  The worker writes outputs to a file of its own, as a kernel may overwrite it; those of
 * the cells that it computed are then copied to rounds->outputs. */
static struct launch launch_check(struct rounds *rounds, struct protocol_request *r,
                                  const struct group *group)
{
    const struct attn_problem *problem = &r->c.problem;
    if (rounds->outputs >= 0)
        r->files[PROTOCOL_OUTPUTS] =
            memory_file_of_size("attnbench-outputs", group->count * outputs_bytes(problem));
    struct launch launch =
        rounds_launch(rounds, r, rounds_launch_deadline(rounds, r) * (double)group->count);
    for (size_t k = 0; rounds->outputs >= 0 && k < group->count; k++) {
        const size_t slot = (size_t)(group->cells[k] - rounds->cells);
        if (launch.state == CELL_OK &&
            !outputs_copy(r->files[PROTOCOL_OUTPUTS], k, rounds->outputs, slot, problem)) {
            launch.state = CELL_SKIPPED;
            snprintf(launch.why, sizeof launch.why, "cannot keep the output to compare");
        }
    }
    if (r->files[PROTOCOL_OUTPUTS] >= 0)
        close(r->files[PROTOCOL_OUTPUTS]);
    for (size_t k = 0; k < group->count; k++)
        rounds_launch_keep_log(group->cells[k], &launch);
    return launch;
}

/* Whether the group's check shares the rows of the reference that it computes: another variant waits for its
 * own check, and the kernel is not a plug-in's, which could write what it likes to the file. */
static bool shares_rows(const struct rounds *rounds, const struct group *group,
                        const struct protocol_request *r)
{
    bool others = false;
    for (size_t i = 0; i < rounds->count; i++) {
        const struct cell *cell = &rounds->cells[i];
        others |= !cell->done && !cell->check && !cell_same_variant(cell, group->cells[0]);
    }
    return others && rounds->reference.mapping && !*r->plugin;
}

/* Appends the rows of the reference that a check computed to those that later checks look up, if its kernel
 * passed. */
static void keep_reference(struct rounds *rounds, const struct group *group, int computed)
{
    bool passed = computed >= 0;
    for (size_t k = 0; k < group->count; k++)
        passed &= runs(group->cells[k]) || group->cells[k]->state == CELL_UNSUPPORTED;
    if (passed)
        memory_log_append(&rounds->reference, computed); /* else they are computed again */
}

enum session_end rounds_judge(struct rounds *rounds, const struct protocol_request *base)
{
    const int cores = machine_cores(rounds->session->machine);
    enum session_end end = SESSION_DONE;
    for (size_t i = 0; end == SESSION_DONE && i < rounds->count; i++) {
        struct cell *cell = &rounds->cells[i];
        struct protocol_request r = *base;
        if (cell->done || cell->check)
            continue;
        r.action = PROTOCOL_CHECK;
        rounds_launch_request(cell, &r);
        const struct group group = group_of(rounds, cell, &r);
        r.team = r.threads > cores ? r.threads : cores;
        r.depth = rounds->own_input                     ? CHECK_CASE
                  : rounds->session->options->invariant ? CHECK_INVARIANT
                  : rounds->action == PROTOCOL_CHECK    ? CHECK_THOROUGH
                                                        : CHECK_FULL;
        if (shares_rows(rounds, &group, &r))
            r.files[PROTOCOL_COMPUTED] = memory_file_create("attnbench-computed");
        rounds_launch_say(rounds, cell, "checking");
        struct launch launch = launch_check(rounds, &r, &group);
        end = launch.interrupted                        ? SESSION_INTERRUPTED
              : apply_verdicts(rounds, &group, &launch) ? SESSION_DONE
                                                        : SESSION_STOPPED;
        if (end == SESSION_DONE)
            keep_reference(rounds, &group, r.files[PROTOCOL_COMPUTED]);
        if (r.files[PROTOCOL_COMPUTED] >= 0)
            close(r.files[PROTOCOL_COMPUTED]);
        launch_free(&launch);
    }
    return end;
}
