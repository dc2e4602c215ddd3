/*
 * schedule.h: part of kernel split_kv: which units there are, and which thread computes them.
 *
 * From UNITS_PER_THREAD units per thread on, threads take whole units, which balance well enough, and whose
 * parts stay in the thread's cache.  Fewer units are dealt out by splits, so that all threads have work, and
 * their rows are merged at the end.  A task has several splits of a unit, or all, if all threads then get the
 * same number of tasks of equal work, otherwise one.  Single splits are short pieces of K and V, which threads
 * read side by side: tasks of several take 0.87 to 1.02 of the time on two cores, 0.7 to 0.95 probably on two
 * threads of one (four and eight rows, Zen 4, 2026-11-30).
 *
 * Sequences that differ in length are dealt out as whole units and as splits.  A unit is split if it costs
 * more than the average would with UNITS_PER_THREAD units per thread, so fewer than UNITS_PER_THREAD * threads
 * are, and into as many tasks as cost about that.  The other units are dealt out whole, the most expensive
 * first, so that the last ones are small.
 *
 * Neighbouring sequences whose tables begin with the same pages are a bundle: a task takes their units of a
 * KV head abreast through the splits that lie in shared pages, so that each block of keys comes from memory
 * once for all of them, and then one after the other through those of their own.  (Attention on a shared
 * prefix by itself, merged with the rest: Hydragen, Juravsky et al. 2024; Cascade Inference, FlashInfer 2024.
 * Parts of splits are merged here anyway, so that a row has the same bits as without neighbours.)
 */
#pragma once

#include "shared/shared_pages.h"
#include "unit.h"

struct schedule {
    const struct geometry *g;
    const struct attn_problem *problem;
    const struct attn_tensors *t;
    /* Tasks: first the splits of the units that are split, then units that are whole. */
    size_t tasks, split_tasks;
    size_t split_units;
    /* First sequence, task and unit of each bundle, the most expensive first, and an end: B + 1 entries.  Most
     * bundles are one sequence; NULL: all are, and of the same lengths. */
    size_t *order, *first_task, *first_unit;
    size_t *bundle; /* by its first sequence: how many it has */
    size_t bundles;
    size_t threads;
};

/* One unit, or some splits of it; or units of several heads from `head` on, or of sequences from b on, abreast.
 */
struct task {
    size_t b, head, index;
    size_t heads, sequences;
    size_t split, splits; /* the first and how many, where units are split */
    size_t slot;          /* that of the first split's part, of the first head */
    bool whole;
};

static struct attn_sequence schedule_sequence(const struct schedule *s, size_t b)
{
    return attn_sequence(s->problem, s->t, b);
}

/* ---- sequences that share pages -------------------------------------------------------------- */

/* Whether sequence c can be in the bundle that begins with b: a quarter of its keys are shared. */
static bool schedule_fits(const struct schedule *s, size_t b, size_t c)
{
    const struct attn_sequence first = schedule_sequence(s, b), other = schedule_sequence(s, c);
    return first.q_len && other.q_len &&
           geometry_split_keys(s->g, &first) == geometry_split_keys(s->g, &other) &&
           4 * prefix_keys(s->problem, s->t, b, c) >= other.kv_len && other.kv_len;
}

/* Cuts the sequences into bundles of at most `most`; returns how many there are. */
static size_t schedule_cut(struct schedule *s, size_t most)
{
    const size_t batch = s->problem->batch;
    size_t count = 0;
    for (size_t b = 0; b < batch; b += s->bundle[b], count++) {
        size_t n = 1;
        while (n < most && b + n < batch && schedule_fits(s, b, b + n))
            n++;
        s->bundle[b] = n;
    }
    return count;
}

/* The same, with enough bundles for all threads. */
static void schedule_bundles(struct schedule *s, int threads)
{
    const size_t enough = threads > 1 ? geometry_bundles(s->g) * (size_t)threads : 0;
    size_t most = s->g->bundle;
    s->bundles = schedule_cut(s, most);
    while (most > 1 && s->bundles * s->problem->kv_heads < enough) {
        most = (most + 1) / 2;
        s->bundles = schedule_cut(s, most);
    }
}

/* Splits of a bundle's sequences that begin in pages of all. */
static size_t schedule_shared(const struct schedule *s, const struct task *task)
{
    const struct attn_sequence first = schedule_sequence(s, task->b);
    const size_t each = geometry_split_keys(s->g, &first);
    size_t keys = geometry_keys(s->g, &first);
    for (size_t n = 1; n < task->sequences; n++)
        keys = geometry_minimum(keys, prefix_keys(s->problem, s->t, task->b, task->b + n));
    return (keys + each - 1) / each;
}

/* ---- sequences of their own lengths --------------------------------------------------------- */

/* Cost of a unit of the sequence: reading K and V of a key takes about as long as computing 16 rows. */
static double schedule_cost(const struct geometry *g, const struct attn_sequence *s)
{
    const size_t rows = geometry_minimum(g->group * s->q_len, g->unit_most);
    return (double)geometry_keys(g, s) * (double)(rows + 16);
}

/* Classes of cost, a power of two each, the most expensive first; the first is of sequences that are split. */
#define SCHEDULE_CLASSES 66

static size_t schedule_class(const struct schedule *s, size_t b, double limit)
{
    const struct attn_sequence sequence = schedule_sequence(s, b);
    const double cost = schedule_cost(s->g, &sequence) * (double)s->bundle[b];
    if (cost > limit && geometry_splits(s->g, &sequence) > 1 && s->bundle[b] == 1)
        return 0;
    int exponent;
    frexp(cost, &exponent);
    return (size_t)(SCHEDULE_CLASSES - 1 - (exponent < 0 ? 0 : exponent > 64 ? 64 : exponent));
}

/* Cost of a unit above which it is split. */
static double schedule_limit(const struct schedule *s, int threads)
{
    double total = 0;
    if (s->g->whole && !s->g->uneven)
        return INFINITY;
    for (size_t b = 0; b < s->problem->batch; b++) {
        const struct attn_sequence sequence = schedule_sequence(s, b);
        total += schedule_cost(s->g, &sequence) * (double)geometry_units(s->g, &sequence) *
                 (double)s->problem->kv_heads;
    }
    return threads == 1 ? total : total / UNITS_PER_THREAD / threads;
}

/* Tasks of a unit that is split: as many as cost about `limit` each, or one for each split. */
static size_t schedule_runs(const struct schedule *s, const struct attn_sequence *sequence,
                            double limit)
{
    const size_t splits = geometry_splits(s->g, sequence);
    const double runs = ceil(schedule_cost(s->g, sequence) / limit);
    return geometry_alike(s->g, s->problem, sequence) && runs < (double)splits ? (size_t)runs
                                                                               : splits;
}

/* `table` has the bundles. */
static void schedule_uneven(struct schedule *s, int threads, size_t *table)
{
    const size_t batch = s->problem->batch;
    const double limit = schedule_limit(s, threads);
    size_t start[SCHEDULE_CLASSES + 1] = {0};
    s->order = table + batch + 1;
    s->first_task = s->order + batch + 1;
    s->first_unit = s->first_task + batch + 1;
    for (size_t b = 0; b < batch; b += s->bundle[b])
        start[schedule_class(s, b, limit) + 1]++;
    const size_t split = start[1];
    for (int i = 0; i < SCHEDULE_CLASSES; i++)
        start[i + 1] += start[i];
    for (size_t b = 0; b < batch; b += s->bundle[b])
        s->order[start[schedule_class(s, b, limit)]++] = b;
    size_t units = 0;
    for (size_t i = 0; i < s->bundles; i++) {
        const struct attn_sequence sequence = schedule_sequence(s, s->order[i]);
        const size_t n = s->problem->kv_heads * geometry_units(s->g, &sequence);
        s->first_task[i] = s->tasks;
        s->first_unit[i] = units;
        units += n;
        s->tasks += i < split ? n * schedule_runs(s, &sequence, limit) : n;
        if (i + 1 == split) {
            s->split_tasks = s->tasks;
            s->split_units = units;
        }
    }
    s->first_task[s->bundles] = s->tasks;
    s->first_unit[s->bundles] = units;
}

/* Index of the last element of `first`, ascending, that is at most `index`. */
static size_t schedule_find(const size_t *first, size_t count, size_t index)
{
    size_t lo = 0, hi = count;
    while (hi - lo > 1) {
        const size_t middle = lo + (hi - lo) / 2;
        if (first[middle] <= index)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

/* ---- all ------------------------------------------------------------------------------------- */

static struct schedule schedule_of(const struct geometry *g, const struct attn_problem *problem,
                                   const struct attn_tensors *t, int threads, void *table)
{
    struct schedule s = {
        .g = g, .problem = problem, .t = t, .bundle = table, .threads = (size_t)threads};
    if (g->uneven || g->bundle > 1)
        schedule_bundles(&s, threads);
    if (g->uneven || (g->bundle > 1 && s.bundles < problem->batch)) {
        schedule_uneven(&s, threads, table);
        return s;
    }
    s.tasks = g->units / problem->kv_heads * geometry_groups(g, problem) * (g->splits / g->run);
    s.split_tasks = g->run < g->splits ? s.tasks : 0;
    s.split_units = g->run < g->splits ? g->units : 0;
    return s;
}

/* Unit `unit` of a sequence, whose KV heads have `each`. */
static struct task task_of_unit(size_t b, size_t unit, size_t each)
{
    return (struct task){
        .b = b, .head = unit / each, .index = unit % each, .heads = 1, .sequences = 1};
}

/* Unit `unit` of those that are split, and the slot of its first part. */
static struct task schedule_unit(const struct schedule *s, size_t unit, size_t *slot)
{
    const struct attn_sequence longest = {0, s->problem->q_len, 0, s->problem->kv_len};
    const size_t heads = s->problem->kv_heads;
    *slot = unit * s->g->splits;
    if (!s->order) { /* sequences are alike */
        const size_t each = geometry_units(s->g, &longest);
        return task_of_unit(unit / (heads * each), unit % (heads * each), each);
    }
    const size_t i = schedule_find(s->first_unit, s->bundles, unit);
    const struct attn_sequence sequence = schedule_sequence(s, s->order[i]);
    return task_of_unit(s->order[i], unit - s->first_unit[i], geometry_units(s->g, &sequence));
}

/* Task `index` where all sequences have the same lengths. */
static struct task schedule_even(const struct schedule *s, size_t index)
{
    const struct geometry *g = s->g;
    const struct attn_sequence longest = {0, s->problem->q_len, 0, s->problem->kv_len};
    const size_t heads = s->problem->kv_heads, groups = geometry_groups(g, s->problem);
    const size_t each = geometry_units(g, &longest), runs = g->splits / g->run, unit = index / runs;
    struct task task = task_of_unit(unit / (groups * each), unit % (groups * each), each);
    task.head *= g->abreast;
    task.heads = geometry_minimum(heads - task.head, g->abreast);
    task.whole = g->run == g->splits;
    task.split = index % runs * g->run;
    task.splits = g->run;
    task.slot = ((task.b * heads + task.head) * each + task.index) * g->splits + task.split;
    return task;
}

static struct task schedule_task(const struct schedule *s, size_t index)
{
    if (!s->order)
        return schedule_even(s, index);
    const size_t i = schedule_find(s->first_task, s->bundles, index);
    const struct attn_sequence sequence = schedule_sequence(s, s->order[i]);
    const size_t each = geometry_units(s->g, &sequence), splits = geometry_splits(s->g, &sequence);
    const size_t local = index - s->first_task[i];
    const size_t runs = (s->first_task[i + 1] - s->first_task[i]) / (s->problem->kv_heads * each);
    const size_t unit = local / runs, run = local % runs;
    struct task task = task_of_unit(s->order[i], unit, each);
    task.sequences = s->bundle[s->order[i]];
    task.whole = index >= s->split_tasks;
    task.split = run * splits / runs;
    task.splits = (run + 1) * splits / runs - task.split;
    task.slot = (s->first_unit[i] + unit) * s->g->splits + task.split;
    return task;
}

/* K and V of what the thread is likely to read after task i: whole units are dealt out in turns. */
static void schedule_after(const struct schedule *s, size_t i, struct unit *u,
                           struct cache after[2])
{
    if (!s->g->far || i + s->threads >= s->tasks)
        return;
    const struct task task = schedule_task(s, i + s->threads);
    const struct attn_sequence sequence = schedule_sequence(s, task.b);
    const struct group_block block =
        group_block_in(s->problem, &sequence, task.b, task.head, task.index, s->g->unit_most);
    const struct keys keys = keys_of(s->t, &block);
    cache_start(&after[0], &keys, &s->t->k);
    cache_start(&after[1], &keys, &s->t->v);
    u->k.after = &after[0];
    u->v.after = &after[1];
}
