/*
 * session_needs: time and memory that a session will take, known before it starts.
 */
#ifndef HARNESS_SESSION_SESSION_NEEDS_H
#define HARNESS_SESSION_SESSION_NEEDS_H

#include "session.h"

/* Whether the check of a case counts towards the length of the session: with --seconds, and for layers of
 * models.  Elsewhere checks come on top and do not shorten the launches. */
bool session_counts_checks(const struct session *session, const struct problem_case *c);

/* Seconds for a session without --seconds, without the checks that do not count.  `suite` is the one that its
 * cases are from; NULL: from problems. */
double session_seconds(const struct session *session, const char *suite);

/* Seconds that six launches of a cell may take even where it has had its share of the session; 0 where its
 * check counts. */
double session_allowance(const struct session *session, const struct cell *cell);

/* About how many seconds the checks and one launch of each cell take: no session is shorter. */
struct session_least {
    double checks_s, launches_s;
    double spared_s; /* of checks_s, what does not count towards the length of the session */
    size_t checks;   /* variants of a case that are checked in full */
};
struct session_least session_least(const struct session *session);

/* What is left to do: cells, in how many cases, and about how long they take; bytes that the largest
 * needs. */
struct session_needs {
    size_t cells, cases;
    double seconds, memory_bytes;
};
struct session_needs session_needs(const struct session *session);

/* Bytes that a cell needs, in all processes: its kernel is not NULL. */
double session_cell_bytes(const struct cell *cell);

/* Seconds for the `count` cells from number `first` on, of the `left` seconds for them and all later
 * cells.  Each cell gets what an interval needs, or its max-min fair share if there is too little time;
 * time beyond the needs is shared in proportion to them. */
double session_share(const struct session *session, size_t first, size_t count, double left);

#endif
