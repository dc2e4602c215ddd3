/*
 * parse_runs: sequences one by one in the text of an input, `2q2k,32q1s4k` or `17,2048,511`.  Internal to
 * parse.
 */
#ifndef HARNESS_PROBLEM_PARSE_RUNS_H
#define HARNESS_PROBLEM_PARSE_RUNS_H

#include "base/scan.h"
#include "parse.h"

#define RUNS_FORM "[N]qQ[sS],..., N sequences of Q queries on S keys"

/* Parse a batch, or a list of keys alone.  False sets *why. */
bool runs_read(struct piece value, struct input *input, const char **why);
bool runs_read_keys(struct piece value, struct input *input, const char **why);

/* Adds `count` sequences of q queries (0: by other clauses) on kv keys.  False sets *why. */
bool runs_add(struct input *input, size_t count, size_t q, size_t kv, const char **why);

/* Prints the sequences, the same text for the same sequences; "" if there are none. */
void runs_print(const struct input *input, char text[PARSE_TEXT]);

/* Why the sequences do not suit a problem; NULL if they do or if there are none. */
const char *runs_misfit(const struct input *input, const struct attn_problem *problem);

/* Replaces the sequences by lengths with the same extremes and mean, for another number of sequences. */
void runs_spread(struct input *input);

#endif
