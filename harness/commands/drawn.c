/*
 * drawn: simplifies a drawn problem step by step, as long as the kernel still fails on it.
 */
#include "commands.h"

#include <math.h>

#include "problem/draw.h"
#include "problem/select.h"
#include "session/rounds.h"
#include "system/process.h"

#define MOST_TRIES 60 /* each takes some 0.01 s */

bool drawn_is(const struct session *session, const struct cell *cell)
{
    const struct problem_case *items = session->cases.items;
    return cell->c >= items + session->first_drawn && cell->c < items + session->cases.count;
}

/* The cell that fails, and the session that it belongs to. */
struct attempt {
    const struct session *session;
    int topology;
    const struct cell *like;
};

/* Whether the cell's kernel fails on problem c, too. */
static bool fails(const void *context, struct problem_case *c)
{
    const struct attempt *attempt = context;
    const struct cell *like = attempt->like;
    char why[160];
    struct cell cell;
    if (process_interrupted() || !like->kernel ||
        select_refusal(like->kernel, &c->problem, why, sizeof why))
        return false;
    cell_init_like(&cell, c, like);
    struct rounds rounds = {.session = attempt->session,
                            .action = PROTOCOL_CHECK,
                            .own_input = true,
                            .command = "check",
                            .topology = attempt->topology,
                            .cells = &cell,
                            .count = 1,
                            .until = INFINITY,
                            .outputs = -1};
    const bool failed = rounds_run(&rounds) == ROUNDS_DONE && cell_state_is_bad(cell.state);
    cell_free(&rounds.twin);
    cell_free(&cell);
    return failed;
}

struct problem_case drawn_simplest(const struct session *session, int topology,
                                   const struct cell *failed)
{
    const struct attempt attempt = {session, topology, failed};
    return draw_simplest(failed->c, fails, &attempt, MOST_TRIES);
}
