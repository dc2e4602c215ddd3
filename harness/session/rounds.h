/*
 * rounds: launches the cells of a case, round by round, in shuffled order.
 */
#ifndef HARNESS_SESSION_ROUNDS_H
#define HARNESS_SESSION_ROUNDS_H

#include "launch.h"
#include "problem/tensors.h"
#include "session.h"

/* Callbacks on launches and finished cells; they may be slow, as no worker runs meanwhile. */
struct rounds_events {
    void *context;
    /* A worker is about to start; what: "launch 3".  cell NULL: for all cells of the case. */
    void (*launching)(void *context, const struct cell *cell, const char *what);
    /* A launch or a check is over; false stops everything (the journal cannot be written). */
    bool (*launched)(void *context, json_t *record);
    /* A cell has its row; false stops everything. */
    bool (*finished)(void *context, struct cell *cell);
};

struct rounds {
    const struct session *session;
    const struct rounds_events *events; /* may be NULL */
    enum protocol_action action;        /* PROTOCOL_MEASURE or PROTOCOL_CHECK */
    bool own_input;                     /* check on the case's own input alone */
    const char *command;                /* for repro lines */
    int topology;                       /* descriptor of the topology's XML; -1: none */
    struct cell *cells;                 /* of one case */
    size_t count;
    double until;             /* clock_now() to end at; checks that do not count put it off */
    double put_off_s;         /* out: by so many seconds */
    double deadline_s;        /* of a launch; set by rounds_run() */
    struct session_time time; /* out: where the workers' time went */
    struct cell twin;         /* launched beside cell twin_of; its .c is NULL without one */
    size_t twin_of;
    int outputs;                  /* PROTOCOL_CHECK: memory file of every cell's O, else -1 */
    struct tensors_file operands; /* of the case; rounds_run() fills and releases it */
};

enum rounds_end { ROUNDS_DONE, ROUNDS_INTERRUPTED, ROUNDS_STOPPED };

/* Launches workers until every cell is done. */
enum rounds_end rounds_run(struct rounds *rounds);

/* The noise measured by the twin, as a journal line; NULL if there was no twin. */
json_t *rounds_noise(const struct rounds *rounds);

#endif
