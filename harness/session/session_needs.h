/*
 * session_needs: estimates of a session's time and memory, and the division of its time among cells.
 */
#pragma once

#include "session.h"

/* Whether checks of a case count towards the session's length: with --seconds, and for layers of models.
 * Otherwise they prolong the session and do not shorten launches. */
bool session_needs_counts_checks(const struct session *session, const struct problem_case *c);

/* Default length of a session in seconds, without the checks that do not count.  `suite`: where its cases are
 * from; NULL: problems. */
double session_needs_seconds(const struct session *session, const char *suite);

/* Seconds that six launches of a cell may take even beyond its share of the session; 0 if its check
 * counts. */
double session_needs_allowance(const struct session *session, const struct cell *cell);

/* The unfinished cells, the cases that they are in, their estimated time, and the bytes that the largest
 * needs. */
struct session_needs {
    size_t cells, cases;
    double seconds, memory_bytes;
    double checks_s;   /* of all checks */
    double launches_s; /* of one launch of each cell; no session is shorter than both */
    size_t checks;     /* full checks, one for each variant of a case */
};
struct session_needs session_needs(const struct session *session);

/*
 * Estimated seconds to check a variant on a problem of so many useful flops, on all thread counts, besides one
 * launch.  Inputs that a check makes up are small where the problem is large.  Problems of 3e8 to 2e9 flops
 * take 3 to 7 s with CHECK_FULL and 33 to 100 s with CHECK_THOROUGH, one of 1e6 takes 0.5 s with both (Xeon with
 * AMX at half its clock, 2026-11-29, `flash`, one thread).
 */
double session_needs_check_s(double flops, enum check_depth depth);

/* Bytes that a cell needs in all processes; its kernel is not NULL. */
double session_needs_bytes(const struct cell *cell);

/*
 * The max-min fair level: smaller needs are met in full, larger ones get this much each, and together they
 * use up `total`.  If all needs can be met, what is left for the largest after all others.  Sorts the needs.
 * 0 if there are none.
 */
double session_needs_level(double *needs, size_t count, double total);

/* Seconds for `count` cells from number `first` on, out of `left` seconds for them and all later cells.  Each
 * cell gets what an interval needs, or its max-min fair share if time is too short; remaining time is divided
 * in proportion to the needs. */
double session_needs_share(const struct session *session, size_t first, size_t count, double left);
