/*
 * flash: one pass over the keys in tiles of queries and blocks of keys; the fast one.
 *
 * Scores are made, exponentiated and used while they are in the first-level cache, with a running
 * maximum and sum as in online (FlashAttention-2, Dao 2023, arXiv:2307.08691).  Queries lie in the
 * lanes: S^T = K Q^T and O^T = V^T P^T, so that maximum, sum, rescaling and mask are operations on
 * whole vectors, K and V are read by scalar broadcast where they lie, and only the queries and
 * the results are transposed, once each.
 *
 *   memory    reads K and V once per FLASH_TILES * FLASH_TILE query rows, keys of a list once per as many
 *             rows that share it, and pages that neighbouring sequences begin with once per as many rows of
 *             all of them (bundles.h); skips masked blocks
 *   parallel  over (batch, KV head, query tiles), the tiles with the most keys of a head first
 *   scratch   per thread one block of scores, FLASH_TILES tiles of queries and results, and a block of K
 *             and V where these are packed, whatever the lengths; and where sequences have lengths of
 *             their own 16 bytes for each, 24 where they may share pages
 *   instead   split_kv for decode: a few queries leave most lanes and threads idle here
 *
 * flash.c cuts the problem into tasks (flash_tasks.h, bundles.h), flash_run.h computes a task, and
 * shared/prefetch.h fetches what comes next.  strips.h, direct.h, speculation.h and tile_block.h take a tile
 * (flash_tile.h) through a block of keys; mask_runs.h, score_passes.h and flash_terms.h do so where masks,
 * bias, ALiBi or a cap change scores.  maximum.h keeps a tile's maximum.  strip_products.h calls register tiles
 * (register_tiles.h, register_sums.h) in the arithmetic of the variant (products.h).  tile_operands.h moves
 * rows in and out, and results.h ends a tile.
 *
 * What a block of keys adds to l and o is summed by itself: errors of sums over Skv keys are at most
 * FLASH_KEYS + Skv / FLASH_KEYS unit roundoffs; a sum from key to key would have Skv.
 *
 * Why these sizes (flash_sizes.h).  A vector of scores costs D + Dv FMAs, 128 at D = 64.  Zen 4 has one unit of
 * 512 bits for them and pipes beside it; Intel's two units execute all vector instructions (docs/tuning.md).
 *
 *   register tile  keys x vectors  registers  loads: FMAs
 *     avx512           8 x 2        19 of 32   10: 16, no limit to one unit
 *     avx512_2fma      6 x 4        29 of 32   10: 24, 90 % of the clock without loads (8 x 2: 85)
 *     avx2             6 x 2        15 of 16    8: 12
 *     neon, sve        8 x 2        26 of 32   16: 64, factors from lanes; four pipes want 16 sums
 *     neon_bf16        8 x 2        24 of 32    8: 16 BFMMLAs, 2 keys by 2 queries, 4 cycles
 *   exponentials   12 instructions, 9 of which Zen 4 runs on idle pipes beside products (speculation.h).  AArch64
 *                  and Intel make weights in registers, Intel in 8 (direct.h).
 *   block          256 keys: scores, 32 KB, stream through L1; K and V take 2 of L2's 32 bytes a cycle; o costs
 *                  0.8 %.  6 x 4: 128 (96 to 256: within 3 %).  avx2: 240.  neon: 512, 16 KB of an L1 of 64.
 *   task           256 queries read a block of K and V (128 KB) and pack bf16 once, at 0.9 GB/s; one tile would
 *                  read 7.4, of a core's 10 to 40.  q and o take 128 KB of L2, 256 at D = 128.  AArch64: 128.
 *
 * Scores with weights take 52 % of the time on Zen 4, 51 on Intel; values 45 and 44 (S = 1024, one thread).
 * `attnbench experiment tiles` times other sizes of avx512.
 */
#include <omp.h>

#include "flash_run.h"

/* suites/plugins/CMakeLists.txt builds other sizes of blocks under other names. */
#ifndef FLASH_NAME
#define FLASH_NAME "flash"
#endif

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    return attn_threads_bytes(threads, block_floats(problem) + order_floats(problem));
}

/* ---- the whole problem ----------------------------------------------------------------------- */

static struct job make_job(const struct attn_plan *plan, const struct attn_tensors *tensors,
                           size_t *taken)
{
    const struct attn_problem *p = &plan->problem;
    const bool natural =
        p->options & (ATTN_OPTION_SOFTCAP | ATTN_OPTION_ALIBI) || p->mask & ATTN_MASK_BIAS;
    struct job job = {
        .problem = p,
        .tensors = tensors,
        .tasks = {p, tensors, 0, NULL, taken, false},
        .qk_dim = (int)p->qk_dim,
        .v_dim = p->outputs & ATTN_OUTPUT_O ? (int)p->v_dim : 0,
        .terms = natural || p->mask & (ATTN_MASK_BOOL | ATTN_MASK_TREE) ||
                 p->options & ATTN_OPTION_INDEX,
        .natural = natural,
        .scale = (float)((double)attn_problem_scale(p) * (natural ? 1 : M_LOG2E)),
        .unit = natural ? (float)M_LOG2E : 1,
    };
    if (p->options & ATTN_OPTION_SOFTCAP)
        job.cap = softcap_natural(p);
    struct turn *turns = (void *)((float *)plan->workspace + block_floats(p));
    size_t *shared = (void *)(turns + p->batch + 1); /* all behind the first thread's scratch */
    if (bundles_possible(p) && find_shared(p, tensors, shared))
        job.shared = shared;
    job.tasks.rows = task_rows(&job, plan->threads);
    if (job.shared)
        order_bundles(&job, turns);
    else if (tasks_vary(p))
        tasks_order(&job.tasks, turns);
    return job;
}

/* What a thread does. */
static void run_tasks(const struct job *job, float *scratch)
{
    struct group_block task = tasks_next(&job->tasks);
    while (task.rows)
        if (job->shared && bundle_count(job, task.b, job->tasks.rows, NULL) > 1)
            task = run_bundle(job, &task, scratch);
        else
            task = run_task(job, &task, scratch);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    size_t taken = 0;
    struct job job = make_job(plan, tensors, &taken);
    job.tasks.several = plan->threads > 1 && tasks_at(&job.tasks, 1).rows;
    if (!job.tasks.several) { /* no thread is woken, and none has to be counted */
        run_tasks(&job, attn_thread_scratch(plan, 0));
        return;
    }
#pragma omp parallel num_threads(plan->threads)
    run_tasks(&job, attn_thread_scratch(plan, omp_get_thread_num()));
}

const struct attn_kernel ATTN_KERNEL = {
    .size = sizeof(struct attn_kernel),
    .name = FLASH_NAME,
    .summary = "fused tiles, online softmax, queries in the lanes, parallel",
    .source = "Dao 2023, FlashAttention-2, arXiv:2307.08691",
    .isa = ATTN_KERNEL_ISA,
    .caps.size = sizeof(struct attn_caps),
    .caps.dtypes = FLASH_DTYPES,
    .caps.compute = FLASH_COMPUTE,
    .caps.masks = ATTN_MASKS_ALL,
    .caps.kv_dtypes = FLASH_KV_DTYPES,
    .caps.options = ATTN_OPTIONS_ALL | ATTN_OPTION_INDEX,
    .caps.outputs = ATTN_OUTPUTS_ALL,
    .caps.forward = true,
    .caps.parallel = true,
    .caps.max_dim = INT32_MAX, /* times a tile, threads and 4 bytes it still fits in size_t */
    .workspace_size = workspace_size,
    .execute = execute,
};
