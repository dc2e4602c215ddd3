/*
 * flash: one pass over the keys in tiles of queries and blocks of keys; the fast one.
 *
 * Scores are made, exponentiated and used while they are in the first-level cache, with a running
 * maximum and sum as in online (FlashAttention-2, Dao 2023, arXiv:2307.08691).  Queries lie in the
 * lanes: S^T = K Q^T and O^T = V^T P^T, so that maximum, sum, rescaling and mask are operations on
 * whole vectors, K and V are read by scalar broadcast where they lie, and only the queries and
 * the results are transposed, once each.
 *
 *   memory    reads K and V once per FLASH_TILES * FLASH_TILE query rows; skips masked blocks
 *   parallel  over (batch, KV head, query tiles), the tiles with the most keys of a head first
 *   scratch   per thread one block of scores and FLASH_TILES tiles of queries and results
 *   instead   split_kv for decode: a few queries leave most lanes and threads idle here
 */
#include <omp.h>

#include "flash_softmax.h"
#ifdef __AVX512BF16__
#include "flash_bf16.h"
#else
#include "flash_wide.h"
#endif

/* Tiles that share each block of K and V while it is in the second-level cache. */
#define FLASH_TILES 4

/* ---- scratch: the score block, then each tile's q and o -------------------------------------- */

static const struct flash_type *type_of(enum attn_dtype dtype)
{
#ifdef __AVX512BF16__
    (void)dtype; /* the variant has no other */
    return &flash_bf16;
#else
    return dtype == ATTN_F32 ? &flash_f32 : &flash_wide;
#endif
}

static size_t thread_floats(const struct attn_problem *p)
{
    const size_t dims = p->qk_dim + p->v_dim;
    const size_t packed = type_of(p->dtype)->pack ? FLASH_PACKED(dims) : 0;
    return FLASH_TILE * (FLASH_KEYS + FLASH_TILES * dims) + packed;
}

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    return attn_threads_bytes(threads, thread_floats(problem));
}

/* ---- one tile and one block of keys ---------------------------------------------------------- */

static struct attn_range intersect(struct attn_range a, struct attn_range b)
{
    const struct attn_range r = {a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
    return r.lo < r.hi ? r : (struct attn_range){b.lo, b.lo};
}

/* The range grown to whole pairs of keys, as far as the block goes: keys that it gains are masked. */
static struct attn_range whole_pairs(const struct flash_block *block, struct attn_range keys)
{
    const ptrdiff_t pair = block->job->type->pair, end = block->first + block->keys;
    if (keys.lo == keys.hi)
        return keys;
    keys.lo -= (keys.lo - block->first) % pair;
    keys.hi += (keys.hi - block->first) % pair;
    keys.hi = keys.hi < end ? keys.hi : end;
    return keys;
}

/* Appends the rows `keys` of the block for these columns, unless there are none. */
static void add_part(struct flash_part *parts, int *n, const struct flash_block *block,
                     const struct flash_tile *t, int col, int cols, struct attn_range keys)
{
    if (keys.lo >= keys.hi)
        return;
    struct attn_range all = t->column[col].full;
    if (cols == 2)
        all = intersect(t->column[1].full, all);
    all = intersect(all, keys);
    parts[(*n)++] = (struct flash_part){
        .col = col,
        .cols = cols,
        .from = (int)(keys.lo - block->first),
        .to = (int)(keys.hi - block->first),
        .full_from = (int)(all.lo - block->first),
        .full_to = (int)(all.hi - block->first),
    };
}

/* Splits the block's rows by the columns that see them; returns the number of parts, at most 5. */
static int split(const struct flash_block *block, const struct flash_tile *t,
                 struct flash_part parts[5])
{
    const struct attn_range keys = {block->first, block->first + block->keys};
    const struct attn_range a = whole_pairs(block, intersect(t->column[0].seen, keys));
    const struct attn_range b = whole_pairs(block, intersect(t->column[1].seen, keys));
    const struct attn_range both = intersect(a, b);
    int n = 0;
    if (both.lo == both.hi) {
        add_part(parts, &n, block, t, 0, 1, a);
        add_part(parts, &n, block, t, 1, 1, b);
        return n;
    }
    add_part(parts, &n, block, t, 0, 2, both);
    add_part(parts, &n, block, t, 0, 1, (struct attn_range){a.lo, both.lo});
    add_part(parts, &n, block, t, 1, 1, (struct attn_range){b.lo, both.lo});
    add_part(parts, &n, block, t, 0, 1, (struct attn_range){both.hi, a.hi});
    add_part(parts, &n, block, t, 1, 1, (struct attn_range){both.hi, b.hi});
    return n;
}

/* Scores of a part.  Its fully visible rows make the maximum on the way; the rows before and
 * after, rounded to whole register tiles, go through the mask. */
static void score_part(const struct flash_block *block, const struct flash_tile *t,
                       const struct flash_part *part, vf top[FLASH_COLS])
{
    const struct flash_type *type = block->job->type;
    const int ragged = part->full_from - part->from;
    int from = part->from + (ragged + FLASH_ROWS - 1) / FLASH_ROWS * FLASH_ROWS;
    from = from < part->to ? from : part->to;
    int to = part->to;
    if (part->full_to < to)
        to = part->full_to > from ? from + (part->full_to - from) / FLASH_ROWS * FLASH_ROWS : from;
    vf unused[FLASH_COLS] = {{0}};
    type->scores(block, t, part, part->from, from, unused);
    type->scores(block, t, part, from, to, top);
    type->scores(block, t, part, to, part->to, unused);
    flash_mask(block, t, part, part->from, from, top);
    flash_mask(block, t, part, to, part->to, top);
}

/* Weighted values of a part; where a key is masked for some queries its values must be finite to
 * be multiplied by 0. */
static void value_part(const struct flash_block *block, struct flash_tile *t,
                       const struct flash_part *part, bool fresh)
{
    const struct flash_type *type = block->job->type;
    int from = part->from, to = part->to;
    if (!type->finite(block, from, part->full_from))
        from = part->full_from + part->full_from % type->pair;
    if (!type->finite(block, part->full_to, to))
        to = part->full_to - part->full_to % type->pair;
    from = from < to ? from : to;
    type->values(block, t, part, from, to, fresh);
    flash_values_guarded(block, t, part, part->from, from);
    flash_values_guarded(block, t, part, to, part->to);
}

static void attend(const struct flash_block *block, struct flash_tile *t)
{
    const struct flash_job *job = block->job;
    struct flash_part parts[5];
    const int n = split(block, t, parts);
    if (!n)
        return;
    vf top[FLASH_COLS], shifts[FLASH_COLS];
    for (int c = 0; c < FLASH_COLS; c++)
        top[c] = vf_set1(-INFINITY);
    for (int i = 0; i < n; i++)
        score_part(block, t, &parts[i], top);
    const vf *shift = flash_raise(t, top, shifts, job->v_dim);
    for (int i = 0; i < n; i++)
        job->type->weights(block, t, &parts[i], shift);

    const bool fresh = !t->started && n == 1 && parts[0].cols * VF_LANES >= t->rows;
    if (!t->started && !fresh)
        memset(t->o, 0, (size_t)job->v_dim * FLASH_TILE * sizeof *t->o);
    t->started = true;
    for (int i = 0; i < n; i++)
        value_part(block, t, &parts[i], fresh);
}

/* ---- a task: a few tiles and all their keys -------------------------------------------------- */

/* Prepares the tile of rows `at` and following of a task; its q and o lie at `memory`. */
static void open_tile(const struct flash_job *job, struct flash_tile *t,
                      const struct group_block *task, size_t at, float *memory)
{
    t->rows = 0;
    for (int c = 0; c < FLASH_COLS; c++, at += VF_LANES) {
        t->column[c] = group_part(task, at, VF_LANES);
        t->rows += (int)t->column[c].rows;
    }
    t->q = memory;
    t->o = memory + job->problem->qk_dim * FLASH_TILE;
    job->type->load(job, t);
    flash_reset(t);
}

static void write_lse(const struct flash_job *job, const struct flash_tile *t)
{
    for (int c = 0; c < FLASH_COLS; c++)
        for (size_t i = 0; i < t->column[c].rows; i++)
            *group_row_f32(&t->column[c], &job->tensors->lse, i) =
                (float)(((double)t->m[c][i] + log2((double)t->l[c][i])) * M_LN2);
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

/* Register tiles, and so calls of flash_ahead_fetch(), of a tile of queries and so many keys. */
static size_t register_tiles(const struct flash_job *job, int keys)
{
    const size_t rows = FLASH_ROWS, k = (size_t)keys, v = (size_t)job->v_dim;
    return (k + rows - 1) / rows + (v + rows - 1) / rows;
}

/* Plans what to fetch during the block at `first` of `task`, in so many calls: its next block or
 * what `next`, the task to follow if there is one, reads first. */
static void look_ahead(const struct flash_job *job, struct flash_ahead *ahead,
                       const struct group_block *task, const struct group_block *next,
                       ptrdiff_t first, size_t calls)
{
    const struct attn_problem *p = job->problem;
    flash_ahead_clear(ahead);
    first += FLASH_KEYS;
    if (first >= task->seen.hi) {
        if (!next->rows)
            return;
        flash_ahead_queries(ahead, &job->tensors->q, next, p->qk_dim);
        task = next;
        first = block_start(task->seen.lo);
    }
    if (first < task->seen.hi) {
        const ptrdiff_t keys = block_keys(first, task->seen.hi);
        flash_ahead_keys(ahead, &job->tensors->k, task, p->qk_dim, first, keys);
        flash_ahead_keys(ahead, &job->tensors->v, task, p->v_dim, first, keys);
    }
    flash_ahead_share(ahead, calls);
}

static void run_task(const struct flash_job *job, const struct group_block *task,
                     const struct group_block *next, float *scratch)
{
    const size_t floats = FLASH_TILE * (job->problem->qk_dim + job->problem->v_dim);
    struct flash_tile tiles[FLASH_TILES];
    int n = 0;
    for (size_t at = 0; at < task->rows; at += FLASH_TILE, n++)
        open_tile(job, &tiles[n], task, at, scratch + FLASH_TILE * FLASH_KEYS + (size_t)n * floats);

    struct flash_ahead ahead;
    struct flash_block block = {.job = job, .ahead = &ahead, .s = scratch};
    block.packed = scratch + FLASH_TILE * FLASH_KEYS + FLASH_TILES * floats;
    for (block.first = block_start(task->seen.lo); block.first < task->seen.hi;
         block.first += FLASH_KEYS) {
        block.keys = (int)block_keys(block.first, task->seen.hi);
        block.k = attn_row(&job->tensors->k, task->b, task->g, (size_t)block.first);
        block.v = attn_row(&job->tensors->v, task->b, task->g, (size_t)block.first);
        block.k_stride = job->tensors->k.stride[2];
        block.v_stride = job->tensors->v.stride[2];
        if (job->type->pack)
            job->type->pack(&block);
        look_ahead(job, &ahead, task, next, block.first,
                   (size_t)n * register_tiles(job, block.keys));
        for (int i = 0; i < n; i++)
            attend(&block, &tiles[i]);
    }
    for (int i = 0; i < n; i++) {
        if (job->problem->outputs & ATTN_OUTPUT_O)
            job->type->store(job, &tiles[i]);
        if (job->problem->outputs & ATTN_OUTPUT_LSE)
            write_lse(job, &tiles[i]);
    }
}

/* ---- the whole problem ----------------------------------------------------------------------- */

static struct flash_job make_job(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = &plan->problem;
    /* smaller tasks for more threads; what a tile computes does not depend on its companions */
    const size_t heads = p->batch * p->kv_heads, rows = group_rows(p);
    size_t tiles = FLASH_TILES;
    while (plan->threads > 1 && tiles > 1 &&
           heads * (rows / (tiles * FLASH_TILE)) < 4 * (size_t)plan->threads)
        tiles--;
    return (struct flash_job){
        .problem = p,
        .tensors = tensors,
        .type = type_of(p->dtype),
        .rows = tiles * FLASH_TILE,
        .qk_dim = (int)p->qk_dim,
        .v_dim = p->outputs & ATTN_OUTPUT_O ? (int)p->v_dim : 0,
        .scale = (float)((double)attn_problem_scale(p) * M_LOG2E),
    };
}

/* Task `index`, with no rows past the last.  Of each head the last queries come first: under a
 * causal mask they have the most keys. */
static struct group_block task_at(const struct flash_job *job, size_t index)
{
    const struct attn_problem *p = job->problem;
    const size_t steps = (group_rows(p) + job->rows - 1) / job->rows;
    const size_t head = index / steps;
    if (head >= p->batch * p->kv_heads)
        return (struct group_block){0};
    return group_block_at(p, head / p->kv_heads, head % p->kv_heads, steps - 1 - index % steps,
                          job->rows);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct flash_job job = make_job(plan, tensors);
    size_t taken = 0;
#pragma omp parallel num_threads(plan->threads) if (plan->threads > 1)
    {
        float *scratch = attn_thread_scratch(plan, omp_get_thread_num());
        struct group_block task = {0}, next = {0};
        do {
            size_t index;
#pragma omp atomic capture
            index = taken++;
            task = next;
            next = task_at(&job, index);
            if (task.rows)
                run_task(&job, &task, &next, scratch);
        } while (next.rows);
    }
}

const struct attn_kernel ATTN_KERNEL = {
    .size = sizeof(struct attn_kernel),
    .name = "flash",
    .summary = "fused tiles, online softmax, queries in the lanes, parallel",
    .source = "Dao 2023, FlashAttention-2, arXiv:2307.08691",
    .isa = ATTN_KERNEL_ISA,
    .caps.size = sizeof(struct attn_caps),
#ifdef __AVX512BF16__
    .caps.dtypes = ATTN_BIT(ATTN_BF16),
    .caps.compute = ATTN_BF16,
#else
    .caps.dtypes = ATTN_BIT(ATTN_F32) | ATTN_BIT(ATTN_BF16) | ATTN_BIT(ATTN_F16),
    .caps.compute = ATTN_F32,
#endif
    .caps.masks = ATTN_MASKS_POSITIONAL,
    .caps.options = ATTN_OPTION_WINDOW,
    .caps.outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE,
    .caps.forward = true,
    .caps.parallel = true,
    .caps.max_dim = INT32_MAX, /* times a tile, threads and 4 bytes it still fits in size_t */
    .workspace_size = workspace_size,
    .execute = execute,
};
