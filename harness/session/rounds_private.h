/*
 * rounds_private: what rounds.c and the files rounds_*.c share.
 */
#pragma once

#include "rounds.h"

#define ROUNDS_WARM_SETS 2 /* sets of operands if caches stay warm */

/* Cell number `index`; the twin is number rounds->count. */
static inline struct cell *rounds_cell(struct rounds *rounds, size_t index)
{
    return index < rounds->count ? &rounds->cells[index] : &rounds->twin;
}

/* Chooses a core type of the BLAS library by timing, for each instruction set of the cells that call it. */
enum session_end rounds_core_choose(struct rounds *rounds, const struct protocol_request *base);

/* The core type chosen for a cell; NULL: none. */
static inline const char *rounds_core(const struct cell *cell)
{
    return json_string_value(json_object_get(cell->blas, "core"));
}

/* Stores the cell's kernel, its BLAS core type and its setting in a request. */
void rounds_launch_request(const struct cell *cell, struct protocol_request *request);

/* A worker's deadline for a request, in seconds; longer for a program, which loads its library. */
double rounds_launch_deadline(const struct rounds *rounds, const struct protocol_request *request);

/* Launches a worker with the operands at the request's shift, and adds its times to rounds->time. */
struct launch rounds_launch(struct rounds *rounds, const struct protocol_request *request,
                            double deadline_s);

/* Keeps the worker's output and memory limit for the cell's row. */
void rounds_launch_keep_log(struct cell *cell, const struct launch *launch);

/* Checks every unfinished cell without a check, all thread counts of its variant together; ends those that
 * fail, and in `attnbench check` those that pass, too. */
enum session_end rounds_judge(struct rounds *rounds, const struct protocol_request *base);

/* Launches cell number `index`, or the twin, again if the launch was disturbed, and keeps the record. */
enum session_end rounds_turn(struct rounds *rounds, const struct protocol_request *base,
                             size_t index, size_t round);

/* After a round: ends the cells that are finished; false if the journal cannot be written. */
bool rounds_settle(struct rounds *rounds);

/* Picks the cell that gets a twin; false if none is suitable. */
bool rounds_twin_pick(struct rounds *rounds);

/* Whether the cell itself failed, not only its variant on another number of threads. */
bool rounds_judge_is_wrong(const struct cell *cell);

/* Fails all thread counts of each variant that failed on one, even those that already have a row; false if
 * the journal cannot be written. */
bool rounds_judge_spread(struct rounds *rounds);

/* Shows what a worker is about to do, "launch 3", for a cell, or with NULL for all of the case: on the live
 * display or as a progress line. */
void rounds_launch_say(const struct rounds *rounds, const struct cell *cell, const char *what);

/* Makes, writes and shows the row of a cell that is done; false if the journal cannot be written. */
bool rounds_launch_finish(struct rounds *rounds, struct cell *cell);
