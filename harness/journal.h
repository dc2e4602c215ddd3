/*
 * journal: the results file, JSON Lines, one finished cell a line, on disk when written.
 */
#ifndef HARNESS_JOURNAL_H
#define HARNESS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#define JOURNAL_SCHEMA "attnbench.results/1"

struct journal;

/* A new file (refused where one exists with content), or one to go on with.  A line that a killed
 * run left unfinished is cut off, and said in message. */
struct journal *journal_create(const char *path, char *message, size_t message_size);
struct journal *journal_resume(const char *path, char *message, size_t message_size);

/* Appends one line and flushes it to disk; steals the reference.  False on a full disk or I/O
 * error, with the file still ending in a whole line. */
bool journal_write(struct journal *journal, json_t *line, char *message, size_t message_size);

/* Finished cells of a resumed file, by identity; NULL where there is none. */
const json_t *journal_find(const struct journal *journal, const char *identity);

void journal_close(struct journal *journal);

/* kernel, isa, problem, input, threads, placement, cache, plug-in digest as one string. */
void journal_identity(const json_t *cell, char *text, size_t size);

#endif
