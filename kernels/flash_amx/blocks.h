/*
 * blocks.h: part of kernel flash for matrix units: products and blocks of queries, and which keys these see.
 */
#ifndef ATTN_FLASH_AMX_BLOCKS_H
#define ATTN_FLASH_AMX_BLOCKS_H

#include "shared/key_bits.h"
#include "finish.h"

/* ---- products -------------------------------------------------------------------------------- */

static const uint16_t *packed_k(const struct call *call, const struct scratch *scratch, int strip)
{
    return scratch->k + (size_t)strip * (size_t)call->q_steps * PAIR_ELEMENTS;
}

/* Products are filled in field by field: copied whole, they would wait for what was just written. */
static inline void score_product(const struct call *call, const struct block *block,
                                 const uint16_t *k, float *scores, struct product *p)
{
    p->a = block->q;
    p->b = k;
    p->at = call->k_at;
    p->steps = call->score_steps;
    p->add = false;
    p->to.at = scores;
    p->to.row = STRIP_KEYS * sizeof(float);
    p->to.right = TILE_ROW_BYTES;
    p->to.lower = TILE_ROWS * STRIP_KEYS * sizeof(float);
    p->scores = true;
    p->ready = p->taken = 0;
}

/* What a job's keys add to 32 value dimensions, those of product d. */
static inline void value_product(const struct job *job, int d, const uint16_t *weights,
                                 const uint16_t *v, struct product *p)
{
    p->a = weights;
    p->b = v + d * PAIR_ELEMENTS;
    p->at = job->values;
    p->steps = job->strips;
    p->add = job->block->started;
    p->to.at = job->block->o + d * RESULT_FLOATS;
    p->to.row = TILE_ROW_BYTES;
    p->to.right = TILE_ROWS * TILE_ROW_BYTES;
    p->to.lower = 2 * TILE_ROWS * TILE_ROW_BYTES;
    p->scores = false;
    p->ready = p->taken = 0;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Computes ALiBi of all rows from the key of the first row: their softmax stays the same, and finish_row()
 * corrects their LSE.  Also finds by how much their products rise with the key. */
static void set_rises(struct block *block)
{
    for (size_t i = 0; i < block->rows.rows; i++) {
        const float slope = block->terms[i].slope, rise = slope != 0 ? slope / block->scale : 0;
        block->terms[i].at = block->terms[0].at;
        block->rise[i] = rise;
        if (slope != 0 && !(fabsf(rise) > 0x1p-100f && fabsf(rise) < 0x1p100f))
            block->kind = block->kind == WEIGH_RAMP ? WEIGH_CHANGED : block->kind;
    }
    for (size_t i = block->rows.rows; i < BLOCK_ROWS; i++)
        block->rise[i] = 0;
}

static void open_block(const struct call *call, const struct group_block *task, size_t first,
                       struct block *block)
{
    block->rows = group_part(task, first, BLOCK_ROWS);
    block->begun = block->started = false;
    block->sums = 0;
    block->kind = call->kind;
    memset(block->l[0], 0, sizeof block->l[0]);
    const struct attn_tensors *t = call->tensors;
    block->scale = call->scale * scale_of_head(call, &t->k_scale, &block->rows);
    block->v_scale = call->v_tokens ? 1 : scale_of_head(call, &t->v_scale, &block->rows);
    const struct group_block *rows = &block->rows;
    const bool alike = rows->full.lo == rows->seen.lo && rows->full.hi == rows->seen.hi;
    for (size_t i = 0; i < BLOCK_ROWS; i++) {
        const bool there = i < rows->rows;
        const struct attn_range seen = !there  ? (struct attn_range){0, 0}
                                       : alike ? rows->seen
                                               : group_visible(rows, i);
        block->lo[i] = seen.lo;
        block->hi[i] = seen.hi;
        block->m[i] = there ? -INFINITY : 0;
        block->bias[i] = weight_bias(block->m[i]);
        if (call->terms) /* of a row that is not there, a bias that may be read */
            block->terms[i] = there ? terms_of(call->problem, call->tensors, &rows->sequence,
                                               rows->b, group_head(rows, i), group_query(rows, i))
                                    : block->terms[i - 1];
    }
    if (call->problem->options & ATTN_OPTION_ALIBI)
        set_rises(block);
    pack_q(call, block);
}

/* ---- which keys are seen --------------------------------------------------------------------- */

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

/* Bits of those of n <= 64 keys from j on that a row's mask and bias leave. */
static inline uint64_t bits_left(const struct terms *t, ptrdiff_t j, ptrdiff_t n)
{
    uint64_t bits = bits_first(n);
    if (t->mask)
        bits = bits_of_bytes(t->mask + j, n);
    if (t->bias)
        bits &= bits_of_bias(t->bias_type, t->bias + (size_t)j * attn_dtype_size(t->bias_type), n);
    return bits;
}

/* Keys that masks, biases and trees leave to the rows of a block. */
struct left {
    ptrdiff_t from; /* first key */
    uint32_t (
        *bits)[BLOCK_ROWS]; /* by strip, a bit for each key; room for an even number of strips */
};

/* Writes the bits of row i: which keys up to `to` its mask and bias leave. */
static void look_at_row(const struct terms *t, ptrdiff_t kv_len, ptrdiff_t to, size_t i,
                        const struct left *left)
{
    uint32_t(*bits)[BLOCK_ROWS] = left->bits;
    for (ptrdiff_t j = left->from; j < to; j += 2 * STRIP_KEYS, bits += 2) {
        const ptrdiff_t rest = kv_len - j;
        const uint64_t both = rest >= 64 ? bits_left(t, j, 64) /* without the code of a remainder */
                                         : bits_left(t, j, rest);
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
            look_at_row(&terms[i], (ptrdiff_t)rows->sequence.kv_len, to, i, left);
    const ptrdiff_t first = draft > left->from ? (draft - left->from) / STRIP_KEYS : 0;
    for (size_t i = 0; i < rows->rows && terms[0].tree.parents; i++)
        for (ptrdiff_t s = first; s < strips; s++)
            left->bits[s][i] &= (uint32_t)bits_of_tree(&terms[i].tree, terms[i].query,
                                                       left->from + s * STRIP_KEYS, STRIP_KEYS);
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

#endif
