/*
 * resume: continues a results file's session.
 */
#pragma once

#include "results/journal.h"
#include "session.h"

/* Parses the arguments of the file's session, then those given now, into options.  *command becomes the list
 * of both, owned by the caller; the options' strings point into it.  False fills message. */
bool resume_options(const struct journal *journal, struct options *options, json_t **command,
                    struct message message);

/* Whether the file was written on this machine; false fills message. */
bool resume_same_machine(const struct journal *journal, const struct session *session,
                         struct message message);

/* Fills the cells from the file, with their rows, or else their launches so far.  True: another build wrote
 * it, so that its launches do not count. */
bool resume_cells(const struct journal *journal, struct session *session);
