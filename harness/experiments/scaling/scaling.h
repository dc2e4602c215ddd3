/*
 * scaling: the parts of the experiment of that name.
 */
#ifndef HARNESS_EXPERIMENTS_SCALING_SCALING_H
#define HARNESS_EXPERIMENTS_SCALING_SCALING_H

#include <jansson.h>
#include <stdbool.h>

/* Tables and finding. */
bool scaling_report(const json_t *rows);

#endif
