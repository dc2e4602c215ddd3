/*
 * clause: clauses of an input, `+name:value`, one kind for each operand.  Internal to parse.
 */
#ifndef HARNESS_PROBLEM_CLAUSE_H
#define HARNESS_PROBLEM_CLAUSE_H

#include "base/scan.h"
#include "parse.h"

struct clause {
    const char *name;
    const char *form; /* for messages */
    bool (*read)(struct piece value, struct input *input, const char **why);
    /* Prints the value after the colon; false: the input has no such clause. */
    bool (*print)(const struct input *input, char text[PARSE_TEXT]);
    /* Why the clause does not suit a problem with its operand; NULL if it does, or no function: it always
     * does. */
    const char *(*misfit)(const struct input *input, const struct attn_problem *problem);
};

/* About lengths (clause_lengths.c); about masks and scales (clause_masks.c). */
extern const struct clause clause_lens, clause_batch, clause_qlens, clause_decode;
extern const struct clause clause_mask, clause_bias, clause_scales;
extern const struct clause clause_tree;   /* tree.c */
extern const struct clause clause_index;  /* index.c */
extern const struct clause clause_prefix; /* prefix.c */

/* ---- parse_clauses.c ------------------------------------------------------------------------- */

/* Parses `name:value:...+name:value...`; the clauses must suit `problem`, if that is not NULL.  Positions
 * count from `text`. */
bool parse_clauses(const char *text, struct piece clauses, const struct attn_problem *problem,
                   struct input *input, struct parse_error *error);

/* Prints each clause after a +. */
void parse_print_clauses(const struct input *input, char *text, size_t size);

#endif
