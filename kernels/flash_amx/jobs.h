/*
 * jobs.h: part of kernel flash for matrix units: a thread's tasks, their blocks, and the jobs of a block.
 *
 * A job is four strips of keys of which some query of the block sees a key; strips hidden from all
 * queries, by position, boolean mask, tree or a bias of -inf, belong to no job.  But a bias that is all that changes
 * scores is read once, with them: looking for -inf before takes longer than what it saves.  Jobs that all queries see
 * whole are computed without a mask.
 *
 * A block begins at its first keys, or at its last where ALiBi makes scores rise with the key: m is found at
 * the first of its jobs (exactly.h).
 *
 * Where there is room for the keys of KEPT_TASKS tasks, jobs of one task follow those of the one before
 * without a stop: keys are packed and scores made while the last jobs of the task before are under way.
 */
#pragma once

#include "blocks.h"
#include "seen_keys.h"

/* A set of packed keys. */
struct packed {
    size_t b, g;
    ptrdiff_t first, end;
};

/* Goes through the jobs of tasks. */
struct jobs {
    const struct call *call;
    const struct scratch *scratch;
    struct prefetch prefetch;       /* what is fetched between products */
    struct group_block task, after; /* under way; likely to follow */
    ptrdiff_t lo, hi;               /* keys that the task sees, from the first of a strip on */
    bool falling;                   /* from the last to the first */
    struct packed packed;           /* the last set */
    int first_strip;                /* where it lies */
    ptrdiff_t first, end;           /* the task's keys in it */
    size_t rows;                    /* of the task's that are behind */
    int slot;                       /* of the block whose jobs are made, */
    bool open;                      /* if one is, */
    bool idle;                      /* which has had no job yet */
    ptrdiff_t from, to;             /* keys that this block has left */
    struct left left;               /* of the block, in the set */
};

static ptrdiff_t strip_start(ptrdiff_t j)
{
    return j / STRIP_KEYS * STRIP_KEYS;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Packs the keys of a part of a task, unless they were packed last. */
static void pack_part(struct jobs *jobs)
{
    const struct call *call = jobs->call;
    const struct packed now = {jobs->task.b, jobs->task.g, jobs->first, jobs->end};
    struct packed *packed = &jobs->packed;
    if (now.b == packed->b && now.g == packed->g && now.first == packed->first &&
        now.end <= packed->end)
        return;
    const struct keys keys = keys_of(call->tensors, &jobs->task);
    jobs->first_strip = (jobs->first_strip + call->strips) % (call->sets * call->strips);
    pack(call, &keys, now.first, now.end, jobs->scratch, jobs->first_strip);
    *packed = now;
}

/* Strips of keys that a task of a sequence sees at most: with a window its queries' span and the window. */
static size_t seen_strips(const struct attn_problem *p, size_t q_len, size_t kv_len)
{
    const bool future = !(p->mask & (ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT));
    const size_t all = (kv_len + STRIP_KEYS - 1) / STRIP_KEYS, group = p->q_heads / p->kv_heads;
    if (!(p->options & ATTN_OPTION_WINDOW) || p->window_left < 0 || (future && p->window_right < 0))
        return all;
    const size_t rows = group * q_len < TASK_ROWS ? group * q_len : TASK_ROWS;
    const size_t queries =
        rows / group + 2; /* at both ends the task may have some of a query's heads */
    const size_t before = (size_t)p->window_left < kv_len ? (size_t)p->window_left : kv_len;
    const size_t after = !future                            ? 0
                         : (size_t)p->window_right < kv_len ? (size_t)p->window_right
                                                            : kv_len;
    const size_t strips = (before + after + queries) / STRIP_KEYS + 2;
    return strips < all ? strips : all;
}

/* Turns to the part of a task that has a key.  Parts of a sequence that is packed in parts begin at fixed keys; else
 * there is one, of all that the task sees.  So a row has the same jobs whatever the tasks and other sequences. */
static void begin_part(struct jobs *jobs, ptrdiff_t key)
{
    const struct attn_sequence *s = &jobs->task.sequence;
    const bool whole =
        seen_strips(jobs->call->problem, s->q_len, s->kv_len) <= jobs->call->whole_strips;
    const ptrdiff_t most = jobs->call->part_keys, start = key / most * most, next = start + most;
    jobs->first = whole || jobs->lo > start ? jobs->lo : start;
    jobs->end = whole || jobs->hi < next ? jobs->hi : next;
    assert(jobs->end - jobs->first <= (ptrdiff_t)jobs->call->strips * STRIP_KEYS);
    jobs->rows = 0;
    jobs->open = false;
    pack_part(jobs);
}

static void begin_first_part(struct jobs *jobs)
{
    begin_part(jobs, jobs->falling && jobs->lo < jobs->hi ? jobs->hi - 1 : jobs->lo);
}

/* Turns to the task's next part; false where there is none. */
static bool next_part(struct jobs *jobs)
{
    if (jobs->falling ? jobs->first <= jobs->lo : jobs->end >= jobs->hi)
        return false;
    begin_part(jobs, jobs->falling ? jobs->first - 1 : jobs->end);
    return true;
}

/* Whether scores fall towards the first key, as far as ALiBi makes them: m is best found at the last one.  The slope
 * of a KV head's first query head decides, so that all its tasks take keys in one order. */
static bool falling(const struct call *call, const struct group_block *task)
{
    const float *slopes = call->tensors->slopes.data;
    return call->problem->options & ATTN_OPTION_ALIBI && slopes[task->g * task->group] > 0;
}

/* Turns to the next task; false where there is none. */
static bool next_task(struct jobs *jobs)
{
    const struct call *call = jobs->call;
    jobs->task = tasks_next(&call->tasks);
    if (!jobs->task.rows)
        return false;
    const struct attn_range seen = jobs->task.seen;
    jobs->lo = seen.lo < seen.hi ? strip_start(seen.lo) : 0;
    jobs->hi = seen.lo < seen.hi ? seen.hi : 0;
    jobs->after = tasks_peek(&call->tasks);
    jobs->falling = falling(call, &jobs->task);
    begin_first_part(jobs);
    return true;
}

/* ---- what is fetched ------------------------------------------------------------------------- */

/* Plans which keys of the next task are fetched during this block: as large a share of them as the block has
 * of its task's rows, the last block left out, during which they are packed.  Only if they are packed as one
 * part: longer ones are read as a stream, which the processor fetches by itself, and more requests made
 * D = 576 a fifth slower. */
static void prefetch_after(struct jobs *jobs, const struct group_block *block)
{
    const struct call *call = jobs->call;
    const struct attn_problem *p = call->problem;
    const struct group_block *task = &jobs->task, *after = &jobs->after;
    if (call->in_parts || !after->rows || (after->b == task->b && after->g == task->g))
        return;
    const struct keys keys = keys_of(call->tensors, after);
    const ptrdiff_t n = after->seen.hi - after->seen.lo, rows = (ptrdiff_t)task->rows;
    const ptrdiff_t all = rows > BLOCK_ROWS ? rows - BLOCK_ROWS : rows;
    const ptrdiff_t at = (ptrdiff_t)(block->first - task->first), behind = at + BLOCK_ROWS;
    if (n <= 0 || at >= all)
        return;
    const ptrdiff_t from = n * at / all, to = behind < all ? n * behind / all : n;
    prefetch_keys(&jobs->prefetch, &keys, &call->tensors->k, p->qk_dim, after->seen.lo + from,
                  to - from);
    prefetch_keys(&jobs->prefetch, &keys, &call->tensors->v, p->v_dim, after->seen.lo + from,
                  to - from);
}

/* Plans what to fetch from a block's opening to that of the next one: the lines of its results, the next
 * queries and a share of the keys that will be packed next.  Where tasks are so short that they follow each
 * other without a stop, fetching the lines of results, too, makes 32 x 12 heads of S = 128 3 % slower. */
static void plan_prefetch(struct jobs *jobs, const struct group_block *block)
{
    const struct call *call = jobs->call;
    const struct attn_problem *p = call->problem;
    struct group_block next = group_part(&jobs->task, jobs->rows + BLOCK_ROWS, BLOCK_ROWS);
    prefetch_clear(&jobs->prefetch);
    if (call->v_steps && call->sets == 1)
        prefetch_queries(&jobs->prefetch, &call->tensors->o, block, p->v_dim);
    if (!next.rows)
        next = group_part(&jobs->after, 0, BLOCK_ROWS);
    if (next.rows)
        prefetch_queries(&jobs->prefetch, &call->tensors->q, &next, p->qk_dim);
    prefetch_after(jobs, block);
    const ptrdiff_t hi = block->seen.hi < jobs->end ? block->seen.hi : jobs->end;
    const ptrdiff_t lo = block->seen.lo > jobs->first ? block->seen.lo : jobs->first;
    const ptrdiff_t strips = hi > lo ? (hi - lo + STRIP_KEYS - 1) / STRIP_KEYS : 1;
    prefetch_divide(&jobs->prefetch, (size_t)strips + (size_t)((strips + JOB_STRIPS - 1) /
                                                               JOB_STRIPS * call->v_steps));
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Turns to the next block; false where the task has no more. */
static bool next_block(struct jobs *jobs)
{
    const struct call *call = jobs->call;
    if (jobs->rows >= jobs->task.rows)
        return false;
    jobs->slot = call->in_parts ? (int)(jobs->rows / BLOCK_ROWS) : (jobs->slot + 1) % KEPT_BLOCKS;
    struct block *block = &jobs->scratch->blocks[jobs->slot];
    if (jobs->falling ? jobs->end == jobs->hi : jobs->first == jobs->lo)
        open_block(call, &jobs->task, jobs->rows, block);
    const struct attn_range seen = block->rows.seen;
    const ptrdiff_t lo = seen.lo < seen.hi ? strip_start(seen.lo) : jobs->end;
    jobs->from = lo > jobs->first ? lo : jobs->first;
    jobs->to = seen.hi < jobs->end ? seen.hi : jobs->end;
    jobs->open = jobs->idle = true;
    if (call->hides && jobs->from < jobs->to)
        look_at_operands(call, block, jobs->from, jobs->to, &jobs->left);
    plan_prefetch(jobs, &block->rows);
    return true;
}

/* Adds the strip at key j to a job, where its block sees something of it. */
static void add_strip(struct jobs *jobs, ptrdiff_t j, struct job *job)
{
    const struct call *call = jobs->call;
    const int strip = jobs->first_strip + (int)((j - jobs->first) / STRIP_KEYS);
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
static bool add_seen(struct jobs *jobs, struct job *job)
{
    enum { WIDTH = JOB_STRIPS * STRIP_KEYS };
    const struct group_block *rows = &job->block->rows;
    const ptrdiff_t j = jobs->falling ? jobs->to - WIDTH : jobs->from, behind = j + WIDTH;
    if (may_hide(jobs->call, job->block, behind) || rows->rows < BLOCK_ROWS || j < rows->full.lo ||
        behind > rows->full.hi || behind > jobs->to || j < jobs->from || j % STRIP_KEYS)
        return false;
    const int strip = jobs->first_strip + (int)((j - jobs->first) / STRIP_KEYS);
    const int32_t stride = (int32_t)(jobs->call->v_steps * PAIR_ELEMENTS);
    for (int s = 0; s < JOB_STRIPS; s++) {
        const int at = jobs->falling ? JOB_STRIPS - 1 - s : s;
        job->strip[s] = strip + at;
        job->key[s] = j + at * STRIP_KEYS;
        job->values[s] = (strip + at) * stride;
    }
    if (!job->shown)
        memset(job->seen, 0xff, sizeof job->seen);
    job->shown = true;
    job->strips = JOB_STRIPS;
    *(jobs->falling ? &jobs->to : &jobs->from) = jobs->falling ? j : behind;
    return true;
}

/* First key of the block's next strip, which is then behind. */
static ptrdiff_t next_strip(struct jobs *jobs)
{
    if (jobs->falling)
        return jobs->to = strip_start(jobs->to - 1);
    jobs->from += STRIP_KEYS;
    return jobs->from - STRIP_KEYS;
}

/* The next job of the task or, where tasks follow each other without a stop, of a later one; false if there
 * is none. */
static bool next_job(struct jobs *jobs, struct job *job)
{
    while (jobs->open || next_block(jobs) ||
           (jobs->call->sets > 1 && next_task(jobs) && next_block(jobs))) {
        struct block *block = &jobs->scratch->blocks[jobs->slot];
        job->block = block;
        job->strips = 0;
        job->masked = false;
        if (!add_seen(jobs, job)) {
            job->shown = false;
            while (job->strips < JOB_STRIPS && jobs->from < jobs->to)
                add_strip(jobs, next_strip(jobs), job);
        }
        if (job->strips || jobs->idle) {
            jobs->idle = false;
            return true;
        }
        jobs->open = false;
        jobs->rows += BLOCK_ROWS;
    }
    return false;
}
