/*
 * parse_clauses: the clauses of an input, `+name:value`.  Internal to parse.
 */
#ifndef HARNESS_PROBLEM_PARSE_CLAUSES_H
#define HARNESS_PROBLEM_PARSE_CLAUSES_H

#include "parse.h"
#include "base/scan.h"

/* Reads `name:value:...+name:value...`; `problem` is NULL or what the clauses must suit.  Positions
 * count from `text`. */
bool parse_clauses(const char *text, struct piece clauses, const struct attn_problem *problem,
                   struct input *input, struct parse_error *error);

/* Prints each with its + in front. */
void parse_print_clauses(const struct input *input, char *text, size_t size);

#endif
