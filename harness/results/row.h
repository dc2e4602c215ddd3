/*
 * row: the row that sums up a finished cell.
 */
#pragma once

#include "cell.h"

/* Computes cell->row, for the journal and the tables; an ok cell that is faster than its ceiling becomes
 * implausible.  `command`: attnbench's command in the repro line. */
bool row_finish(struct cell *cell, const char *command, uint64_t seed);
