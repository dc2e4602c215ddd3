/*
 * record: a session's journal and the session's end, for every command that runs one.
 */
#pragma once

#include "results/journal.h"
#include "session.h"

/* Where a session's time went; the rest is the harness's overhead. */
struct record_time {
    double preparing_s; /* operands, references, kernels' one-off work */
    double checking_s;
    double timing_s;  /* warming up and sampling; steps of an experiment */
    double probing_s; /* measuring ceilings */
};

struct record {
    struct journal *journal; /* NULL without --output */
    bool shown;              /* the journal's lines may appear on the live display's terminal */
    double started;          /* clock_now() */
    struct record_time time;
    char message[1024]; /* the last error */
};

/* Opens the report for the session's options. */
void record_init(struct record *record, const struct options *options);

/* Creates the file of --output, if any.  False fills the message. */
bool record_create(struct record *record, const struct options *options, enum journal_over over);

/* Writes the session's first line.  `command`: the arguments; `alone`: no other session measures on this
 * machine.  False fills the message. */
bool record_begin(struct record *record, const struct session *session, json_t *command,
                  bool alone);

/* Writes a line, which is stolen, if there is a journal; without one only lack of memory is an error.  `to_disk`:
 * waits until it is there, as for lines that no later row repeats.  False fills the message. */
bool record_write(struct record *record, json_t *line, bool to_disk);

/* The sum of the workers' times. */
double record_worked_s(const struct record *record);

/* The exit code for a cell's state. */
int record_code(enum cell_state state);

/* The worse of two exit codes: EXIT_KERNEL, else one that is not EXIT_AS_ASKED. */
int record_worse(int a, int b);

/* Writes the last line unless the session was stopped, and prints errors.  Returns the line, owned by the
 * caller; *code becomes the session's exit code. */
json_t *record_end(struct record *record, enum session_end end, int *code);
