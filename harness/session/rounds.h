/*
 * rounds: the launches of one case, its cells in shuffled order round by round.
 */
#ifndef HARNESS_SESSION_ROUNDS_H
#define HARNESS_SESSION_ROUNDS_H

#include "launch.h"
#include "problem/tensors.h"
#include "session.h"

/* Callbacks on launches and finished cells; they may be slow, as no worker runs meanwhile. */
struct rounds_events {
    void *context;
    /* A worker is about to begin; `what` it does, "launch 3".  NULL: for all cells of the case. */
    void (*launching)(void *context, const struct cell *cell, const char *what);
    /* A launch or a check is over; false stops everything (the journal cannot be written). */
    bool (*launched)(void *context, json_t *record);
    /* A cell has its row; false stops everything. */
    bool (*finished)(void *context, struct cell *cell);
};

struct rounds {
    const struct session *session;
    const struct rounds_events *events; /* NULL: nobody is told */
    enum protocol_action action;        /* PROTOCOL_MEASURE or PROTOCOL_CHECK */
    bool own_input;                     /* checks make up no other input */
    const char *command;                /* for repro lines */
    int topology;                       /* descriptor of the XML, -1 where there is none */
    struct cell *cells;                 /* of one case */
    size_t count;
    double until;             /* clock_now() to aim for; put off by checks that do not count */
    double put_off_s;         /* out: by how much */
    double deadline_s;        /* of a launch; set by rounds_run() */
    struct session_time time; /* out: where the workers' time went */
    struct cell twin;         /* launched beside cell twin_of; its .c is NULL without one */
    size_t twin_of;
    int outputs;                  /* PROTOCOL_CHECK: memory file of every cell's O, else -1 */
    struct tensors_file operands; /* of the case; rounds_run() fills and releases it */
};

enum rounds_end { ROUNDS_DONE, ROUNDS_INTERRUPTED, ROUNDS_STOPPED };

/* Launches until every cell is done. */
enum rounds_end rounds_run(struct rounds *rounds);

/* The noise that the twin has shown, a line for the journal; NULL where there was no twin. */
json_t *rounds_noise(const struct rounds *rounds);

#endif
