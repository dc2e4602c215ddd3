/*
 * run_tell: what a session prints of a case, and of kernels that computed none.
 */
#include "commands.h"

#include <math.h>
#include <string.h>

#include "base/progress.h"
#include "problem/draw.h"
#include "problem/select.h"
#include "results/report.h"
#include "session/rounds.h"
#include "system/process.h"

#define MOST_SIMPLIFIED 3 /* failing problems, which mostly show the same error */
#define MOST_TRIES 60     /* to simplify one; each takes some 0.01 s */

/* Whether a comma-separated list of kernels and variants has this name. */
static bool is_named(const char *list, const char *name)
{
    struct piece rest = piece_of(list ? list : ""), item;
    while (piece_next(&rest, &item))
        if (piece_is(piece_split(&item, "/", &(bool){false}), name))
            return true;
    return false;
}

/* The cell that fails, and the session that it belongs to. */
struct attempt {
    const struct session *session;
    int topology;
    const struct cell *like;
};

/* Whether the cell's kernel fails on problem c, too, by a check in a worker of its own. */
static bool fails(const void *context, struct problem_case *c)
{
    const struct attempt *attempt = context;
    const struct cell *like = attempt->like;
    char why[160];
    struct cell cell;
    if (process_interrupted() || !like->kernel ||
        select_refusal(like->kernel, &c->problem, MESSAGE(why)))
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
    const bool failed = rounds_run(&rounds) == SESSION_DONE && cell_state_is_bad(cell.state);
    cell_free(&rounds.twin);
    cell_free(&cell);
    return failed;
}

void run_tell_case(const struct session *session, int topology, const struct cell *cells,
                   size_t count, size_t *simplified)
{
    const struct cell *bad = NULL;
    for (size_t i = 0; !bad && i < count; i++)
        bad = cells[i].row && cell_state_is_bad(cells[i].state) ? &cells[i] : NULL;
    const bool drawn = session_drew(session, cells[0].c);
    if (!drawn || bad)
        report_case(cells, count);
    const char *kernels = session->options->kernel; /* name what `best` is if it has rivals */
    if (!drawn && is_named(kernels, SELECT_BEST) && strchr(kernels, ','))
        report_case_best(cells, count);
    if (drawn && bad && (*simplified)++ < MOST_SIMPLIFIED) {
        const struct attempt attempt = {session, topology, bad};
        const struct problem_case simplest = draw_simplest(bad->c, fails, &attempt, MOST_TRIES);
        report_absent_simplest(bad, &simplest);
    }
}

/* Whether a cell's kernel has the name, or is the library's choice if the name is `best`. */
static bool is_of(const struct cell *cell, const char *name)
{
    return strcmp(cell->kernel_name, name) == 0 || (strcmp(name, SELECT_BEST) == 0 && cell->chosen);
}

bool run_tell_missing(const struct session *session)
{
    bool any = false;
    for (size_t i = 0; i < session->cell_count; i++) {
        const struct cell *cell = &session->cells[i];
        bool computed = !is_named(session->options->kernel, cell->kernel_name);
        bool said = false;
        for (size_t k = 0; k < session->cell_count; k++)
            if (is_of(&session->cells[k], cell->kernel_name)) {
                computed = computed || !report_absent_all(&session->cells[k], 1);
                said = said || k < i;
            }
        if (!computed && !said)
            progress_say("nothing of %s was %s: %s", cell->kernel_name,
                         session->options->command == COMMAND_CHECK ? "checked" : "measured",
                         cell->why);
        any = any || !computed;
    }
    return any;
}
