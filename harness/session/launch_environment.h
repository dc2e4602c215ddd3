/*
 * launch_environment: variables that a worker's libraries read before main().
 */
#pragma once

#include "base/shell_words.h"
#include "protocol.h"

#define LAUNCH_LIBRARY 8 /* most variables of a library */

struct launch_environment {
    char threads[32];
    char library[LAUNCH_LIBRARY][96];
    const char *variables[LAUNCH_LIBRARY + 16 + SHELL_WORDS_MOST]; /* NULL behind the last */
};

/* Fills in the variables of a request's worker; those of the request's setting take precedence. */
void launch_environment(const struct protocol_request *request, struct launch_environment *e);
