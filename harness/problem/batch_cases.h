/*
 * batch_cases: problems with the lengths of a batch of sequences, as --problem and --batch together have them.
 */
#ifndef HARNESS_PROBLEM_BATCH_CASES_H
#define HARNESS_PROBLEM_BATCH_CASES_H

#include "cases.h"

/* Appends a problem that has no lengths with those of each batch, `2q2k,32q1s4k:page64` and the like, between
 * them a |.  False fills message. */
bool batch_cases_add(struct case_list *list, const char *problem, const char *batches,
                     char *message, size_t message_size);

#endif
