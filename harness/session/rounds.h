/*
 * rounds: launches the cells of a case, round by round, in shuffled order.
 */
#pragma once

#include "launch.h"
#include "problem/tensors.h"
#include "record.h"
#include "system/memory_log.h"

struct rounds {
    const struct session *session;
    /* Gets launches and rows, which are shown, too; NULL, where cells are only checked: nobody does. */
    struct record *record;
    double needed_s;             /* of the session, for what is shown */
    enum protocol_action action; /* PROTOCOL_MEASURE or PROTOCOL_CHECK */
    bool own_input;              /* check on the case's own input alone */
    const char *command;         /* for repro lines */
    int topology;                /* descriptor of the topology's XML; -1: none */
    struct cell *cells;          /* of one case */
    size_t count;
    double until;      /* clock_now() to end at; checks that do not count put it off */
    double put_off_s;  /* out: for how many seconds they have */
    double deadline_s; /* of a launch; set by rounds_run() */
    struct cell twin;  /* launched beside cell twin_of; its .c is NULL without one */
    size_t twin_of;
    int outputs;                  /* PROTOCOL_CHECK: memory file of every cell's O, else -1 */
    struct memory_log reference;  /* of the case, for checks: rows that they look up */
    struct tensors_file operands; /* of the case; rounds_run() fills and releases it */
};

/* Launches workers until every cell is done. */
enum session_end rounds_run(struct rounds *rounds);

/* The noise measured by the twin, as a journal line; NULL if there was no twin. */
json_t *rounds_twin_noise(const struct rounds *rounds);
