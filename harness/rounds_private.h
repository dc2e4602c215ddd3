/*
 * rounds_private: between rounds.c and rounds_turn.c.
 */
#ifndef HARNESS_ROUNDS_PRIVATE_H
#define HARNESS_ROUNDS_PRIVATE_H

#include "rounds.h"

/* Launches cell number `index` once, again where it was disturbed, and takes the record in. */
enum rounds_end rounds_turn(struct rounds *rounds, const struct protocol_request *base,
                            size_t index, size_t round);

/* Writes the row of a cell that is done; false where the journal failed. */
bool rounds_finish(struct rounds *rounds, struct cell *cell);

#endif
