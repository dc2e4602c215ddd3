/*
 * float_env: a thread's floating-point environment: rounding, treatment of subnormal numbers, masked
 * exceptions.
 *
 * A kernel may change it during a call, but must restore it for later code.  Exception flags do not belong to
 * it.
 */
#pragma once

#include <stdbool.h>

#define FLOAT_ENV_TEXT 160

/* Whether the calling thread's environment differs from a new program's; text: how, "flush-to-zero set,
 * rounding upward". */
bool float_env_changed(char text[FLOAT_ENV_TEXT]);

/* Resets the calling thread's environment to that of a new program. */
void float_env_reset(void);
