/*
 * journal: the results file, JSON Lines (results/schema.json).
 *
 * Lines are of type session, check, launch, cell, experiment, noise and end.  A launch line is written as
 * soon as the launch ends, so that a killed session loses only the current launch; a cell line sums up its
 * launches.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/message.h"

#define JOURNAL_SCHEMA "attnbench.results/1"

struct journal;

/* What to do with an existing file that is not empty: refuse it, with advice for a session (RESUMABLE) or an
 * experiment (ONCE), or replace it. */
enum journal_over { JOURNAL_RESUMABLE, JOURNAL_ONCE, JOURNAL_REPLACE };

/* Open a new file ("-": standard output), or one to resume, whose unfinished last line is cut off and
 * reported in message, else empty.  NULL fills message. */
struct journal *journal_create(const char *path, enum journal_over over, struct message message);
struct journal *journal_resume(const char *path, struct message message);

/* Appends a line, which is stolen.  `to_disk` waits until this and all earlier lines are on disk.  False on a
 * full disk or an I/O error; the file still ends in a whole line. */
bool journal_write(struct journal *journal, json_t *line, bool to_disk, struct message message);

/* From a resumed file: its last session line; the last row of a cell ("cell"), or its "check" or the array of its
 * launches ("launch") since the build last changed.  NULL if there is none. */
const json_t *journal_session(const struct journal *journal);
json_t *journal_find(const struct journal *journal, const char *type, const char *identity);
/* The last row in which the cell's variant failed, crashed or timed out on another number of threads. */
const json_t *journal_find_wrong(const struct journal *journal, const json_t *cell);

void journal_close(struct journal *journal);

/* The fields that tell two cells apart, from kernel to environment, as one string. */
#define JOURNAL_IDENTITY 3072
void journal_identity(const json_t *cell, char text[JOURNAL_IDENTITY]);
