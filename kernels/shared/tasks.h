/*
 * tasks.h: assigns tasks, each some query rows of a KV head, to threads; for kernel files only.
 *
 * The last queries of each head come first, as they have the most keys under a causal mask; if lengths of
 * sequences differ, those whose tasks have the most keys come first.  So the last tasks, for which other
 * threads wait, are short. Results do not depend on the order.
 */
#pragma once

#include "group.h"

/* An entry of the order in which sequences are processed. */
struct turn {
    size_t b, first; /* its first task */
};

struct tasks {
    const struct attn_problem *problem;
    const struct attn_tensors *tensors;
    size_t rows;              /* most rows of a task */
    const struct turn *turns; /* NULL: all sequences have the same lengths */
    size_t *taken;            /* how many tasks all threads together have begun */
    bool several;             /* more than one thread */
};

/* Whether lengths of sequences differ. */
static inline bool tasks_vary(const struct attn_problem *problem)
{
    return problem->options & (ATTN_OPTION_RAGGED | ATTN_OPTION_PACKED);
}

/* Floats of workspace for the order of sequences, including its end. */
static inline size_t tasks_floats(const struct attn_problem *problem)
{
    return tasks_vary(problem) ? (problem->batch + 1) * (sizeof(struct turn) / sizeof(float)) : 0;
}

/* Number of tasks for `rows` rows. */
static inline size_t tasks_of_rows(const struct tasks *tasks, size_t rows)
{
    return (rows + tasks->rows - 1) / tasks->rows;
}

/* Rows of a KV head of a sequence that may be in one task: all, or those of queries that share a list. */
static inline size_t tasks_joined(const struct tasks *tasks, const struct attn_sequence *sequence)
{
    const struct attn_problem *p = tasks->problem;
    const bool lists = p->options & ATTN_OPTION_INDEX && p->index_block < sequence->q_len;
    return p->q_heads / p->kv_heads * (lists ? p->index_block : sequence->q_len);
}

/* Number of tasks of a KV head of a sequence. */
static inline size_t tasks_of_head(const struct tasks *tasks, const struct attn_sequence *sequence)
{
    const size_t rows = tasks->problem->q_heads / tasks->problem->kv_heads * sequence->q_len;
    const size_t joined = tasks_joined(tasks, sequence);
    return rows ? rows / joined * tasks_of_rows(tasks, joined) + tasks_of_rows(tasks, rows % joined)
                : 0;
}

/* The estimated cost of a task of the sequence. */
static inline size_t tasks_cost(const struct tasks *tasks, size_t b)
{
    const struct attn_sequence s = attn_sequence(tasks->problem, tasks->tensors, b);
    const size_t rows = tasks->problem->q_heads / tasks->problem->kv_heads * s.q_len;
    return s.kv_len * (rows < tasks->rows ? rows : tasks->rows);
}

/* Sorts turns by their costs, in `first` (Shell sort), then replaces these by the index of each sequence's
 * first task. */
static inline void tasks_sort(struct tasks *tasks, struct turn *turns, size_t turn_count)
{
    for (size_t gap = turn_count / 2; gap > 0; gap /= 2)
        for (size_t n = gap; n < turn_count; n++) {
            const struct turn turn = turns[n];
            size_t at = n;
            for (; at >= gap && turns[at - gap].first < turn.first; at -= gap)
                turns[at] = turns[at - gap];
            turns[at] = turn;
        }
    size_t count = 0;
    for (size_t n = 0; n < turn_count; n++) {
        const struct attn_sequence s = attn_sequence(tasks->problem, tasks->tensors, turns[n].b);
        turns[n].first = count;
        count += tasks->problem->kv_heads * tasks_of_head(tasks, &s);
    }
    const struct turn end = {tasks->problem->batch, count};
    for (struct turn *rest = turns + turn_count; rest <= turns + end.b; rest++)
        *rest = end;
    tasks->turns = turns;
}

/* Sorts all sequences. */
static inline void tasks_order(struct tasks *tasks, struct turn *turns)
{
    const size_t batch = tasks->problem->batch;
    for (size_t b = 0; b < batch; b++)
        turns[b] = (struct turn){b, tasks_cost(tasks, b)};
    tasks_sort(tasks, turns, batch);
}

/* The sequence to which task `index` belongs; sequences without tasks are skipped. */
static inline struct turn tasks_turn(const struct tasks *tasks, size_t index)
{
    size_t lo = 0,
           hi = tasks->problem->batch; /* bisects for the last one that begins at or before */
    while (lo < hi) {
        const size_t middle = (lo + hi + 1) / 2;
        if (tasks->turns[middle].first <= index)
            lo = middle;
        else
            hi = middle - 1;
    }
    return tasks->turns[lo];
}

/* Task `index`, with no rows past the last. */
static inline struct group_block tasks_at(const struct tasks *tasks, size_t index)
{
    const struct attn_problem *p = tasks->problem;
    struct attn_sequence sequence = {0, p->q_len, 0, p->kv_len};
    struct turn turn = {0, 0};
    if (tasks->turns) {
        turn = tasks_turn(tasks, index);
        if (turn.b < p->batch)
            sequence = attn_sequence(p, tasks->tensors, turn.b);
    }
    const size_t steps = tasks_of_head(tasks, &sequence);
    if (!tasks->turns && steps > 0)
        turn.b = index / (p->kv_heads * steps);
    if (turn.b >= p->batch || steps == 0)
        return (struct group_block){0};
    const size_t step = steps - 1 - (index - turn.first) % steps;
    const size_t joined = tasks_joined(tasks, &sequence), each = tasks_of_rows(tasks, joined);
    const size_t done = step % each * tasks->rows, left = joined - done; /* of the joined rows */
    return group_rows_in(p, &sequence, turn.b, (index - turn.first) / steps % p->kv_heads,
                         step / each * joined + done, left < tasks->rows ? left : tasks->rows);
}

/* Takes the next task. */
static inline struct group_block tasks_next(const struct tasks *tasks)
{
    size_t index, *taken = tasks->taken;
    if (!tasks->several) /* an atomic addition waits for all stores before it */
        return tasks_at(tasks, (*taken)++);
#pragma omp atomic capture
    index = (*taken)++;
    return tasks_at(tasks, index);
}

/* The task that tasks_next() will probably return next. */
static inline struct group_block tasks_peek(const struct tasks *tasks)
{
    size_t index;
#pragma omp atomic read
    index = *tasks->taken;
    return tasks_at(tasks, index);
}
