/*
 * operands: the table of operands, from which their memory, their files and messages about them follow.
 *
 * A new operand is a new row of the table.  If it needs a new kind, tensors_view.c gets its layout in memory
 * and operands_locate.c the shapes that a file may have.  tensors_fill.c and its parts fill its elements.
 */
#ifndef HARNESS_PROBLEM_OPERANDS_H
#define HARNESS_PROBLEM_OPERANDS_H

#include "attention.h"

/* In the order of memory. */
enum operand_id {
    OPERAND_Q,
    OPERAND_K,
    OPERAND_V,
    OPERAND_BIAS,
    OPERAND_MASK,
    OPERAND_PARENTS,
    OPERAND_SINKS,
    OPERAND_SLOPES,
    OPERAND_KV_LENS,
    OPERAND_CU_SEQLENS,
    OPERAND_CU_SEQLENS_KV,
    OPERAND_BLOCK_TABLE,
    OPERAND_INDICES,
    OPERAND_K_SCALE,
    OPERAND_V_SCALE,
    OPERAND_K_ZERO,
    OPERAND_V_ZERO,
    OPERANDS
};

enum operand_kind {
    OPERAND_ROWS,      /* q, k, v: a row for each query or key */
    OPERAND_BROADCAST, /* (B, Hq, Sq, Skv), or what broadcasts to it */
    OPERAND_SCALES,    /* (B, Hkv, Skv, groups), likewise */
    OPERAND_DRAFTS,    /* a number for each query */
    OPERAND_HEADS,     /* for each query head */
    OPERAND_LENGTHS,   /* for each sequence */
    OPERAND_OFFSETS,   /* where each sequence begins, and the last one ends */
    OPERAND_PAGES,     /* a row of pages for each sequence */
    OPERAND_LISTS      /* rows of keys for each KV head */
};

struct operand {
    const char *name; /* as in struct attn_tensors */
    enum operand_kind kind;
    enum attn_dtype dtype; /* ATTN_DTYPE_COUNT: by the problem */
    size_t offset;         /* in struct attn_tensors */
    size_t dims;           /* of its four dimensions in struct tensors_shape; 0: none there */
    /* Problems with one of these have it, and those for which the function is true. */
    unsigned masks, options;
    bool (*belongs)(const struct attn_problem *problem);
    const char *asked; /* how a text asks for it; NULL: always there */
};

extern const struct operand operand_table[OPERANDS];

/* Whether the problem has this operand, with memory of its own: not a V that is part of K. */
bool operands_has(const struct attn_problem *problem, enum operand_id id);

#endif
