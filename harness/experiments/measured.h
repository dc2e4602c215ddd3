/*
 * measured: steps that are measured as `attnbench run` measures.
 *
 * A step is a selection of cells, as that command takes it, and parameters that identify its rows:
 *
 *     {"problem": TEXT [input=TEXT], "kernels": LIST, "teams": LIST, "launches": N, "seed": N, ...}
 *
 * Optional: "unbound": true leaves threads unbound, so that there may be more than cores; "check": "own"
 * checks each kernel on the problem's own input only.
 *
 * Its cells are checked, then launched in shuffled rounds, a worker process each time, until their
 * intervals are narrow or there have been N launches.
 */
#ifndef HARNESS_EXPERIMENTS_MEASURED_H
#define HARNESS_EXPERIMENTS_MEASURED_H

#include "experiment.h"
#include "session/rounds.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* of rows without their last fields */

/* A parameter of each such experiment: a full check takes a second per kernel, and --quick should take
 * seconds. */
#define MEASURED_CHECK                                                                         \
    {                                                                                          \
        "check", "HOW", "full", "own",                                                         \
            "of each kernel before it is timed: full, or on its own input", OPTION_WORD, 0, 0, \
            measured_checks                                                                    \
    }
extern const char *const measured_checks[];

/* What to do while another session measures, and callbacks; no worker runs meanwhile. */
struct measured_events {
    enum if_busy if_busy;
    void *context;
    /* A worker is about to begin. */
    void (*launching)(void *context, const char *what);
    /* A cell is finished; the callee owns its row.  False stops everything. */
    bool (*row)(void *context, json_t *row);
};

/* A row per cell: the step's other parameters with the cell's kernel, isa, threads, problem and
 * input; its time and its rates.  ROUNDS_STOPPED fills message, or follows a callback's false. */
enum rounds_end measured_run(const json_t *step, const struct measured_events *events,
                             char *message, size_t message_size);

/* Whether a row has a time, or is unsupported or unavailable, which are not failures. */
bool measured_went_well(const json_t *row);

/* Whether a list of kernels is valid; false fills message. */
bool measured_kernels(const char *list, char *message, size_t message_size);

#endif
