/*
 * rounds_private: what rounds.c and the files rounds_*.c share.
 */
#ifndef HARNESS_SESSION_ROUNDS_PRIVATE_H
#define HARNESS_SESSION_ROUNDS_PRIVATE_H

#include "rounds.h"

#define ROUNDS_WARM_SETS 2 /* of operands, where caches stay warm */

/* Cell number `index`; the twin is number rounds->count. */
static inline struct cell *rounds_cell(struct rounds *rounds, size_t index)
{
    return index < rounds->count ? &rounds->cells[index] : &rounds->twin;
}

/* Chooses the core type of the BLAS library by timing, one for each instruction set of the cells that
 * call it. */
enum rounds_end rounds_choose_cores(struct rounds *rounds, const struct protocol_request *base);

/* The type chosen; NULL where none. */
static inline const char *rounds_core(const struct cell *cell)
{
    return json_string_value(json_object_get(cell->blas, "core"));
}

/* Stores the cell's kernel, the core type of its BLAS library, and its setting in a request. */
void rounds_name(const struct cell *cell, struct protocol_request *request);

/* A worker's deadline for a request, in seconds: longer where a program has a library to load. */
double rounds_deadline(const struct rounds *rounds, const struct protocol_request *request);

/* Launches a worker with the operands at the shift that the request has, and adds up how its time was
 * spent. */
struct launch rounds_launch(struct rounds *rounds, const struct protocol_request *request,
                            double deadline_s);

/* Keeps for the cell's row what its worker printed and which limit it had. */
void rounds_keep_log(struct cell *cell, const struct launch *launch);

/* Checks every cell that is not done and has not been checked, all thread counts of its variant
 * together; ends those that fail, and in `attnbench check` those that pass too. */
enum rounds_end rounds_judge(struct rounds *rounds, const struct protocol_request *base);

/* Launches cell number `index` once, and again where it was disturbed, and keeps the record; index
 * rounds->count is the twin. */
enum rounds_end rounds_turn(struct rounds *rounds, const struct protocol_request *base,
                            size_t index, size_t round);

/* After a round: ends the cells that are finished; false where the journal failed. */
bool rounds_settle(struct rounds *rounds);

/* Picks the cell that is launched twice a round; false where no cell is fit for it. */
bool rounds_pick_twin(struct rounds *rounds);

/* Whether the cell itself is wrong, and not only its variant on another number of threads. */
bool rounds_is_wrong(const struct cell *cell);

/* Fails the other thread counts of each variant that is wrong on one, even those that have a row
 * already; false where the journal failed. */
bool rounds_spread(struct rounds *rounds);

/* Calls the events' launching() or launched(), if there are events; false where the journal failed. */
void rounds_say(const struct rounds *rounds, const struct cell *cell, const char *what);
bool rounds_record(const struct rounds *rounds, json_t *record);

/* Writes the row of a cell that is done; false where the journal failed. */
bool rounds_finish(struct rounds *rounds, struct cell *cell);

#endif
