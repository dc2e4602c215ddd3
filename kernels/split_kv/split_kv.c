/*
 * split_kv: few queries against many keys; the keys are split and the parts merged.
 *
 * Decoding has one query per sequence and a long KV cache: there are no queries to tile, and the time is that
 * of reading K and V once.  So the keys are divided into splits (Flash-Decoding, Dao, Haziza, Massa and Sizov
 * 2023), threads take splits of all heads from one queue, each gives (O, m, l) of its keys, and the parts of
 * a row are merged by their maxima and sums.
 *
 * A split has SPLIT_KEYS keys whatever the thread count, and parts are merged in the order of the keys: a row's
 * bits depend on its own operands alone, not on threads, repeats or batch.
 *
 * The query heads that share a KV head are rows of one unit, as are a head's queries: a block of keys is read
 * from memory once, and all of them use it while it is in L1.  A block that no row sees is not read, and one
 * that every row sees entirely is computed as without a mask.  If the rows of a key's KV heads are adjacent,
 * units of several heads process their blocks in turn; so do units of sequences that begin with the same
 * pages.
 *
 *   division     geometry.h, geometry_of.h; geometry_memory.h: the workspace; geometry_readings.h: ways to read
 *                rows; schedule.h: which thread takes which units and splits
 *   a unit       unit.h, unit_blocks.h: through blocks of keys (key_blocks.h) in tiles of up to eight rows
 *                (split_kv_tile.h); split_rows.h: a single row; split_merge.h, weights_output.h: results
 *   a block      cache.h: where its keys lie; mask_bits.h: which of them a row sees; split_kv_terms.h: what is
 *                added to scores; listed.h, listed_rows.h: keys that a list names
 *   products     arithmetic.h, of format.h, scores.h, values.h and, for 8 and 4 bits, byte_pairs.h, nibbles.h and
 *                nibble_pairs.h, nibble_scores.h, nibble_values.h
 *   shared keys  shared_keys.h, row_lanes.h: with pairs of bf16 in vectors of 64 bytes, rows of several sequences
 *                see them together, a row in each lane, and keep their bits
 *   amx          panels.h, matrix_products.h: panels of keys instead of blocks, and tiles of 16 rows.  K, and V for
 *                few rows, are read in place; 8 bits are widened and listed keys copied a block at a time.  Caches
 *                of 4 bits are left to vectors
 *
 *   memory    K and V once per 128 query rows of a KV head, pages and 8 bits in place; pages that
 *             adjacent sequences share at their beginning once for up to 32 of them
 *   parallel  over (sequence, KV head, some splits), or over (sequence, KV head) if these are many
 *   scratch   per thread Q and P of the units that a task takes in turn: with pages those of as many sequences as
 *             have 128 rows, at most 32, since a plan does not know the tables, and 0.2 MB for what these share in
 *             pairs of bf16 (at 128 dimensions).  A part, Dv + 2 floats per row, for each split of a unit, which
 *             is O(Skv): of a task's units per thread, of all units if these are few (below 8 per thread, or 64 if
 *             heads are neighbours), or both if sequences have lengths of their own or pages; a unit of latent
 *             attention of 128 heads has 0.26 MB per 1024 keys.  And 32 bytes for each sequence if these have
 *             their own lengths or may share pages
 *   instead   flash from about 16 query rows per KV head on, whose products need no reductions (nor do
 *             those of a matrix unit here)
 */
#include <omp.h>

#include "geometry_of.h"
#include "schedule.h"
#include "weights_output.h"
#if ROW_LANES
#include "shared_keys.h"
#endif
#if TAKES_F32
#include "split_rows.h"
#endif

/* Stores m and l of the unit's rows from their tiles. */
static void gather_sums(const struct unit *u, char *part)
{
    for (int i = 0, r = 0; i < u->tiles; i++)
        for (int h = 0; h < u->tile[i].rows; h++, r++) {
            const struct tile *t = &u->tile[i];
            float *sums = part_sums(u->g, part, r);
            sums[1] = 0;
            for (int lane = h; lane < VF_LANES; lane += t->rows)
                sums[1] += t->sum[lane];
            /* No score above -inf: the part is empty, or has NaN, which must reach the row. */
            const bool empty = t->limit[h] == -INFINITY && sums[1] == 0;
            sums[0] = empty ? -INFINITY : t->shift[h];
        }
}

/* Computes O of a unit again where scales of values made it infinite or NaN: with lower scales, by which it is
 * then multiplied. */
static void lower_scales(struct unit *u, struct attn_range keys, float *o)
{
    if (!u->scaling.values || results_are_finite(u) || !unit_overflows(u, keys.lo, keys.hi))
        return;
    u->lower = UNIT_LOWER;
    start_tiles(u, o);
    unit_keys(u, 1, &keys);
    for (int i = 0; i < u->tiles; i++)
        for (ptrdiff_t x = 0; x < u->tile[i].rows * u->tile[i].o_floats; x++)
            u->tile[i].o[x] *= 1 / UNIT_LOWER;
}

static struct attn_range keys_of_split(const struct unit *u, size_t index)
{
    const size_t each = geometry_split_keys(u->g, &u->block.sequence), first = index * each;
    const size_t end = geometry_minimum(first + each, geometry_keys(u->g, &u->block.sequence));
    return (struct attn_range){(ptrdiff_t)first, (ptrdiff_t)end};
}

/* Computes O, m and l of the rows of n units over the keys of a split into `part`, `step` bytes per unit. */
static void split(struct unit *u, int n, size_t index, char *part, size_t step)
{
    const struct geometry *g = u->g;
    struct attn_range keys[UNITS_ABREAST];
    bool any = false;
    for (int i = 0; i < n; i++) {
        const struct attn_range all = keys_of_split(&u[i], index);
        keys[i] = unit_look(&u[i], all.lo, all.hi);
        any |= keys[i].lo < keys[i].hi;
    }
    if (!any) {
        for (int i = 0; i < n; i++)
            for (int r = 0; r < u[i].rows; r++)
                *part_sums(g, part + (size_t)i * step, r) = -INFINITY;
#if TAKES_F32
    } else if (u->alone) {
        split_rows(u, n, keys, part, step);
#endif
    } else {
        int begun = 0;
#if ROW_LANES
        if (n > 1 && g->lanes[LANES_Q]) /* the first unit's scratch is the thread's */
            begun = see_shared_keys(u, n, keys, (char *)u->q - g->scratch[SCRATCH_Q], part, step);
#endif
        for (int i = begun; i < n; i++)
            start_tiles(&u[i], (float *)(part + (size_t)i * step));
        unit_keys(u, n, keys);
        for (int i = 0; i < n; i++) {
            lower_scales(&u[i], keys[i], (float *)(part + (size_t)i * step));
            gather_sums(&u[i], part + (size_t)i * step);
        }
    }
}

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    const struct geometry g = geometry_of(problem, threads);
    return geometry_workspace(&g, threads);
}

/* The unit of the task's first head. */
static void unit_of_task(struct unit *u, const struct schedule *s, const struct task *task,
                         char *scratch)
{
    const struct attn_sequence sequence = schedule_sequence(s, task->b);
    unit_start(u, s->g, s->problem, s->t, &sequence, task->b, task->head, task->index, scratch);
}

/* The units of all heads, or sequences, of the task; returns how many. */
static int units_of_task(const struct schedule *s, const struct task *task, char *scratch,
                         struct unit *u)
{
    struct task one = *task;
    unit_of_task(u, s, &one, scratch);
    for (size_t i = 1; i < task->heads; i++) {
        one.head++;
        unit_of_task(&u[i], s, &one, scratch + i * s->g->unit_bytes);
    }
    one.head = task->head;
    for (size_t i = 1; i < task->sequences; i++) {
        one.b++;
        unit_of_task(&u[i], s, &one, scratch + i * s->g->unit_bytes);
        u[i].shared = (ptrdiff_t)prefix_keys(s->problem, s->t, task->b, one.b);
        if (u[i].reading == READING_APART) /* a reading for keys from memory */
            u[i].reading = READING_ABREAST;
    }
    return (int)(task->heads > task->sequences ? task->heads : task->sequences);
}

/* Weights of the unit's rows over the keys of a split, by what merge_row() stored in the first part; the
 * split's own part is scratch. */
static void report(struct unit *u, size_t index, char *parts, char *part)
{
    report_split(u, keys_of_split(u, index), part_merged(u->g, parts), (float *)part);
}

/* All splits of n units, whose parts are `step` bytes apart: the first `shared` splits of all units in turn,
 * then the others, and merges their rows. */
static void execute_whole(struct unit *u, int n, size_t shared, char *parts, size_t step)
{
    const size_t each = u->g->part_bytes;
    for (size_t s = 0; s < shared; s++)
        split(u, n, s, parts + s * each, step);
    for (int i = 0; i < n; i++, parts += step) {
        const size_t splits = geometry_splits(u->g, &u[i].block.sequence);
        u[i].shared = 0;
        for (size_t s = shared; s < splits; s++)
            split(&u[i], 1, s, parts + s * each, step);
        for (int r = 0; r < u[i].rows; r++)
            merge_row(&u[i], r, parts, splits);
        for (size_t s = 0; u->block.problem->outputs & ATTN_OUTPUT_WEIGHTS && s < splits; s++)
            report(&u[i], s, parts, parts + s * each);
    }
}

/* The unit whose rows a thread merges: `index` of those that were split. */
struct merging {
    size_t index, slot;
    struct unit u;
};

static const size_t no_unit = SIZE_MAX;

/* Merges row i of the rows of units that were split. */
static void merge_split(const struct schedule *s, size_t i, struct merging *m, char *scratch,
                        char *slots)
{
    const struct geometry *g = s->g;
    if (m->index != i / g->unit_rows) {
        m->index = i / g->unit_rows;
        const struct task task = schedule_unit(s, m->index, &m->slot);
        unit_of_task(&m->u, s, &task, scratch);
    }
    const int r = (int)(i % g->unit_rows);
    if (r < m->u.rows)
        merge_row(&m->u, r, slots + m->slot * g->part_bytes,
                  geometry_splits(g, &m->u.block.sequence));
}

/* A task: its splits, merged if it has all of its units'.  Parts of whole units are the thread's own if it has
 * some, otherwise those of the units. */
static void execute_task(const struct schedule *s, size_t i, char *scratch, char *own, char *slots)
{
    const size_t part = s->g->part_bytes;
    const struct task task = schedule_task(s, i);
    struct unit u[UNITS_ABREAST];
    const int n = units_of_task(s, &task, scratch, u);
    struct cache after[2];
    if (task.whole && n == 1)
        schedule_after(s, i, u, after);
    const size_t head = geometry_units(s->g, &u->block.sequence) * s->g->splits * part;
    if (task.whole && s->g->own)
        execute_whole(u, n, schedule_shared(s, &task), own, s->g->splits * part);
    else if (task.whole)
        execute_whole(u, n, schedule_shared(s, &task), slots + task.slot * part, head);
    else
        for (size_t k = 0; k < task.splits; k++)
            split(u, n, task.split + k, slots + (task.slot + k) * part, head);
}

/* Weights over the keys of a task's splits, after its rows are merged. */
static void report_task(const struct schedule *s, size_t i, char *scratch, char *slots)
{
    const size_t part = s->g->part_bytes;
    const struct task task = schedule_task(s, i);
    struct unit u;
    unit_of_task(&u, s, &task, scratch);
    for (size_t k = 0; k < task.splits; k++)
        report(&u, task.split + k, slots + (task.slot - task.split) * part,
               slots + (task.slot + k) * part);
}

/* Rows to merge, and tasks whose weights are asked for, after all tasks. */
static size_t rows_to_merge(const struct schedule *s)
{
    return s->split_units * s->g->unit_rows;
}

static size_t tasks_to_report(const struct schedule *s)
{
    return s->problem->outputs & ATTN_OUTPUT_WEIGHTS ? s->split_tasks : 0;
}

/* The thread's tiles, which the unit's products use: a caller's do not survive a call. */
static void matrix_unit_begin(void)
{
#if MATRIX_UNIT
    tiles_configure();
#endif
}

static void matrix_unit_end(void)
{
#if MATRIX_UNIT
    tiles_release();
#endif
}

/* All tasks on this thread, without OpenMP, whose team and loops would cost a small problem a third of its
 * time. */
static void execute_alone(const struct schedule *s, char *scratch, char *own, char *slots)
{
    matrix_unit_begin();
    for (size_t i = 0; i < s->tasks; i++)
        execute_task(s, i, scratch, own, slots);
    struct merging merging;
    merging.index = no_unit;
    for (size_t i = 0; i < rows_to_merge(s); i++)
        merge_split(s, i, &merging, scratch, slots);
    for (size_t i = 0; i < tasks_to_report(s); i++)
        report_task(s, i, scratch, slots);
    matrix_unit_end();
}

/* A thread's part of the team's work: tasks from one queue, then rows of units that were split. */
static void execute_part(const struct schedule *s, char *scratch, char *own, char *slots)
{
    matrix_unit_begin();
#pragma omp for schedule(dynamic) nowait
    for (size_t i = 0; i < s->tasks; i++)
        execute_task(s, i, scratch, own, slots);
    if (rows_to_merge(s)) {
        struct merging merging;
        merging.index = no_unit;
#pragma omp barrier
#pragma omp for schedule(static)
        for (size_t i = 0; i < rows_to_merge(s); i++)
            merge_split(s, i, &merging, scratch, slots);
    }
    if (tasks_to_report(s)) {
#pragma omp for schedule(dynamic) nowait
        for (size_t i = 0; i < tasks_to_report(s); i++)
            report_task(s, i, scratch, slots);
    }
    matrix_unit_end();
}

/* The workspace: each thread's scratch, then slots, those of threads first, then the table. */
static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct geometry g = geometry_of(&plan->problem, plan->threads);
    const size_t threads = (size_t)plan->threads, slot_bytes = g.splits * g.part_bytes;
    char *const scratch = plan->workspace, *const own = scratch + threads * g.thread_bytes;
    char *const slots = own + g.own * slot_bytes;
    const struct schedule schedule =
        schedule_of(&g, &plan->problem, tensors, plan->threads, own + g.slots * slot_bytes);
    if (plan->threads == 1 || schedule.tasks == 1) {
        execute_alone(&schedule, scratch, own, slots);
        return;
    }
#pragma omp parallel num_threads(plan->threads)
    {
        const size_t thread = (size_t)omp_get_thread_num();
        execute_part(&schedule, scratch + thread * g.thread_bytes,
                     own + thread * geometry_together(&g) * slot_bytes, slots);
    }
}

#if MATRIX_UNIT
#define LEAST_ROWS 8 /* the matrix unit is faster from 8 rows on; with 4 avx512_2fma is */

static bool supports(const struct attn_problem *problem, const char **why)
{
    const size_t rows = group_rows(problem), most = geometry_unit_most(problem);
    *why = problem->options & ATTN_OPTION_INDEX
               ? "fewer than 8 query rows of a list, for which avx512 is faster"
               : "fewer than 8 query rows of a KV head, for which avx512 is faster";
    return geometry_minimum(rows, most) >= LEAST_ROWS;
}
#endif

const struct attn_kernel ATTN_KERNEL = {
    .size = sizeof(struct attn_kernel),
    .name = "split_kv",
    .summary = "decode: keys in fixed splits, a group's heads share each row, parts merged",
    .source = "Flash-Decoding, Dao, Haziza, Massa and Sizov 2023",
    .isa = ATTN_KERNEL_ISA,
    .caps.size = sizeof(struct attn_caps),
    .caps.dtypes = (TAKES_F32 ? ATTN_BIT(ATTN_F32) : 0) | (TAKES_BF16 ? ATTN_BIT(ATTN_BF16) : 0) |
                   (TAKES_F16 ? ATTN_BIT(ATTN_F16) : 0),
    .caps.compute = BF16_PAIRS || MATRIX_UNIT ? ATTN_BF16 : ATTN_F32,
    .caps.masks = ATTN_MASKS_ALL,
#if MATRIX_UNIT
    .supports = supports,
    .caps.kv_dtypes = ATTN_BIT(ATTN_I8) | ATTN_BIT(ATTN_F8E4M3) | ATTN_BIT(ATTN_F8E5M2),
#else
    .caps.kv_dtypes = ATTN_DTYPES_SCALED,
#endif
    .caps.options = ATTN_OPTIONS_ALL | ATTN_OPTION_INDEX,
    .caps.outputs = ATTN_OUTPUTS_ALL,
    .caps.forward = true,
    .caps.parallel = true,
    .workspace_size = workspace_size,
    .execute = execute,
};
