/*
 * rounds: prepares a case, launches its cells, and divides the time among them.
 */
#include "base/alloc.h"
#include "rounds_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/bench.h"
#include "base/clock.h"
#include "results/row.h"
#include "session_needs.h"
#include "base/random.h"
#include "base/message.h"
#include "base/stats.h"
#include "system/memory_file.h"

/* A launch samples for a thirtieth of its cell's share of the time, within these limits: a shorter one spends
 * more time on starting a process than on sampling, a longer one gains no precision. */
#define SHARE_OF_CELL (1.0 / 30)
#define SHORTEST_S 0.01
#define LONGEST_S 0.5
#define USUAL_S 0.05 /* without a time limit */

#define SAMPLE_S 1e-3 /* bench lengthens it to 1000 times the clock's resolution */
#define MAX_SAMPLES 64

/* ---- the case -------------------------------------------------------------------------------- */

/* Sets of operands in rotation: two, so that no kernel can reuse the previous call's results; with a cold
 * cell so many that a set has left every cache before its next call, if memory allows. */
static size_t sets_for(const struct rounds *rounds)
{
    const struct session *session = rounds->session;
    const struct problem_case *c = rounds->cells[0].c;
    const double bytes = fmax(1, rounds->cells[0].estimate.bytes);
    const double most = floor((double)machine_memory_available() / 4 / tensors_case_bytes(c));
    bool cold = false;
    for (size_t i = 0; i < rounds->count; i++)
        cold |= !rounds->cells[i].done && rounds->cells[i].setting.cold;
    if (!cold)
        return ROUNDS_WARM_SETS;
    return (size_t)fmax(ROUNDS_WARM_SETS,
                        fmin((double)bench_cold_sets(session->machine, bytes), most));
}

/* Bytes of stored rows of the reference, at most: twice what a thorough check of 4 heads of 512 queries and keys
 * of 128 has (171,686 rows).  Where a check has more, the rest is computed again for each variant. */
#define REFERENCE_BYTES ((size_t)1 << 30)

static struct protocol_request request_of(const struct rounds *rounds)
{
    struct protocol_request r = {
        .c = *rounds->cells[0].c,
        .threads = 1,
        .team = 1,
        .isa = ATTN_ISA_BASELINE,
        .sets = sets_for(rounds),
        .sample_s = SAMPLE_S,
        .max_samples = MAX_SAMPLES,
        .files = PROTOCOL_NO_FILES,
    };
    r.files[PROTOCOL_TOPOLOGY] = rounds->topology;
    return r;
}

/* Bytes of the log of stored rows.  While rows are appended there is as much again in a worker's file, and a
 * worker maps both. */
static size_t reference_most(void)
{
    struct rlimit space;
    size_t most = machine_memory_available() / 8;
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur / 8 < most)
        most = space.rlim_cur / 8;
    return most < REFERENCE_BYTES ? most : REFERENCE_BYTES;
}

/* Freezes the files and puts read-only descriptors into the request.  From then on only this process can change
 * them: it shifts the operands and, if there is room, appends rows of the reference. */
static bool lend(struct rounds *rounds, const int *filled, int *lent, struct message message)
{
    if (!tensors_file_hold(&rounds->operands, filled[PROTOCOL_OPERANDS], message))
        return false;
    memory_log_open(&rounds->reference, filled[PROTOCOL_REFERENCE], reference_most());
    for (int i = PROTOCOL_OPERANDS; i <= PROTOCOL_REFERENCE; i++)
        if ((lent[i] = memory_file_freeze(filled[i])) < 0)
            return refuse(message, "cannot lend operands: %s", strerror(errno));
    return true;
}

/* Has a worker fill the files of the case, on every core, and lends them to later workers. */
static struct launch prepare(struct rounds *rounds, struct protocol_request *request)
{
    struct protocol_request r = *request;
    r.action = PROTOCOL_PREPARE;
    r.threads = r.team = machine_cores(rounds->session->machine);
    r.setting.placement = PLACEMENT_CORES;
    r.files[PROTOCOL_OPERANDS] = memory_file_create("attnbench-operands");
    r.files[PROTOCOL_REFERENCE] = memory_file_create("attnbench-reference");
    struct launch launch = {.state = CELL_SKIPPED, .why = "no memory file for operands"};
    rounds_launch_say(rounds, NULL, "preparing");
    if (r.files[PROTOCOL_OPERANDS] >= 0 && r.files[PROTOCOL_REFERENCE] >= 0)
        launch = rounds_launch(rounds, &r, launch_deadline(&r.c.problem, 1));
    if (launch.state == CELL_OK && !launch.interrupted &&
        !lend(rounds, r.files, request->files, MESSAGE(launch.why)))
        launch.state = CELL_SKIPPED;
    for (int i = PROTOCOL_OPERANDS; i <= PROTOCOL_REFERENCE; i++)
        if (r.files[i] >= 0)
            close(r.files[i]);
    const json_t *work = json_object_get(launch.answer, "work"); /* as counted in the operands */
    for (size_t i = 0; work && i < rounds->count; i++)
        cell_set_work(&rounds->cells[i], work);
    launch_free(&launch);
    return launch;
}

/* ---- the order of launches ------------------------------------------------------------------- */

static size_t live_cells(const struct rounds *rounds)
{
    size_t live = 0;
    for (size_t i = 0; i < rounds->count; i++)
        live += !rounds->cells[i].done;
    return live;
}

/* Seconds that a cell may still use, by max-min fair sharing. */
static double fair_level(const struct rounds *rounds, size_t target)
{
    double *needs = alloc_bytes((rounds->count + 1) * sizeof *needs);
    size_t n = 0;
    for (size_t i = 0; needs && i < rounds->count; i++) {
        const struct cell *cell = &rounds->cells[i];
        const size_t done = json_array_size(cell->launches);
        if (!cell->done && done < target)
            needs[n++] = cell->cost_s * (double)(target - done);
    }
    const double level = session_needs_level(needs, n, rounds->until - clock_now());
    free(needs);
    return level;
}

/* Groups cells by thread count, otherwise in the same order: those of one thread count are compared with each
 * other, and the machine changes less in a shorter time. */
static void group(struct rounds *rounds, size_t *order, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const int threads = rounds_cell(rounds, order[i - 1])->threads;
        size_t next = i;
        while (next < n && rounds_cell(rounds, order[next])->threads != threads)
            next++;
        if (next == n)
            continue;
        const size_t pulled = order[next];
        memmove(order + i + 1, order + i, (next - i) * sizeof *order);
        order[i] = pulled;
    }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Whether a cell has used its share of the time: never before its first launch; if its check does not count,
 * not before its sixth, unless those take too long. */
static bool is_out_of_time(const struct rounds *rounds, const struct cell *cell, double level)
{
    const size_t launches = json_array_size(cell->launches);
    return launches && cell->cost_s > level &&
           (launches >= STATS_CI_MIN ||
            STATS_CI_MIN * cell->cost_s > session_needs_allowance(rounds->session, cell));
}

/* Launches every cell that is not done and has time left. */
static enum session_end run_round(struct rounds *rounds, const struct protocol_request *request,
                                  size_t *order, size_t round)
{
    const size_t target = round < STATS_CI_MIN ? STATS_CI_MIN : round + 1;
    const double level = fair_level(rounds, target);
    size_t n = 0;
    for (size_t i = 0; i < rounds->count; i++) {
        struct cell *cell = &rounds->cells[i];
        if (cell->done || json_array_size(cell->launches) > round)
            continue; /* a resumed cell waits for the others */
        if (is_out_of_time(rounds, cell, level)) {
            cell->stop = STOP_CAP;
            cell_end(cell, CELL_OK, "%s", "");
        } else {
            order[n++] = i;
        }
    }
    if (rounds->twin.c && !rounds->twin.done && !rounds->cells[rounds->twin_of].done)
        order[n++] = rounds->count;
    random_shuffle(order, n, random_key(rounds->session->seed, round));
    group(rounds, order, n);
    enum session_end end = SESSION_DONE;
    for (size_t i = 0; end == SESSION_DONE && i < n; i++)
        end = rounds_turn(rounds, request, order[i], round);
    return end;
}

/* Runs rounds until every cell is done. */
static enum session_end run_rounds(struct rounds *rounds, struct protocol_request *request)
{
    const double share = (rounds->until - clock_now()) / (double)live_cells(rounds);
    size_t *order = alloc_zeroed(rounds->count + 1, sizeof *order);
    enum session_end end = order ? SESSION_DONE : SESSION_STOPPED;
    request->budget_s =
        isinf(share) ? USUAL_S : fmin(fmax(share * SHARE_OF_CELL, SHORTEST_S), LONGEST_S);
    request->warmup_s = request->budget_s / 4;
    for (size_t round = 0; end == SESSION_DONE && live_cells(rounds); round++) {
        end = run_round(rounds, request, order, round);
        /* After the first round, which has shown what launches cost. */
        if (end == SESSION_DONE && round == 0 && rounds_twin_pick(rounds))
            end = rounds_turn(rounds, request, rounds->count, 0);
        if (end == SESSION_DONE && !rounds_settle(rounds))
            end = SESSION_STOPPED;
    }
    free(order);
    return end;
}

/* Frees the rows of the reference, which only checks need. */
static void forget_reference(struct rounds *rounds, struct protocol_request *request)
{
    memory_log_close(&rounds->reference);
    if (request->files[PROTOCOL_REFERENCE] >= 0)
        close(request->files[PROTOCOL_REFERENCE]);
    request->files[PROTOCOL_REFERENCE] = -1;
}

/* Prepares the case in its memory files, then checks and measures. */
static enum session_end run_prepared(struct rounds *rounds, struct protocol_request *request)
{
    const double start = clock_now();
    const struct launch prepared = prepare(rounds, request);
    if (prepared.interrupted)
        return SESSION_INTERRUPTED;
    if (prepared.state == CELL_OK) {
        const enum session_end chosen = rounds_core_choose(rounds, request);
        const enum session_end judged =
            chosen == SESSION_DONE ? rounds_judge(rounds, request) : chosen;
        forget_reference(rounds, request);
        const bool counts = session_needs_counts_checks(rounds->session, rounds->cells[0].c);
        rounds->put_off_s = counts ? 0 : clock_now() - start;
        rounds->until += rounds->put_off_s;
        return judged == SESSION_DONE && live_cells(rounds) ? run_rounds(rounds, request) : judged;
    }
    for (size_t i = 0; i < rounds->count; i++)
        if (!rounds->cells[i].done)
            cell_end(&rounds->cells[i], CELL_SKIPPED, "%s", prepared.why);
    return rounds_settle(rounds) ? SESSION_DONE : SESSION_STOPPED;
}

/* Makes rows, for tables alone, of what an interrupted case has measured so far.  The journal does not get
 * them, so that the session can be resumed. */
static void keep_incomplete(struct rounds *rounds)
{
    for (size_t i = 0; i < rounds->count; i++) {
        struct cell *cell = &rounds->cells[i];
        if (!cell->done && json_array_size(cell->launches) &&
            row_finish(cell, rounds->command, rounds->session->seed) && !cell->done)
            json_object_set_new(cell->row, "why", json_string(CELL_INCOMPLETE));
    }
}

enum session_end rounds_run(struct rounds *rounds)
{
    if (!rounds_judge_spread(rounds) || !rounds_settle(rounds))
        return SESSION_STOPPED;
    if (!live_cells(rounds))
        return SESSION_DONE;
    struct protocol_request request = request_of(rounds);
    const double asked = rounds->session->options->timeout_s;
    rounds->deadline_s = asked > 0 ? asked : launch_deadline(&request.c.problem, 1);
    const enum session_end end = run_prepared(rounds, &request);
    if (end == SESSION_INTERRUPTED && rounds->action == PROTOCOL_MEASURE)
        keep_incomplete(rounds);
    tensors_file_release(&rounds->operands);
    forget_reference(rounds, &request);
    if (request.files[PROTOCOL_OPERANDS] >= 0)
        close(request.files[PROTOCOL_OPERANDS]);
    return end;
}
