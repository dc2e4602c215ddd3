/*
 * rounds_turn: one cell's turn in a round.
 */
#include <stdio.h>

#include "base/clock.h"
#include "results/launches.h"
#include "bench/noise.h"
#include "base/random.h"
#include "rounds_private.h"

#define SHIFT_LINES 64 /* operands are shifted by up to a page */
#define SHIFT_STREAM UINT64_MAX

/* Whether a launch was disturbed and is repeated; its record then gets "superseded". */
static bool give_way(const struct rounds *rounds, struct cell *cell, json_t *record, size_t repeat)
{
    if (repeat == NOISE_REPEATS || clock_now() + cell->cost_s > rounds->until ||
        !noise_may_repeat(json_array_size(cell->launches), cell->repeats) ||
        !noise_repeat(launches_noise_of(cell, record)))
        return false;
    cell->repeats++;
    json_object_set_new(record, "superseded", json_true());
    return true;
}

/* All launches of a round have the same shift, so that kernels are compared at the same addresses, and the
 * operands, which launches share, move once per round. */
static size_t shift_of(const struct rounds *rounds, size_t round)
{
    const uint64_t key = random_key(rounds->session->seed, SHIFT_STREAM);
    return 64 * (size_t)random_below(key, round, SHIFT_LINES);
}

static struct protocol_request request_for(struct rounds *rounds,
                                           const struct protocol_request *base, size_t index,
                                           size_t round, size_t repeat)
{
    const uint64_t key =
        random_key(rounds->session->seed, (uint64_t)index << 32 | round << 8 | repeat);
    const struct cell *cell = rounds_cell(rounds, index);
    struct protocol_request r = *base;
    r.action = PROTOCOL_MEASURE;
    rounds_launch_request(cell, &r);
    r.threads = r.team = cell->threads;
    r.seed = key >> 1; /* JSON integers are signed */
    r.launch = round + 1;
    r.shift = shift_of(rounds, round);
    return r;
}

/* Adds a successful launch to its cell, or sets *again to have it repeated. */
static enum session_end keep(struct rounds *rounds, struct cell *cell, const struct launch *launch,
                             const struct launches_setting *setting, bool *again)
{
    json_t *record = launches_record(cell, launch->answer, setting);
    if (launch->log)
        json_object_set_new(record, "log", json_string(launch->log));
    if (cell == &rounds->twin)
        json_object_set_new(record, "twin", json_true());
    *again = give_way(rounds, cell, record, setting->repeat);
    if (!*again)
        json_array_append(cell->launches, record);
    return record_write(rounds->record, record, false) ? SESSION_DONE : SESSION_STOPPED;
}

/* Ends the cell, or the one whose twin failed, and its variant on all thread counts; its check gets the
 * errors of the call that failed. */
static bool lose(struct rounds *rounds, struct cell *cell, const struct launch *launch)
{
    struct cell *of = cell == &rounds->twin ? &rounds->cells[rounds->twin_of] : cell;
    const json_t *check = json_object_get(launch->answer, "check");
    cell_end(cell, launch->state, "%s", launch->why);
    if (cell != of && !rounds_judge_is_wrong(cell))
        return true;
    rounds_launch_keep_log(of, launch);
    cell_end(of, launch->state, "%s", launch->why);
    cell_forget_errors(of);
    if (json_is_object(check) && launch->state == CELL_FAILED) {
        static const char *const taken[] = {"max_abs_error", "error_over_bound", "samples",
                                            "verified_samples", "mismatches"};
        for (size_t n = 0; n < sizeof taken / sizeof *taken; n++)
            json_object_set(of->check, taken[n], json_object_get(check, taken[n]));
        json_object_set_new(of->check, "failed", json_string("timed call"));
    }
    json_decref(of->row);
    of->row = NULL;
    return rounds_launch_finish(rounds, of) && rounds_judge_spread(rounds);
}

enum session_end rounds_turn(struct rounds *rounds, const struct protocol_request *base,
                             size_t index, size_t round)
{
    struct cell *cell = rounds_cell(rounds, index);
    const bool lost = index == rounds->count && rounds->cells[rounds->twin_of].done;
    enum session_end end = SESSION_DONE;
    bool again =
        !cell->done && !lost; /* another cell of its variant may have failed in this round */
    char what[32];
    for (size_t repeat = 0; again && end == SESSION_DONE; repeat++) {
        const struct protocol_request r = request_for(rounds, base, index, round, repeat);
        snprintf(what, sizeof what, "launch %zu", round + 1);
        rounds_launch_say(rounds, cell, what);
        struct launch launch = rounds_launch(rounds, &r, rounds_launch_deadline(rounds, &r));
        if (launch.interrupted) {
            launch_free(&launch);
            return SESSION_INTERRUPTED;
        }
        rounds_launch_keep_log(cell, &launch);
        cell->cost_s = launch.wall_s;
        again = false;
        if (launch.state == CELL_OK) {
            const struct launches_setting setting = {round, repeat, r.shift, launch.wall_s};
            end = keep(rounds, cell, &launch, &setting, &again);
        } else {
            end = lose(rounds, cell, &launch) ? SESSION_DONE : SESSION_STOPPED;
        }
        launch_free(&launch);
    }
    return end;
}
