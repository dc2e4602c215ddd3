/*
 * drawn: simplifies a drawn problem on which a kernel fails.
 */
#ifndef HARNESS_COMMANDS_DRAWN_H
#define HARNESS_COMMANDS_DRAWN_H

#include "session/session.h"

/* Whether the cell's problem was drawn. */
bool drawn_is(const struct session *session, const struct cell *cell);

/* A problem on which the cell's kernel still fails, and which no known simplification makes simpler;
 * every attempt is a check in a worker of its own. */
struct problem_case drawn_simplest(const struct session *session, int topology,
                                   const struct cell *failed);

#endif
