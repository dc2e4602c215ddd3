/*
 * measured: steps that are measured as `attnbench run` measures.
 *
 * A step is a selection of that command and what its rows are to be known by:
 *
 *     {"problem": TEXT [input=TEXT], "kernels": LIST, "teams": LIST, "launches": N, "seed": N, ...}
 *
 * Its cells are checked, then launched in shuffled rounds, a worker process each time, until their
 * intervals are narrow or there have been N launches.
 */
#ifndef HARNESS_EXPERIMENTS_MEASURED_H
#define HARNESS_EXPERIMENTS_MEASURED_H

#include "experiment.h"
#include "session/rounds.h"

/* What to do beside another session, and what happens on the way; both may be slow, no worker runs. */
struct measured_events {
    enum if_busy if_busy;
    void *context;
    /* A worker is about to begin. */
    void (*launching)(void *context, const char *what);
    /* A cell is finished: its row, to be taken over.  False stops everything. */
    bool (*row)(void *context, json_t *row);
};

/* A row per cell: the step's other parameters with the cell's kernel, isa, threads, problem and
 * input; its time and its rates.  ROUNDS_STOPPED fills message, or was asked for by an event. */
enum rounds_end measured_run(const json_t *step, const struct measured_events *events,
                             char *message, size_t message_size);

/* Whether a row has a time, or at least did not go wrong: unsupported and unavailable are no faults. */
bool measured_went_well(const json_t *row);

/* Refuses a list of kernels of which there is none. */
bool measured_kernels(const char *list, char *message, size_t message_size);

#endif
