/*
 * drawn: simplifications, one after the other, as long as the kernel fails.
 */
#include "drawn.h"

#include <math.h>
#include <string.h>

#include "problem/draw.h"
#include "problem/select.h"
#include "session/rounds.h"
#include "system/process.h"

#define MOST_TRIES 60 /* some hundredths of a second each */

bool drawn_is(const struct session *session, const struct cell *cell)
{
    const struct problem_case *items = session->cases.items;
    return cell->c >= items + session->first_drawn && cell->c < items + session->cases.count;
}

/* ---- one attempt ----------------------------------------------------------------------------- */

static void launching(void *context, const struct cell *cell, const char *what)
{
    (void)context, (void)cell, (void)what;
}

static bool launched(void *context, json_t *record)
{
    (void)context;
    json_decref(record);
    return true;
}

static bool finished(void *context, struct cell *cell)
{
    (void)context, (void)cell;
    return true;
}

/* Whether the kernel of a cell fails on another problem, too. */
static bool fails(const struct session *session, int topology, const struct cell *like,
                  const struct problem_case *c)
{
    static const struct rounds_events events = {NULL, launching, launched, finished};
    char why[160];
    struct cell cell;
    if (!like->kernel || select_refusal(like->kernel, &c->problem, why, sizeof why))
        return false;
    cell_init(&cell, c, like->kernel_name, like->isa);
    cell.kernel = like->kernel;
    cell.guest = like->guest;
    cell.threads = like->threads;
    cell.ranks = like->ranks;
    cell.hostfile = like->hostfile;
    cell.placement = like->placement;
    cell.memory = like->memory;
    struct rounds rounds = {.session = session,
                            .events = &events,
                            .action = PROTOCOL_CHECK,
                            .own_input = true,
                            .command = "check",
                            .topology = topology,
                            .cells = &cell,
                            .count = 1,
                            .until = INFINITY,
                            .outputs = -1};
    const bool failed = rounds_run(&rounds) == ROUNDS_DONE && cell_state_is_bad(cell.state);
    cell_free(&rounds.twin);
    cell_free(&cell);
    return failed;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* The next simpler problem with its input; false where number n does not make it simpler. */
static bool simpler(struct problem_case *c, size_t n)
{
    const struct attn_problem before = c->problem;
    char texts[2][PARSE_TEXT];
    const char *why;
    draw_simplify(&c->problem, n);
    if (!attn_problem_valid(&c->problem, &why))
        return false;
    parse_fit_input(&c->input, &c->problem);
    parse_print_problem(&before, texts[0]);
    parse_print_problem(&c->problem, texts[1]);
    return strcmp(texts[0], texts[1]) != 0;
}

struct problem_case drawn_simplest(const struct session *session, int topology,
                                   const struct cell *failed)
{
    struct problem_case simplest = *failed->c, next = simplest;
    struct attn_problem scratch = simplest.problem;
    size_t tries = 0;
    for (bool any = true; any && tries < MOST_TRIES;) {
        any = false;
        for (size_t n = 0; draw_simplify(&scratch, n) && tries < MOST_TRIES; next = simplest) {
            const bool found = simpler(&next, n) && ++tries && !process_interrupted() &&
                               fails(session, topology, failed, &next);
            if (found)
                simplest = next;
            n += !found;
            any = any || found;
            scratch = simplest.problem;
        }
    }
    return simplest;
}
