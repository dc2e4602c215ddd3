/*
 * trace: sequences from a CSV file of requests that a server had.
 */
#ifndef HARNESS_PROBLEM_TRACE_H
#define HARNESS_PROBLEM_TRACE_H

#include "base/scan.h"
#include "parse.h"

/* Reads `prompts:FILE[:N]`, the prompts of the first N requests (32), or `replies:FILE[:N]`, the last token of
 * each reply on all keys before it.  Columns are found by the names that public traces have.  False fills
 * message, with the file's line if one is wrong. */
bool trace_is(struct piece text);
bool trace_read(struct piece text, struct input *input, char *message, size_t message_size);

#endif
