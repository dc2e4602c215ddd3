/*
 * child: a test program that calls itself with the name of what its child shall try.
 *
 * Included after cmocka.h.
 */
#pragma once

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system/process.h"

/* ---- in the child ---------------------------------------------------------------------------- */

struct child_try {
    const char *name;
    int (*run)(void); /* the exit status */
};

/* Begins as a worker does, with the request: a child that ended before would break the pipe. */
static inline int child_try(const char *name, const struct child_try *tries, size_t count)
{
    for (char c = 0; c != '\n';)
        if (read(PROCESS_REQUEST_FD, &c, 1) != 1)
            return 1;
    for (size_t n = 0; n < count; n++)
        if (strcmp(name, tries[n].name) == 0)
            return tries[n].run();
    return 1;
}

__attribute__((format(printf, 1, 2))) static inline int answer(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vdprintf(PROCESS_ANSWER_FD, format, arguments);
    va_end(arguments);
    return dprintf(PROCESS_ANSWER_FD, "\n") == 1 ? 0 : 1;
}

/* ---- in the parent --------------------------------------------------------------------------- */

/* With a deadline, in seconds. */
static inline struct process_outcome run_for(const char *name, double deadline_s,
                                             struct process_spec spec)
{
    const char *const arguments[] = {name, NULL};
    spec.arguments = arguments;
    spec.capture = true;
    return process_run(&spec, "{}", deadline_s);
}

static inline struct process_outcome run(const char *name, struct process_spec spec)
{
    return run_for(name, 60, spec);
}

static inline void release(struct process_outcome *outcome)
{
    free(outcome->answer);
    free(outcome->printed);
}

static inline void assert_answers(const char *name, struct process_spec spec, const char *expected)
{
    struct process_outcome outcome = run(name, spec);
    assert_int_equal(outcome.end, PROCESS_ANSWERED);
    assert_string_equal(outcome.answer, expected);
    release(&outcome);
}
