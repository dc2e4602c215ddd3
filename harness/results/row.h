/*
 * row: the result line of a cell from the records of its launches.
 */
#ifndef HARNESS_RESULTS_ROW_H
#define HARNESS_RESULTS_ROW_H

#include "cell.h"

/* Computes cell->row, for the journal and the tables, from the launches; an ok cell that is faster than
 * its ceiling becomes implausible.  `command` is for the repro line. */
bool row_finish(struct cell *cell, const char *command, uint64_t seed);

#endif
