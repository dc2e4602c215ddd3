/*
 * progress: what is going on, on standard error; live on a terminal, plain lines otherwise.
 *
 * Nothing is written while a worker measures: the line is drawn before it starts.
 */
#ifndef HARNESS_BASE_PROGRESS_H
#define HARNESS_BASE_PROGRESS_H

#include <stdbool.h>

/* The live line: share of the session in [0, 1], seconds left, what comes next.  Only on a
 * terminal. */
void progress_show(double share, double left_s, const char *what);

/* One line for something finished; not on a terminal, where the live line says it. */
__attribute__((format(printf, 1, 2))) void progress_line(const char *format, ...);

/* A message that is always shown, with the program's name. */
__attribute__((format(printf, 1, 2))) void progress_say(const char *format, ...);

/* Takes the live line away, before anything else is written to the terminal. */
void progress_clear(void);

#endif
