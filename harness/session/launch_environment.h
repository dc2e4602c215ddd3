/*
 * launch_environment: what a worker's runtimes read before its main() runs.
 */
#ifndef HARNESS_SESSION_LAUNCH_ENVIRONMENT_H
#define HARNESS_SESSION_LAUNCH_ENVIRONMENT_H

#include "base/shell_words.h"
#include "protocol.h"

#define LAUNCH_LIBRARY 8 /* variables of a library, at most */

struct launch_environment {
    char threads[32];
    char library[LAUNCH_LIBRARY][96];
    const char *variables[LAUNCH_LIBRARY + 16 + SHELL_WORDS_MOST]; /* NULL behind the last */
};

/* The variables of the request's setting count, whatever else they would be set to. */
void launch_environment(const struct protocol_request *request, struct launch_environment *e);

#endif
