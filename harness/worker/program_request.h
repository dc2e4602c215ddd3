/*
 * program_request: the words of docs/protocol.md: requests, answers, environment; for program*.c only.
 */
#ifndef HARNESS_WORKER_PROGRAM_REQUEST_H
#define HARNESS_WORKER_PROGRAM_REQUEST_H

#include <jansson.h>

#include "attention.h"
#include "results/cell.h"

/* {"protocol":1, "action":...}; the caller adds the rest. */
json_t *program_request_plain(const char *action);

struct program_request_problem {
    const char *kernel;
    enum attn_isa isa;
    const struct attn_problem *problem;
    const char *text; /* of the problem */
    int threads;
    const int *cpus;
    size_t cpu_count, sets;
};
json_t *program_request_prepare(const struct program_request_problem *what);

/* An answer in a line, and its state: CELL_OK, CELL_UNSUPPORTED, CELL_UNAVAILABLE or CELL_FAILED.  NULL
 * fills why: it is no answer. */
json_t *program_request_answer(const char *line, enum cell_state *state, char *why,
                               size_t why_size);

/* What the program's libraries read before their first thread starts. */
struct program_environment {
    char text[8][64], places[8192];
    const char *variables[24];
};

/* `bound`: OpenMP binds one thread to each CPU; what is not OpenMP has the process's mask. */
void program_request_environment(struct program_environment *e, const int *cpus, size_t cpu_count,
                                 int threads, bool bound);

/* ---- the numbers that a program gives beside its times --------------------------------------- */

#define PROGRAM_EXTRAS 32
#define PROGRAM_NAME 32 /* bytes of a name */

struct program_extras {
    struct program_extra {
        char name[PROGRAM_NAME];
        double sum, calls; /* an answer counts as often as it has calls */
    } item[PROGRAM_EXTRAS];
    size_t count;
};

/* Adds the numbers in "extra" of an answer to so many calls.  Returns the name of one that is no number,
 * or that is one too many; NULL: all were added. */
const char *program_extras_add(struct program_extras *extras, json_t *extra, double calls);

/* An object with the mean of each over the calls; NULL where there are none. */
json_t *program_extras_means(const struct program_extras *extras);

#endif
