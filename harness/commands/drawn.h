/*
 * drawn: from a drawn problem on which a kernel fails to a simple one.
 */
#ifndef HARNESS_COMMANDS_DRAWN_H
#define HARNESS_COMMANDS_DRAWN_H

#include "session/session.h"

/* Whether the cell's problem was drawn. */
bool drawn_is(const struct session *session, const struct cell *cell);

/* A problem on which the cell's kernel fails, too, and on which no simplification that is known changes
 * that; every attempt is a check in a worker of its own. */
struct problem_case drawn_simplest(const struct session *session, int topology,
                                   const struct cell *failed);

#endif
