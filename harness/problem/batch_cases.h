/*
 * batch_cases: cases of --problem with --batch: a problem with the lengths of a batch of sequences.
 */
#ifndef HARNESS_PROBLEM_BATCH_CASES_H
#define HARNESS_PROBLEM_BATCH_CASES_H

#include "cases.h"

/* Appends a case for each batch: the problem, which has no lengths, with those of the batch.  Batches such as
 * `2q2k,32q1s4k:page64` are separated by |.  False fills message. */
bool batch_cases_add(struct case_list *list, const char *problem, const char *batches,
                     char *message, size_t message_size);

#endif
