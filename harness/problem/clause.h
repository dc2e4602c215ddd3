/*
 * clause: clauses of an input, `+name:value`, one kind for each operand, and the operands that they describe.
 */
#pragma once

#include "cases.h"

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
/* Each in a file of its name. */
extern const struct clause clause_tree, clause_index, clause_prefix;

/* ---- all of them (parse_clauses.c) ------------------------------------------------------------- */

/* Parses `name:value:...+name:value...`; the clauses must suit `problem`, if that is not NULL.  Positions
 * count from `text`. */
bool parse_clauses(const char *text, struct piece clauses, const struct attn_problem *problem,
                   struct input *input, struct parse_error *error);

/* Prints each clause after a +. */
void parse_print_clauses(const struct input *input, char *text, size_t size);

/* ---- sequences one by one, `2q2k,32q1s4k` or `17,2048,511` (clause_runs.c) -------------------- */

#define CLAUSE_RUNS_FORM "[N]qQ[sS],..., N sequences of Q queries on S keys"

/* Parses a batch, or else a list of keys alone.  False sets *why. */
bool clause_runs_read(struct piece value, bool batch, struct input *input, const char **why);

/* Adds `count` sequences of q queries (0: by other clauses) on kv keys.  False sets *why. */
bool clause_runs_add(struct input *input, size_t count, size_t q, size_t kv, const char **why);

/* Prints the sequences, the same text for the same sequences; "" if there are none. */
void clause_runs_print(const struct input *input, char text[PARSE_TEXT]);

/* Why the sequences do not suit a problem; NULL if they do or if there are none. */
const char *clause_runs_misfit(const struct input *input, const struct attn_problem *problem);

/* Replaces the sequences by lengths with the same extremes and mean, for another number of sequences. */
void clause_runs_spread(struct input *input);

/* ---- trees of drafts, mask=tree (clause_tree.c) ----------------------------------------------- */

/* Parents of the first n drafts of sequence b: those in the input's tree, else drawn from -1 and all earlier
 * drafts. */
void clause_tree_make(const struct input *input, size_t b, int32_t *parents, size_t n);

/* ---- lists of chosen keys, keys=index (clause_index.c) ---------------------------------------- */

/* Fills all lists of the operands, whose lengths must be filled before. */
void clause_index_fill(const struct input *input, const struct attn_problem *problem,
                       const struct attn_tensors *tensors);

/* A KV head's lists in all sequences of a packed problem; 0 without lists, or not packed. */
size_t clause_index_lists(const struct attn_problem *problem, const struct attn_tensors *tensors);

/* ---- keys that all sequences share, in pages that lie in memory once (clause_prefix.c) --------- */

/* Why the input's prefix does not suit a paged problem and the input's lengths; NULL if it does. */
const char *clause_prefix_misfit(const struct input *input, const struct attn_problem *problem);

/* Reduces the prefix to whole pages of the problem's shortest sequence. */
void clause_prefix_fit(struct input *input, const struct attn_problem *problem);

/* Number of pages of the prefix. */
size_t clause_prefix_pages(const struct problem_case *c);

/* Whether key j of sequence b lies in a page that it shares with the first sequence; b = 0: with the
 * second. */
bool clause_prefix_holds(const struct attn_problem *problem, const struct attn_tensors *tensors,
                         size_t b, size_t j);
