/*
 * progress: progress on standard error: live on a terminal, plain lines otherwise.
 *
 * Nothing is written while a worker measures: the live display is drawn before it starts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Columns and lines of the terminal; false where there is no live display: standard error is not a
 * terminal, or a dumb one, or this process runs in its background, where other programs write. */
bool progress_room(size_t *columns, size_t *lines);

/* Replaces the live display: `lines`, each ending in \n, or ""; below them the share of the session that
 * is done, in [0, 1], the seconds left (negative: by how much the session is late), and what comes next.
 * Lines wider than the terminal are cut; the caller passes fewer lines than the terminal has. */
void progress_show(const char *lines, double share, double left_s, const char *what);

/* Prints one line for something finished, unless a live display shows it. */
__attribute__((format(printf, 1, 2))) void progress_line(const char *format, ...);

/* Prints a message, with the program's name in front, in any case. */
__attribute__((format(printf, 1, 2))) void progress_say(const char *format, ...);

/* Removes the live display; call it before anything else is written to the terminal. */
void progress_clear(void);
