/*
 * clause: what an input may say about an operand, `+name:value`, and what the clauses share.  Internal to
 * parse_clauses.
 */
#ifndef HARNESS_PROBLEM_CLAUSE_H
#define HARNESS_PROBLEM_CLAUSE_H

#include "base/scan.h"
#include "parse.h"

struct clause {
    const char *name;
    const char *form; /* for messages */
    bool (*read)(struct piece value, struct input *input, const char **why);
    /* What stands behind the colon; false: left out. */
    bool (*print)(const struct input *input, char text[PARSE_TEXT]);
    /* Why a problem has no use for it; NULL where it has. */
    const char *(*misfit)(const struct input *input, const struct attn_problem *problem);
};

/* Of lengths (clause_lengths.c); of masks and scales (clause_masks.c). */
extern const struct clause clause_lens, clause_batch, clause_qlens, clause_decode;
extern const struct clause clause_mask, clause_bias, clause_scales;

#endif
