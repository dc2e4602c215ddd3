/*
 * rounds_turn: one cell's turn in a round.
 */
#include <string.h>

#include "clock.h"
#include "launches.h"
#include "noise.h"
#include "random.h"
#include "rounds_private.h"
#include "row.h"

#define SHIFT_LINES 64 /* operands are shifted by up to a page */

bool rounds_finish(struct rounds *rounds, struct cell *cell)
{
    return cell->row || (row_finish(cell, rounds->command, rounds->session->seed) &&
                         rounds->events->finished(rounds->events->context, cell));
}

static double spent(const json_t *answer, const char *key)
{
    return json_number_value(json_object_get(answer, key));
}

/* Notes what a launch says beside its samples. */
static void take_notes(struct rounds *rounds, struct cell *cell, const struct launch *launch)
{
    const double check_s = spent(launch->answer, "check_s");
    json_t *check = json_object_get(launch->answer, "check");
    rounds->working_s += check_s + spent(launch->answer, "sampled_s") +
                         spent(launch->answer, "prepare_s") + spent(launch->answer, "probed_s");
    cell->cost_s = launch->wall_s - check_s;
    if (!cell->check && check)
        cell->check = json_incref(check);
}

/* Whether a launch gave way to a repeat of itself, which goes into its record. */
static bool give_way(const struct rounds *rounds, const struct cell *cell, json_t *record,
                     size_t repeat)
{
    if (repeat == NOISE_REPEATS || clock_now() + cell->cost_s > rounds->until ||
        !noise_repeat(launches_noise_of(cell, record)))
        return false;
    json_object_set_new(record, "superseded", json_true());
    return true;
}

static struct protocol_request request_for(const struct rounds *rounds,
                                           const struct protocol_request *base, size_t index,
                                           uint64_t key)
{
    const struct cell *cell = &rounds->cells[index];
    struct protocol_request r = *base;
    r.action = rounds->action;
    memcpy(r.kernel, cell->kernel_name, sizeof r.kernel);
    r.isa = cell->isa;
    r.threads = cell->threads;
    r.slot = index;
    r.seed = key >> 1; /* JSON integers are signed */
    r.shift = 64 * (size_t)random_below(key, 0, SHIFT_LINES);
    r.depth = rounds->action == PROTOCOL_CHECK ? CHECK_THOROUGH
              : cell->check                    ? CHECK_ROWS
                                               : CHECK_FULL;
    return r;
}

/* Takes a launch that went well into its cell, or sees that it is repeated. */
static enum rounds_end keep(struct rounds *rounds, struct cell *cell, json_t *answer,
                            const struct launches_setting *setting, bool *again)
{
    json_t *record = launches_record(cell, answer, setting);
    const bool check = rounds->action == PROTOCOL_CHECK;
    *again = !check && give_way(rounds, cell, record, setting->repeat);
    if (!*again)
        json_array_append(cell->launches, record);
    if (!check)
        return rounds->events->launched(rounds->events->context, record) ? ROUNDS_DONE
                                                                         : ROUNDS_STOPPED;
    json_decref(record);
    return ROUNDS_DONE;
}

enum rounds_end rounds_turn(struct rounds *rounds, const struct protocol_request *base,
                            size_t index, size_t round)
{
    struct cell *cell = &rounds->cells[index];
    enum rounds_end end = ROUNDS_DONE;
    bool again = true;
    for (size_t repeat = 0; again && end == ROUNDS_DONE; repeat++) {
        const uint64_t key =
            random_key(rounds->session->seed, (uint64_t)index << 32 | round << 8 | repeat);
        const struct protocol_request r = request_for(rounds, base, index, key);
        rounds->events->launching(rounds->events->context, cell, round);
        struct launch launch = launch_worker(&r, rounds->deadline_s);
        if (launch.interrupted)
            return ROUNDS_INTERRUPTED;
        take_notes(rounds, cell, &launch);
        again = false;
        if (launch.state == CELL_OK) {
            const struct launches_setting setting = {round, repeat, r.shift, launch.wall_s};
            end = keep(rounds, cell, launch.answer, &setting, &again);
        } else {
            cell_end(cell, launch.state, "%s", launch.why);
            end = rounds_finish(rounds, cell) ? ROUNDS_DONE : ROUNDS_STOPPED;
        }
        json_decref(launch.answer);
    }
    return end;
}
