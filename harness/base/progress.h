/*
 * progress: progress on standard error: live on a terminal, plain lines otherwise.
 *
 * Nothing is written while a worker measures: the live display is drawn before it starts.
 */
#ifndef HARNESS_BASE_PROGRESS_H
#define HARNESS_BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

/* Columns and lines of the terminal; false where nothing is live: in a pipe, on a dumb terminal, or
 * in the background of one, where others write. */
bool progress_room(size_t *columns, size_t *lines);

/* Replaces the live display: lines of text, each with its end, or ""; below them the share of the session
 * in [0, 1], the seconds left (negative: how much longer it has taken), and what comes next.  Lines wider
 * than the terminal are cut; the caller sees to it that they are fewer than it has. */
void progress_show(const char *lines, double share, double left_s, const char *what);

/* One line for something finished; nothing where a live display shows it. */
__attribute__((format(printf, 1, 2))) void progress_line(const char *format, ...);

/* A message that is always shown, with the program's name. */
__attribute__((format(printf, 1, 2))) void progress_say(const char *format, ...);

/* Takes the live display away, before anything else is written to the terminal. */
void progress_clear(void);

#endif
