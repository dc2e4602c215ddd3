/*
 * experiment_session: an experiment that is a session of `attnbench run`.
 */
#ifndef HARNESS_COMMANDS_EXPERIMENT_SESSION_H
#define HARNESS_COMMANDS_EXPERIMENT_SESSION_H

#include "experiments/experiment.h"

/* Runs it with these arguments behind its name, or prints its page; returns the exit code. */
int experiment_session(const struct experiment *experiment, int argc, const char *const *argv);

#endif
