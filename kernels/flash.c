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
 *
 * Why these sizes.  A vector of scores (one key, VF_LANES queries) stands for D + Dv multiply-adds
 * in the two products: 128 at D = Dv = 64, as below where nothing else is said.
 *
 *   register tile  FLASH_ROWS x FLASH_COLS accumulators; a step of the summed dimension loads
 *                  FLASH_COLS vectors and broadcasts FLASH_ROWS scalars for ROWS * COLS FMAs.
 *                      avx512  8 x 2: 16 accumulators + 2 + 1 = 19 of 32 registers; 10 loads per
 *                              16 FMAs.  4 cycles of latency on two pipes want 8 accumulators.
 *                      avx2    6 x 2: 12 + 2 + 1 = 15 of 16; 8 loads per 12 FMAs.
 *                  3 columns need 27 registers and 11 loads per 24 FMAs, but 48 queries divide
 *                  neither 64 nor 128, and loads do not bind: 10 of them take 5 to 10 cycles,
 *                  16 FMAs take 8 on two pipes and 16 on one.
 *   exponentials   12 instructions a vector: load, 3 additions to round and reduce, 2 FMAs, permute,
 *                  shift, integer add, multiply, store, sum.  On Zen 4 they take 6.0 cycles by
 *                  themselves, which is 4.5 % of 128 FMAs on one pipe, and 3.0 spread thinly over
 *                  other FMAs: the 2 FMAs and the product, the rest finds pipes that idle.  So the
 *                  weights of a register tile are made while the next tile's scores are
 *                  (flash_scores_weights), on trust that m will not have to rise meanwhile; where it
 *                  does, weights that are there already are scaled or, in bf16, the block is begun
 *                  again.  Needed for that: m known, from the first FLASH_ROWS keys if from no
 *                  others; and broadcasts that leave the pipes alone (vf_broadcast).
 *   block of keys  FLASH_KEYS scores of FLASH_TILE queries are 16 KB at avx512, half of a 32 KB L1;
 *                  the q of a tile (8 KB at D = 64) or 8 rows of its o lie beside them, while K and
 *                  V stream by from L2: FLASH_KEYS * D * 4 bytes per FLASH_KEYS * 2 * D cycles on
 *                  one pipe, 2 bytes a cycle of the 32 that L2 gives.  Fewer keys load and store o
 *                  more often: 32 vectors of 8 x 2 per 16 * FLASH_KEYS FMAs, 1.6 % at 128 keys.
 *   tiles of a     a block of K and V, 64 KB at D = 64, is read from L3 or memory once for
 *   task           FLASH_TILES tiles: 64 KB per 4 * 128 * 2 * 128 cycles are 0.5 bytes a cycle,
 *                  1.8 GB/s, where one tile would ask for 7.4 of the 10 to 40 that a core gets.
 *                  q and o of four tiles are 64 KB (128 at D = 128), of 1 MB of L2.
 *
 * Measured on AMD Zen 4 (one 512-bit FMA a cycle), S = 1024, D = 64, one thread, by a sampling
 * profiler: scores and weights 52 % of the time, values 45, the rest calls, prefetching between
 * values and transposing.  `attnbench experiment tiles` times other sizes.
 */
#include <omp.h>

#include "flash_task.h"
#ifdef __AVX512BF16__
#include "flash_bf16.h"
#else
#include "flash_wide.h"
#endif

/* harness/experiments/tiles.cmake builds other sizes of blocks under other names. */
#ifndef FLASH_NAME
#define FLASH_NAME "flash"
#endif

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

/* ---- the whole problem ----------------------------------------------------------------------- */

static struct flash_job make_job(const struct attn_plan *plan, const struct attn_tensors *tensors,
                                 size_t *taken)
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
        .taken = taken,
        .rows = tiles * FLASH_TILE,
        .qk_dim = (int)p->qk_dim,
        .v_dim = p->outputs & ATTN_OUTPUT_O ? (int)p->v_dim : 0,
        .scale = (float)((double)attn_problem_scale(p) * M_LOG2E),
    };
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    size_t taken = 0;
    const struct flash_job job = make_job(plan, tensors, &taken);
#pragma omp parallel num_threads(plan->threads) if (plan->threads > 1)
    {
        float *scratch = attn_thread_scratch(plan, omp_get_thread_num());
        struct group_block task = take(&job);
        while (task.rows)
            task = run_task(&job, &task, scratch);
    }
}

const struct attn_kernel ATTN_KERNEL = {
    .size = sizeof(struct attn_kernel),
    .name = FLASH_NAME,
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
