/*
 * blocks.h: part of kernel flash for matrix units: products and blocks of queries, and which keys these see.
 */
#ifndef ATTN_FLASH_AMX_BLOCKS_H
#define ATTN_FLASH_AMX_BLOCKS_H

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

/* Lets all rows stand at the key of the first, which leaves their softmax as it is, and has finish_row() put
 * their LSE right; and finds by how much their products rise with the key. */
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

/* Bits of those of 32 keys from j on that the row's tree leaves; its ancestors are fewer than the keys. */
static uint32_t bits_of_tree(const struct terms *t, ptrdiff_t j)
{
    const ptrdiff_t first = j - t->tree.first, end = first + STRIP_KEYS;
    uint32_t bits = first <= -STRIP_KEYS ? ~0u : first < 0 ? (1u << -first) - 1 : 0;
    ptrdiff_t draft = t->tree.parents ? attn_tree_up(&t->tree, t->query, end - 1) : -1;
    for (; draft >= 0 && draft >= first; draft = t->tree.parents[draft])
        bits |= 1u << (draft - first);
    return t->tree.parents ? bits : ~0u;
}

/* Bits of those of n <= 32 keys from j on that a row's mask and bias leave. */
static uint32_t bits_left(const struct terms *t, ptrdiff_t j, ptrdiff_t n)
{
    struct terms treeless = *t;
    uint32_t bits = 0;
    treeless.tree.parents = NULL;
    for (ptrdiff_t i = 0; i < n; i++)
        bits |= (uint32_t)!terms_hides(&treeless, j + i) << i;
    return bits;
}

/* The same of the strips of a whole job, a job's strips of keys from j on. */
#ifdef ATTN_TILES_EMULATED
static void bits_left_of_job(const struct terms *t, ptrdiff_t j, uint32_t bits[JOB_STRIPS])
{
    for (int s = 0; s < JOB_STRIPS; s++)
        bits[s] = bits_left(t, j + s * STRIP_KEYS, STRIP_KEYS);
}
#else
VF_INLINE void bits_left_of_job(const struct terms *t, ptrdiff_t j, uint32_t bits[JOB_STRIPS])
{
    for (int s = 0; s < JOB_STRIPS; s += 2) {
        uint64_t left = UINT64_MAX;
        if (t->mask) {
            const __m512i bytes = _mm512_loadu_si512(t->mask + j + s * STRIP_KEYS);
            left = _mm512_test_epi8_mask(bytes, bytes);
        }
        for (int i = 0; t->bias && i < 2 * STRIP_KEYS; i += VF_LANES) {
            const size_t at = (size_t)(j + s * STRIP_KEYS + i) * attn_dtype_size(t->bias_type);
            const vf x = vf_load_elements(t->bias_type, t->bias + at, VF_LANES);
            left &= ~((uint64_t)_mm512_cmp_ps_mask(x, vf_set1(-INFINITY), _CMP_EQ_OQ) << i);
        }
        bits[s] = (uint32_t)left;
        bits[s + 1] = (uint32_t)(left >> 32);
    }
}
#endif

/* Keys of a job's strips that masks, biases and trees leave, read together because rows of a mask lie far
 * apart. */
struct left {
    ptrdiff_t from; /* first key; -1: nothing was looked at */
    uint32_t bits[JOB_STRIPS][BLOCK_ROWS];
};

static void look_at_operands(const struct block *block, ptrdiff_t from, struct left *left)
{
    const ptrdiff_t n = (ptrdiff_t)block->rows.sequence.kv_len - from;
    left->from = from;
    for (size_t i = 0; i < block->rows.rows; i++) {
        const struct terms *t = &block->terms[i];
        uint32_t bits[JOB_STRIPS];
        if (i > 0 && t->mask == t[-1].mask && t->bias == t[-1].bias &&
            !(t->tree.parents && t->query != t[-1].query)) /* another head's */
            for (int s = 0; s < JOB_STRIPS; s++)
                bits[s] = left->bits[s][i - 1];
        else if (n >= JOB_STRIPS * STRIP_KEYS)
            bits_left_of_job(t, from, bits);
        else
            for (ptrdiff_t s = 0; s < JOB_STRIPS; s++) {
                const ptrdiff_t rest = n - s * STRIP_KEYS;
                bits[s] =
                    bits_left(t, from + s * STRIP_KEYS, rest < STRIP_KEYS ? rest : STRIP_KEYS);
            }
        for (int s = 0; s < JOB_STRIPS; s++)
            left->bits[s][i] = bits[s] & bits_of_tree(t, from + s * STRIP_KEYS);
    }
}

/* Which keys of the strip at key j a block's queries see; whether some see some.  *all: all see all. */
static bool look(const struct call *call, const struct block *block, ptrdiff_t j, struct left *left,
                 uint32_t seen[BLOCK_ROWS], bool *all)
{
    const struct group_block *rows = &block->rows;
    const ptrdiff_t width = JOB_STRIPS * STRIP_KEYS, from = j / width * width;
    const bool inside = rows->full.lo <= j && j + STRIP_KEYS <= rows->full.hi;
    const bool hides = may_hide(call, block, j + STRIP_KEYS);
    uint32_t some = 0, every = ~0u;
    if (!hides && inside && rows->rows == BLOCK_ROWS) {
        memset(seen, 0xff, BLOCK_ROWS * sizeof *seen);
        return *all = true;
    }
    if (!inside)
        bits_by_place(block, j, seen);
    if (hides && left->from != from)
        look_at_operands(block, from, left);
    const uint32_t *bits = hides ? left->bits[(j - from) / STRIP_KEYS] : NULL;
    for (size_t i = 0; i < BLOCK_ROWS; i++) {
        seen[i] = i >= rows->rows ? 0 : inside ? ~0u : seen[i];
        if (bits)
            seen[i] &= i < rows->rows ? bits[i] : 0;
        some |= seen[i];
        every &= i < rows->rows ? seen[i] : ~0u; /* rows that are not there hide nothing */
    }
    *all = every == ~0u;
    return some != 0;
}

#endif
