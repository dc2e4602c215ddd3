/*
 * program_request: requests, answers and environment of docs/protocol.md; for program*.c only.
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

/* Parses an answer and its state: CELL_OK, CELL_UNSUPPORTED, CELL_UNAVAILABLE or CELL_FAILED.  NULL fills
 * why: the line is no answer. */
json_t *program_request_answer(const char *line, enum cell_state *state, char *why,
                               size_t why_size);

/* Environment variables, which the program's libraries read before their first thread starts. */
struct program_environment {
    char text[8][64], places[8192];
    const char *variables[24];
};

/* `bound`: OpenMP binds one thread to each CPU; other threads have the process's mask. */
void program_request_environment(struct program_environment *e, const int *cpus, size_t cpu_count,
                                 int threads, bool bound);

/* ---- additional numbers of a program, "extra" of its answers --------------------------------- */

#define PROGRAM_EXTRAS 32
#define PROGRAM_NAME 32 /* bytes of a name */

struct program_extras {
    struct program_extra {
        char name[PROGRAM_NAME];
        double sum, calls; /* sum weighted by calls; calls */
    } item[PROGRAM_EXTRAS];
    size_t count;
};

/* Adds the numbers in "extra" of an answer to a request of so many calls.  Returns the name of one that is no
 * number or one too many; NULL: all were added. */
const char *program_extras_add(struct program_extras *extras, json_t *extra, double calls);

/* An object with each number's mean over calls; NULL if there are none. */
json_t *program_extras_means(const struct program_extras *extras);

#endif
