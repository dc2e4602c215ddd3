/*
 * actions: what a worker can be asked for, one file each.
 */
#ifndef HARNESS_WORKER_ACTIONS_H
#define HARNESS_WORKER_ACTIONS_H

#include "answer.h"

void worker_prepare(struct worker *worker);
void worker_check(struct worker *worker);
void worker_measure(struct worker *worker);
void worker_eval(struct worker *worker);
void worker_ceilings(struct worker *worker);
void worker_experiment(struct worker *worker);

#endif
