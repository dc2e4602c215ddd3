/*
 * seen_keys.h: part of kernel flash for matrix units: which keys of a strip the queries of a block see, a bit
 * each.
 */
#pragma once

#include "shared/key_bits.h"
#include "scratch.h"

typedef int64_t places __attribute__((vector_size(64), aligned(8)));

/* Keys from j on that rows see by their place, a bit each of 32.  In vectors, which GCC does not make of
 * it. */
static void bits_by_place(const struct block *block, ptrdiff_t j, uint32_t seen[BLOCK_ROWS])
{
    typedef uint32_t bits __attribute__((vector_size(32), aligned(4)));
    enum { AT_ONCE = sizeof(places) / sizeof(int64_t) };
    for (int i = 0; i < BLOCK_ROWS; i += AT_ONCE) {
        places from = *(const places *)(block->lo + i) - j,
               to = *(const places *)(block->hi + i) - j;
        from &= from > 0;
        to &= to > 0;
        const places past = from > 32, whole = to > 32;
        from = (from & ~past) | (past & 32);
        to = (to & ~whole) | (whole & 32);
        const places one = (places){0} + 1, all = (one << to) - (one << from);
        *(bits *)(seen + i) = __builtin_convertvector(all & (to > from), bits);
    }
}

/* Whether operands may hide keys before `end` from rows of the block; a tree alone hides drafts. */
static inline bool may_hide(const struct call *call, const struct block *block, ptrdiff_t end)
{
    const struct terms *t = &block->terms[0];
    return call->hides && !(t->tree_alone && end <= t->tree.first);
}

/* Bits of those of n <= 64 keys from j on that a row's bias leaves. */
static inline uint64_t bits_of_row_bias(const struct terms *t, ptrdiff_t j, ptrdiff_t n)
{
    return bits_of_bias(t->bias_type, t->bias + (size_t)j * attn_dtype_size(t->bias_type), n);
}

/* Bits of those that its mask leaves and, if asked for, its bias. */
static inline uint64_t bits_left(const struct terms *t, bool bias, ptrdiff_t j, ptrdiff_t n)
{
    uint64_t bits = bits_first(n);
    if (t->mask)
        bits = bits_of_bytes(t->mask + j, n);
    if (bias && t->bias)
        bits &= bits_of_row_bias(t, j, n);
    return bits;
}

/* Keys that masks, biases and trees leave to the rows of a block. */
struct left {
    ptrdiff_t from; /* first key */
    uint32_t (
        *bits)[BLOCK_ROWS]; /* by strip, a bit for each key; room for an even number of strips */
};

/* Writes the bits of row i: which keys up to `to` its mask and, if asked for, its bias leave. */
static void look_at_row(const struct terms *t, bool bias, ptrdiff_t kv_len, ptrdiff_t to, size_t i,
                        const struct left *left)
{
    uint32_t(*bits)[BLOCK_ROWS] = left->bits;
    for (ptrdiff_t j = left->from; j < to; j += 2 * STRIP_KEYS, bits += 2) {
        const ptrdiff_t rest = kv_len - j;
        const uint64_t both = rest >= 64
                                  ? bits_left(t, bias, j, 64) /* without the code of a remainder */
                                  : bits_left(t, bias, j, rest);
        bits[0][i] = (uint32_t)both;
        bits[1][i] = (uint32_t)(both >> STRIP_KEYS);
    }
}

/* If a block's rows lie so far apart that reading by strips would wait for each line, each row is read
 * whole: a stream that the processor fetches by itself.  Its pages are looked up before (shared/pages.h).
 * A tree alone hides only drafts. */
static void look_at_operands(const struct call *call, const struct block *block, ptrdiff_t from,
                             ptrdiff_t to, struct left *left)
{
    const struct group_block *rows = &block->rows;
    const struct terms *terms = block->terms;
    const ptrdiff_t draft = terms[0].tree.first;
    left->from = terms[0].tree_alone && draft > from ? draft / STRIP_KEYS * STRIP_KEYS : from;
    const ptrdiff_t strips = (to - left->from + STRIP_KEYS - 1) / STRIP_KEYS;
    if (terms[0].mask)
        pages_touch((const char *)terms[0].mask + from, call->tensors->mask.stride[2],
                    (ptrdiff_t)(group_query(rows, rows->rows - 1) - group_query(rows, 0) + 1));
    for (size_t i = 0; i < rows->rows; i++)
        if (i > 0 && terms[i].mask == terms[i - 1].mask && terms[i].bias == terms[i - 1].bias)
            for (ptrdiff_t s = 0; s < strips; s++) /* another head's */
                left->bits[s][i] = left->bits[s][i - 1];
        else
            look_at_row(&terms[i], call->kind != WEIGH_BIAS, (ptrdiff_t)rows->sequence.kv_len, to,
                        i, left);
    const ptrdiff_t first = draft > left->from ? (draft - left->from) / STRIP_KEYS : 0;
    for (size_t i = 0; i < rows->rows && terms[0].tree.parents; i++)
        for (ptrdiff_t s = first; s < strips; s++)
            left->bits[s][i] &= (uint32_t)bits_of_tree(&terms[i].tree, terms[i].query,
                                                       left->from + s * STRIP_KEYS, STRIP_KEYS);
}

/* Clears the bits of keys of the strip at key j that a bias of -inf hides, where look() leaves them: WEIGH_BIAS gives
 * them a weight of 0. */
static void hide_by_bias(const struct call *call, const struct block *block, ptrdiff_t j,
                         uint32_t seen[BLOCK_ROWS])
{
    const ptrdiff_t rest = (ptrdiff_t)block->rows.sequence.kv_len - j;
    for (size_t i = 0; call->kind == WEIGH_BIAS && i < block->rows.rows; i++)
        seen[i] &=
            (uint32_t)bits_of_row_bias(&block->terms[i], j, rest < STRIP_KEYS ? rest : STRIP_KEYS);
}

/* Which keys of the strip at key j a block's queries see; whether some see some.  *all: all see all. */
static bool look(const struct call *call, const struct block *block, ptrdiff_t j,
                 const struct left *left, uint32_t seen[BLOCK_ROWS], bool *all)
{
    const struct group_block *rows = &block->rows;
    const int there = (int)rows->rows;
    const bool inside = rows->full.lo <= j && j + STRIP_KEYS <= rows->full.hi;
    uint32_t some = 0, every = ~0u;
    if (!inside)
        bits_by_place(block, j, seen);
    for (int i = 0; i < BLOCK_ROWS && inside; i++)
        seen[i] = i < there ? ~0u : 0;
    if (may_hide(call, block, j + STRIP_KEYS)) {
        const uint32_t *restrict bits = left->bits[(j - left->from) / STRIP_KEYS];
        for (int i = 0; i < BLOCK_ROWS; i++)
            seen[i] &= bits[i];
    }
    for (int i = 0; i < BLOCK_ROWS; i++) {
        some |= seen[i];
        every &= i < there ? seen[i] : ~0u; /* rows that are not there hide nothing */
    }
    *all = every == ~0u;
    return some != 0;
}
