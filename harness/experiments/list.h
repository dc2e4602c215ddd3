/*
 * list: the calculations of experiments.json, one file or family each.
 */
#ifndef HARNESS_EXPERIMENTS_LIST_H
#define HARNESS_EXPERIMENTS_LIST_H

#include "experiment.h"

#define COMPUTED(identifier, ...) extern const struct calculation calculation_##identifier;
#define TIMED(...)
#include "experiments_list.h"
#undef COMPUTED
#undef TIMED

#endif
