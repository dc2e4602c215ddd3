/*
 * journal: the results file, JSON Lines, one finished cell a line, on disk when written.
 *
 * Lines are of type session, check, launch, cell, experiment, noise and end (results/schema.json).  A
 * launch line is written as soon as the launch is over, so that a killed session loses only the
 * launch in flight; the cell line sums a cell's launches up.
 */
#ifndef HARNESS_RESULTS_JOURNAL_H
#define HARNESS_RESULTS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#define JOURNAL_SCHEMA "attnbench.results/1"

struct journal;

/* Policy for an existing file with content: refuse it, with the remedies of a session or of an
 * experiment, or replace it. */
enum journal_over { JOURNAL_RESUMABLE, JOURNAL_ONCE, JOURNAL_REPLACE };

/* Opens a new file ("-" is standard output), or one to resume.  An unfinished line of a killed session is
 * cut off and reported in message, which is empty otherwise. NULL fills message. */
struct journal *journal_create(const char *path, enum journal_over over, char *message,
                               size_t message_size);
struct journal *journal_resume(const char *path, char *message, size_t message_size);

/* Appends one line and steals the reference.  `to_disk` waits until the disk holds it; a line written
 * without may be lost if the power fails before the next one written with it.  False on a full disk or I/O
 * error, with the file still ending in a whole line. */
bool journal_write(struct journal *journal, json_t *line, bool to_disk, char *message,
                   size_t message_size);

/* From a resumed file: its last session line; the last row of a cell, NULL where there is none; its check
 * and its launches since the build last changed, NULL where there are none. */
const json_t *journal_session(const struct journal *journal);
const json_t *journal_find(const struct journal *journal, const char *identity);
/* The last row of the same variant on another number of threads that failed, crashed or timed out. */
const json_t *journal_find_wrong(const struct journal *journal, const json_t *cell);
json_t *journal_check(const struct journal *journal, const char *identity);
json_t *journal_launches(const struct journal *journal, const char *identity);

void journal_close(struct journal *journal);

/* The fields that tell two cells apart, from kernel to environment, as one string. */
#define JOURNAL_IDENTITY 3072
void journal_identity(const json_t *cell, char *text, size_t size);

#endif
