/*
 * operands: the table of operands, which determines their memory, files and messages.
 *
 * A new operand is a new row.  A new kind also needs its layout in tensors_view.c and the shapes that a file
 * may have in operands_locate.c.  tensors_fill.c and its parts fill the elements.
 */
#pragma once

#include "attention.h"

/* In the order in which they lie in memory. */
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
    OPERAND_SCALES,    /* (B, Hkv, Skv, groups), or what broadcasts to it */
    OPERAND_DRAFTS,    /* a number for each query */
    OPERAND_HEADS,     /* a number for each query head */
    OPERAND_LENGTHS,   /* a number for each sequence */
    OPERAND_OFFSETS,   /* the first row of each sequence, and the end of the last one */
    OPERAND_PAGES,     /* a row of pages for each sequence */
    OPERAND_LISTS      /* rows of keys for each KV head */
};

struct operand {
    const char *name; /* as in struct attn_tensors */
    enum operand_kind kind;
    enum attn_dtype dtype; /* ATTN_DTYPE_COUNT: by the problem */
    size_t offset;         /* in struct attn_tensors */
    size_t dims;           /* offset of its four dimensions in struct tensors_shape; 0: none */
    /* A problem has it with any of these masks or options, or if the function returns true. */
    unsigned masks, options;
    bool (*belongs)(const struct attn_problem *problem);
    const char *asked; /* the key=value that requires it; NULL: always required */
};

extern const struct operand operand_table[OPERANDS];

/* Whether the problem has this operand with its own memory; not a V that is part of K. */
bool operands_has(const struct attn_problem *problem, enum operand_id id);
