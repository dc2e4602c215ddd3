/*
 * batch_cases: cases of a problem with the lengths of batches.
 */
#pragma once

#include "cases.h"

/* Appends a case of a problem, which has no lengths, for each batch, with its lengths.  Batches such as
 * `2q2k,32q1s4k:page64` are separated by |.  False fills message. */
bool batch_cases_add(struct case_list *list, const char *problem, const char *batches,
                     struct message message);
