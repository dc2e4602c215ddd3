/*
 * float_env: how a thread's floating-point unit rounds and what it does with subnormal numbers.
 *
 * A kernel may change it for itself, but must restore it: later code would compute
 * something else.  The flags of exceptions that occurred are no part of it.
 */
#ifndef HARNESS_SYSTEM_FLOAT_ENV_H
#define HARNESS_SYSTEM_FLOAT_ENV_H

#include <stdbool.h>

#define FLOAT_ENV_TEXT 160

/* Whether the calling thread's environment differs from that of a new program; `text` says how:
 * "flush-to-zero set, rounding upward". */
bool float_env_changed(char text[FLOAT_ENV_TEXT]);

/* Resets the calling thread's environment to that of a new program. */
void float_env_reset(void);

#endif
