/*
 * tasks.h: part of kernel flash: hands out tasks, a few tiles of queries of a KV head each.
 *
 * Of each head the last queries come first: under a causal mask they have the most keys.  Sequences
 * of their own lengths take turns, those whose tasks have the most keys first, so that the last tasks
 * of all, for which some threads wait, are short ones.  What a task computes does not depend on that.
 */
#ifndef ATTN_FLASH_TASKS_H
#define ATTN_FLASH_TASKS_H

#include "tile.h"

/* A sequence in the order in which they are worked on. */
struct turn {
    size_t b, first; /* its first task */
};

/* Whether sequences have their own lengths. */
static bool lengths_vary(const struct attn_problem *problem)
{
    return problem->options & (ATTN_OPTION_RAGGED | ATTN_OPTION_PACKED);
}

/* Floats that the order of sequences takes; it has an end. */
static size_t turns_floats(const struct attn_problem *problem)
{
    return lengths_vary(problem) ? (problem->batch + 1) * (sizeof(struct turn) / sizeof(float)) : 0;
}

/* Tasks of a KV head of a sequence. */
static size_t steps_of(const struct job *job, const struct attn_sequence *sequence)
{
    const size_t group = job->problem->q_heads / job->problem->kv_heads;
    return (group * sequence->q_len + job->rows - 1) / job->rows;
}

/* What a task of the sequence may cost. */
static size_t task_cost(const struct job *job, size_t b)
{
    const struct attn_sequence s = attn_sequence(job->problem, job->tensors, b);
    const size_t rows = job->problem->q_heads / job->problem->kv_heads * s.q_len;
    return s.kv_len * (rows < job->rows ? rows : job->rows);
}

/* Puts sequences in order, by Shell's method, and counts their tasks. */
static void order_turns(struct job *job, struct turn *turns)
{
    const size_t batch = job->problem->batch;
    for (size_t b = 0; b < batch; b++)
        turns[b] = (struct turn){b, task_cost(job, b)};
    for (size_t gap = batch / 2; gap > 0; gap /= 2)
        for (size_t n = gap; n < batch; n++) {
            const struct turn turn = turns[n];
            size_t at = n;
            for (; at >= gap && turns[at - gap].first < turn.first; at -= gap)
                turns[at] = turns[at - gap];
            turns[at] = turn;
        }
    size_t tasks = 0;
    for (size_t n = 0; n < batch; n++) {
        const struct attn_sequence s = attn_sequence(job->problem, job->tensors, turns[n].b);
        turns[n].first = tasks;
        tasks += job->problem->kv_heads * steps_of(job, &s);
    }
    turns[batch] = (struct turn){batch, tasks};
    job->turns = turns;
}

/* The sequence whose turn task `index` falls in; turns of no tasks are passed over. */
static struct turn turn_of(const struct job *job, size_t index)
{
    size_t lo = 0, hi = job->problem->batch; /* of those in lo .. hi the last that begins before */
    while (lo < hi) {
        const size_t middle = (lo + hi + 1) / 2;
        if (job->turns[middle].first <= index)
            lo = middle;
        else
            hi = middle - 1;
    }
    return job->turns[lo];
}

/* Task `index`, with no rows past the last. */
static struct group_block task_at(const struct job *job, size_t index)
{
    const struct attn_problem *p = job->problem;
    struct attn_sequence sequence = {0, p->q_len, 0, p->kv_len};
    struct turn turn = {0, 0};
    if (job->turns)
        turn = turn_of(job, index);
    else
        turn.b = index / (p->kv_heads * steps_of(job, &sequence));
    if (turn.b >= p->batch)
        return (struct group_block){0};
    if (job->turns)
        sequence = attn_sequence(p, job->tensors, turn.b);
    const size_t steps = steps_of(job, &sequence), step = (index - turn.first) % steps;
    return group_block_in(p, &sequence, turn.b, (index - turn.first) / steps % p->kv_heads,
                          steps - 1 - step, job->rows);
}

/* The next task that no thread has taken. */
static struct group_block take(const struct job *job)
{
    size_t index, *taken = job->taken;
    if (!job->several) /* an atomic addition waits for all stores before it */
        return task_at(job, (*taken)++);
#pragma omp atomic capture
    index = (*taken)++;
    return task_at(job, index);
}

/* Where the keys of a task are. */
static struct keys keys_of(const struct job *job, const struct group_block *task)
{
    return (struct keys){job->problem, job->tensors, task->sequence, task->b, task->g};
}

/* First key of the block that holds key j: the same for every tile and any number of threads. */
static ptrdiff_t block_start(ptrdiff_t j)
{
    return j / FLASH_KEYS * FLASH_KEYS;
}

static ptrdiff_t block_keys(ptrdiff_t first, ptrdiff_t end)
{
    return end - first < FLASH_KEYS ? end - first : FLASH_KEYS;
}

/* Rows of a task: smaller tasks for more threads; what a tile computes does not depend on its
 * companions. */
static size_t task_rows(const struct attn_problem *p, const struct attn_tensors *tensors,
                        int threads)
{
    size_t tiles = FLASH_TILES;
    for (; threads > 1 && tiles > 1; tiles--) {
        size_t tasks = 0;
        for (size_t b = 0; b < p->batch; b++)
            tasks += p->q_heads / p->kv_heads * attn_sequence(p, tensors, b).q_len /
                     (tiles * FLASH_TILE);
        if (p->kv_heads * tasks >= 4 * (size_t)threads)
            break;
    }
    return tiles * FLASH_TILE;
}

#endif
