/*
 * program_clock: times a program's calls by the program's clock, and audits that clock by ours: functions of
 * in_program_backend (backend.h).
 */
#pragma once

#include "check/check.h"
#include "program_copy.h"

/* Copies the sets to the program.  From here on the program is stopped between requests, so that it does not
 * disturb what this process measures. */
void program_clock_begin(struct worker *worker, const struct attn_plan *plan,
                         struct tensor_set *sets, size_t count);

/* The copy that computes, NULL before. */
struct program_copy *program_clock_copy(void);

/* The shortest sample, in seconds, beside which round trips, copies and thread wake-ups are negligible. */
double program_clock_least_sample_s(void);

/* An absurd time ends the launch. */
double program_clock_timed(void *context, size_t first, size_t calls);
void program_clock_call(size_t set);

/* A request without calls lets the program renew its own copies. */
void program_clock_renew(size_t first, size_t count);

/* Audits the clock, and checks single calls with the operands of other sets, whose errors go into *checked. */
void program_clock_judge(size_t calls, double per_call_s, struct check_result *checked);
