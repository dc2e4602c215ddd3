/*
 * clause: the clauses of an input, `+name:value`, each about one operand.  Internal to parse.
 */
#ifndef HARNESS_PROBLEM_CLAUSE_H
#define HARNESS_PROBLEM_CLAUSE_H

#include "base/scan.h"
#include "parse.h"

struct clause {
    const char *name;
    const char *form; /* for messages */
    bool (*read)(struct piece value, struct input *input, const char **why);
    /* Prints the value behind the colon; false where the input has no such clause. */
    bool (*print)(const struct input *input, char text[PARSE_TEXT]);
    /* Why a problem has no use for it; NULL where it has. */
    const char *(*misfit)(const struct input *input, const struct attn_problem *problem);
};

/* About lengths (clause_lengths.c); about masks and scales (clause_masks.c). */
extern const struct clause clause_lens, clause_batch, clause_qlens, clause_decode;
extern const struct clause clause_mask, clause_bias, clause_scales;
extern const struct clause clause_tree;   /* tree.c */
extern const struct clause clause_index;  /* index.c */
extern const struct clause clause_prefix; /* prefix.c */

/* ---- parse_clauses.c ------------------------------------------------------------------------- */

/* Reads `name:value:...+name:value...`; `problem` is NULL or what the clauses must suit.  Positions
 * count from `text`. */
bool parse_clauses(const char *text, struct piece clauses, const struct attn_problem *problem,
                   struct input *input, struct parse_error *error);

/* Prints each with its + in front. */
void parse_print_clauses(const struct input *input, char *text, size_t size);

#endif
