/*
 * listing: rows of results as a table.
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_LISTING_H
#define HARNESS_EXPERIMENTS_SHARED_LISTING_H

#include <jansson.h>

/* Prints the rows that have these parameters or values (experiment.h), every row where that is NULL, under a heading: a
 * column for each key, a space between, of their values or parameters.  Where the table is too wide, columns whose keys
 * end in a question mark are left out and named below it, and texts of the first column become lines above their rows.
 * Nothing is printed without rows. */
void listing_print(const json_t *rows, const char *where, const char *keys, const char *heading);

#endif
