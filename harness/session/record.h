/*
 * record: what every command that runs a session does with its journal, and how the session ends.
 */
#ifndef HARNESS_SESSION_RECORD_H
#define HARNESS_SESSION_RECORD_H

#include "rounds.h"

struct record {
    struct journal *journal; /* NULL without --output */
    bool shown;              /* its lines may go to the terminal that has the live display */
    double started;          /* clock_now() */
    char message[1024];      /* what went wrong */
};

/* Opens the report for the session's options. */
void record_init(struct record *record, const struct options *options);

/* Creates the file of --output, if any.  False fills the message. */
bool record_create(struct record *record, const struct options *options, enum journal_over over);

/* Writes the session's first line.  False fills the message. */
bool record_begin(struct record *record, const struct session *session, json_t *command,
                  bool alone);

/* Writes a line, or notes what a later row will contain; takes ownership.  False fills the message. */
bool record_write(struct record *record, json_t *line);
bool record_note(struct record *record, json_t *line);

/* The exit code that a cell's state leads to. */
int record_code(enum cell_state state);

/* The worse of two exit codes: EXIT_KERNEL, else one that is not EXIT_AS_ASKED. */
int record_worse(int a, int b);

/* Writes the last line, unless the session was stopped, and says what went wrong.  Returns the line,
 * owned by the caller; *code becomes that of the session. */
json_t *record_end(struct record *record, enum rounds_end end, const struct session_time *time,
                   int *code);

/* Closes report and journal; returns the exit code, which was `code` before. */
int record_close(struct record *record, int code);

#endif
