/*
 * rounds_settle: which cells have enough launches after a round.
 */
#include <stdlib.h>

#include "results/launches.h"
#include "rounds_private.h"

#define DEFAULT_LAUNCHES 24

/* The correlation of neighbouring launches of a cell, estimated from its own and from all cells of the
 * session so far, which ran on the same machine. */
static struct stats_dependence dependence_of(const struct rounds *rounds, const struct cell *cell)
{
    const struct session *session = rounds->session;
    struct stats_dependence own = {0}, all = {0};
    launches_dependence(cell, &own);
    for (size_t i = 0; i < session->cell_count; i++)
        launches_dependence(&session->cells[i], &all);
    if (rounds->twin.c)
        launches_dependence(&rounds->twin, &all);
    return stats_dependence_taken(own, all);
}

/* Whether the cell's partner under the other setting goes on; then this one does, too, so that launches stay
 * paired. */
static bool partner_goes_on(const struct rounds *rounds, const struct cell *cell)
{
    for (size_t i = 0; i < rounds->count; i++)
        if (cell_is_partner(&rounds->cells[i], cell) && !rounds->cells[i].done)
            return rounds->cells[i].stop == STOP_NOT;
    return false;
}

/* Ends the cells that have stopped. */
static void end_stopped(struct rounds *rounds)
{
    for (size_t i = 0; i < rounds->count; i++) {
        struct cell *cell = &rounds->cells[i];
        if (!cell->done && cell->stop != STOP_NOT && !partner_goes_on(rounds, cell))
            cell_end(cell, CELL_OK, "%s", "");
    }
}

bool rounds_settle(struct rounds *rounds)
{
    const size_t asked = rounds->session->options->launches;
    const size_t cap = asked ? asked : DEFAULT_LAUNCHES;
    for (size_t i = 0; i < rounds->count; i++) {
        struct cell *cell = &rounds->cells[i];
        double *medians;
        const struct stats_dependence known = dependence_of(rounds, cell);
        if (!cell->row)
            cell->dependence = stats_dependence_of(&known);
        if (!cell->done) {
            const size_t n = launches_medians(cell, &medians);
            cell->stop = stop_decide(medians, n, cap, &known);
            free(medians);
        }
    }
    end_stopped(rounds);
    for (size_t i = 0; i < rounds->count; i++) {
        struct cell *cell = &rounds->cells[i];
        if (cell->done && !rounds_launch_finish(rounds, cell))
            return false;
    }
    return true;
}
