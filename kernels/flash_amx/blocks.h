/*
 * blocks.h: part of kernel flash for matrix units: blocks of queries, and the jobs that they have in the keys
 * that are packed.
 *
 * A job is four strips of keys of which some query of the block sees a key; strips hidden from all
 * queries, by position, boolean mask or a bias of -inf, belong to no job.  Jobs that all queries see
 * whole are computed without a mask.
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
    p->at = tiles_in_a_row;
    p->steps = call->q_steps;
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

static void open_block(const struct call *call, const struct group_block *task, size_t first,
                       struct block *block)
{
    block->rows = group_part(task, first, BLOCK_ROWS);
    block->begun = block->started = false;
    block->sums = 0;
    memset(block->l[0], 0, sizeof block->l[0]);
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
        if (call->terms && there)
            block->terms[i] = terms_of(call->problem, call->tensors, &rows->sequence, rows->b,
                                       group_head(rows, i), group_query(rows, i));
    }
    pack_q(call, block);
}

/* ---- which keys are seen --------------------------------------------------------------------- */

/* Bits [from, to) of 32, from and to being anything. */
static inline uint32_t bits_between(ptrdiff_t from, ptrdiff_t to)
{
    from = from < 0 ? 0 : from > 32 ? 32 : from;
    to = to < from ? from : to > 32 ? 32 : to;
    return (uint32_t)((UINT64_C(1) << to) - (UINT64_C(1) << from));
}

/* Bits of those of n <= 32 keys from j on that a row's mask and bias leave. */
static uint32_t bits_left(const struct terms *t, ptrdiff_t j, ptrdiff_t n)
{
    uint32_t bits = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        bits |= (uint32_t)!terms_hides(t, j + i) << i;
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

/* Keys of a job's strips that masks and biases leave, read together because rows of a mask lie far
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
        if (i > 0 && t->mask == t[-1].mask && t->bias == t[-1].bias) /* another head's */
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
            left->bits[s][i] = bits[s];
    }
}

/* Which keys of the strip at key j a block's queries see; whether some see some.  *all: all see all. */
static bool look(const struct call *call, const struct block *block, ptrdiff_t j, struct left *left,
                 uint32_t seen[BLOCK_ROWS], bool *all)
{
    const struct group_block *rows = &block->rows;
    const ptrdiff_t width = JOB_STRIPS * STRIP_KEYS, from = j / width * width;
    const bool inside = rows->full.lo <= j && j + STRIP_KEYS <= rows->full.hi;
    uint32_t some = 0, every = ~0u;
    if (!call->hides && inside && rows->rows == BLOCK_ROWS) {
        memset(seen, 0xff, BLOCK_ROWS * sizeof *seen);
        return *all = true;
    }
    if (call->hides && left->from != from)
        look_at_operands(block, from, left);
    const uint32_t *bits = call->hides ? left->bits[(j - from) / STRIP_KEYS] : NULL;
    for (size_t i = 0; i < BLOCK_ROWS; i++) {
        seen[i] = i >= rows->rows ? 0
                  : inside        ? ~0u
                                  : bits_between(block->lo[i] - j, block->hi[i] - j);
        if (bits)
            seen[i] &= i < rows->rows ? bits[i] : 0;
        some |= seen[i];
        every &= i < rows->rows ? seen[i] : ~0u; /* rows that are not there hide nothing */
    }
    *all = every == ~0u;
    return some != 0;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Goes through the jobs of a task in the keys that are packed. */
struct jobs {
    const struct call *call;
    const struct group_block *task;
    const struct scratch *scratch;
    ptrdiff_t first, end; /* keys that are packed */
    bool first_part;      /* of the task's keys */
    int number;           /* of the block that is looked at */
    bool open;            /* it is */
    bool idle;            /* and it had no job yet */
    ptrdiff_t next;       /* key of its next strip */
    struct left left;     /* of the block */
};

/* Blocks kept until their results are written: those of two jobs, and the next one. */
#define BLOCKS_IN_FLIGHT 4

static struct block *block_at(const struct call *call, const struct scratch *scratch, int number)
{
    return &scratch->blocks[call->in_parts ? number : number % BLOCKS_IN_FLIGHT];
}

static ptrdiff_t strip_start(ptrdiff_t j)
{
    return j / STRIP_KEYS * STRIP_KEYS;
}

/* Turns to the next block; false where the task has no more. */
static bool next_block(struct jobs *jobs)
{
    const size_t first = (size_t)jobs->number * BLOCK_ROWS;
    if (first >= jobs->task->rows)
        return false;
    struct block *block = block_at(jobs->call, jobs->scratch, jobs->number);
    if (jobs->first_part)
        open_block(jobs->call, jobs->task, first, block);
    const struct attn_range seen = block->rows.seen;
    const ptrdiff_t lo = seen.lo < seen.hi ? strip_start(seen.lo) : jobs->end;
    jobs->next = lo > jobs->first ? lo : jobs->first;
    jobs->open = jobs->idle = true;
    jobs->left.from = -1;
    return true;
}

/* Adds the strip at key j to a job, where its block sees something of it. */
static void add_strip(struct jobs *jobs, ptrdiff_t j, struct job *job)
{
    const struct call *call = jobs->call;
    const int strip = (int)((j - jobs->first) / STRIP_KEYS);
    bool all;
    if (!look(call, job->block, j, &jobs->left, job->seen[job->strips], &all))
        return;
    job->strip[job->strips] = strip;
    job->key[job->strips] = j;
    job->values[job->strips] = (int32_t)(strip * call->v_steps * PAIR_ELEMENTS);
    job->strips++;
    job->masked |= !all;
}

/* Makes four strips a job where all of a block's queries see all of them. */
static bool add_seen(struct jobs *jobs, ptrdiff_t end, struct job *job)
{
    const struct group_block *rows = &job->block->rows;
    const ptrdiff_t j = jobs->next, behind = j + JOB_STRIPS * STRIP_KEYS;
    if (jobs->call->hides || rows->rows < BLOCK_ROWS || j < rows->full.lo ||
        behind > rows->full.hi || behind > end)
        return false;
    const int strip = (int)((j - jobs->first) / STRIP_KEYS);
    const int32_t stride = (int32_t)(jobs->call->v_steps * PAIR_ELEMENTS);
    for (int s = 0; s < JOB_STRIPS; s++) {
        job->strip[s] = strip + s;
        job->key[s] = j + s * STRIP_KEYS;
        job->values[s] = (strip + s) * stride;
    }
    if (!job->shown)
        memset(job->seen, 0xff, sizeof job->seen);
    job->shown = true;
    job->strips = JOB_STRIPS;
    jobs->next = behind;
    return true;
}

/* The next job; false where there is none. */
static bool next_job(struct jobs *jobs, struct job *job)
{
    while (jobs->open || next_block(jobs)) {
        struct block *block = block_at(jobs->call, jobs->scratch, jobs->number);
        const ptrdiff_t seen = block->rows.seen.hi, end = seen < jobs->end ? seen : jobs->end;
        job->block = block;
        job->strips = 0;
        job->masked = false;
        if (!add_seen(jobs, end, job)) {
            job->shown = false;
            for (; job->strips < JOB_STRIPS && jobs->next < end; jobs->next += STRIP_KEYS)
                add_strip(jobs, jobs->next, job);
        }
        if (job->strips || jobs->idle) {
            jobs->idle = false;
            return true;
        }
        jobs->open = false;
        jobs->number++;
    }
    return false;
}

#endif
