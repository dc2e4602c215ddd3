/*
 * flash for matrix units (AMX): one pass over the keys in blocks of queries and strips of keys, in bfloat16.
 *
 * The algorithm is that of flash (FlashAttention-2, Dao 2023, arXiv:2307.08691): scores are made,
 * exponentiated and used while they are in the first-level cache.  Its geometry is not: there queries lie in
 * the lanes and K and V are read where they lie, one element for many lanes.  A matrix unit multiplies tiles
 * of 16 rows, and wants one factor in rows and the other in pairs of rows.  So scores are S = Q K^T and
 * results O = P V with queries in rows; K and V are packed once for many queries; a row of scores becomes a
 * row of weights, which is a row of the next product's factor as it is.
 *
 *   memory    reads K and V once per TASK_ROWS query rows, and packs them; skips what no query sees
 *   parallel  over (batch, KV head, TASK_ROWS query rows), those with the most keys of a head first
 *   scratch   per thread up to 1.2 MB of packed K and V, and the blocks of a task where these are not all
 *             of its keys: at most 1.24, 1.64 and 5.07 MB at D = 64, 128 and 576, with a mask or bias and
 *             caches of 8 bits 1.53, 2.17 and 7.44, whatever the lengths; and where sequences have
 *             lengths of their own up to 0.58 MB more, and 16 bytes for each
 *   instead   split_kv for a few queries and long caches: one thread works on all keys of a KV head here;
 *             avx512 for caches of 4 bits, whose elements are no bfloat16 once they have their scales, and
 *             for lists of keys
 *
 * scratch.h has sizes and what a thread keeps.  pack.h makes tiles, also of 8 bits (shared/tile_bytes.h,
 * scales.h).  blocks.h begins a block of queries, and seen_keys.h finds which keys it sees.  change.h and
 * weigh.h turn scores into weights, multiply.h between products, whole.h on a fast path; exactly.h does what
 * is rare, and finish.h writes results.  jobs.h divides a thread's tasks into jobs, and line.h puts these in
 * line: while the softmax of one is computed, the unit makes the scores of the next and adds up the results of
 * the one before.
 *
 * A caller's tiles do not survive a call: each thread configures the unit and releases it in the end.
 */
#include <omp.h>

#include "line.h"

/* ---- scratch --------------------------------------------------------------------------------- */

static size_t strip_bytes(const struct attn_problem *p)
{
    const size_t steps = (size_t)steps_of_dims(p->qk_dim) + (size_t)steps_of_dims(p->v_dim);
    return steps * PAIR_ELEMENTS * sizeof(uint16_t);
}

/* Strips in so many bytes, but of PART_KEYS keys at least. */
static size_t strips_in(const struct attn_problem *p, size_t bytes)
{
    const size_t strips = bytes / strip_bytes(p), least = PART_KEYS / STRIP_KEYS;
    return strips > least ? strips : least;
}

/* Most strips that are packed at once. */
static size_t whole_strips(const struct attn_problem *p)
{
    return strips_in(p, WHOLE_BYTES);
}

static size_t part_strips(const struct attn_problem *p)
{
    return strips_in(p, PART_BYTES);
}

/* Of the longest sequence. */
static bool in_parts(const struct attn_problem *p)
{
    return seen_strips(p, p->q_len, p->kv_len) > whole_strips(p);
}

/* Strips that there is room for. */
static int packed_strips(const struct attn_problem *p)
{
    return (int)(!in_parts(p)    ? seen_strips(p, p->q_len, p->kv_len)
                 : tasks_vary(p) ? whole_strips(p) /* shorter sequences are packed at once */
                                 : part_strips(p));
}

/* Sets of packed keys. */
static int packed_sets(const struct attn_problem *p)
{
    const size_t set = (size_t)packed_strips(p) * strip_bytes(p);
    return p->batch * p->kv_heads > 1 && !in_parts(p) && KEPT_TASKS * set <= PART_BYTES ? KEPT_TASKS
                                                                                        : 1;
}

/* Rows of a task: fewer where threads would have none. */
static size_t task_rows(const struct attn_problem *p, int threads)
{
    const size_t heads = p->batch * p->kv_heads;
    size_t rows = TASK_ROWS;
    while (threads > 1 && rows > BLOCK_ROWS &&
           heads * ((group_rows(p) + rows - 1) / rows) < 2 * (size_t)threads)
        rows /= 2;
    return rows;
}

static size_t kept_blocks(const struct attn_problem *p)
{
    const size_t all = (group_rows(p) + BLOCK_ROWS - 1) / BLOCK_ROWS;
    return in_parts(p) && all < TASK_ROWS / BLOCK_ROWS ? all
           : in_parts(p)                               ? TASK_ROWS / BLOCK_ROWS
                                                       : KEPT_BLOCKS;
}

/* Blocks that have results of their own.  Where the keys of all sequences are packed at once, one block is finished
 * before the next has any, and all share a place, which stays in the first-level cache. */
static size_t kept_results(const struct attn_problem *p)
{
    return in_parts(p) ? kept_blocks(p) : 1;
}

/* Parts of a thread's scratch, in bytes; each keeps the alignment of a tile's rows. */
struct parts {
    size_t k, v, ring, again, weights, strip, left, blocks, q, o, finite, scales, all;
};

static struct parts parts_of(const struct attn_problem *p)
{
    const size_t tiles = PAIR_ELEMENTS * sizeof(uint16_t),
                 strips = (size_t)packed_sets(p) * (size_t)packed_strips(p);
    const size_t q = (size_t)steps_of_dims(p->qk_dim), v = (size_t)steps_of_dims(p->v_dim);
    struct parts parts = {
        .k = strips * q * tiles,
        .v = strips * v * tiles,
        .ring = RING * STRIP_SCORES * sizeof(float),
        .again = JOB_STRIPS * STRIP_SCORES * sizeof(float),
        .weights = JOB_STRIPS * tiles,
        .strip = q * tiles,
        .left = terms_may_hide(p) ? attn_round_up((size_t)packed_strips(p), JOB_STRIPS) *
                                        BLOCK_ROWS * sizeof(uint32_t)
                                  : 0,
        .blocks = attn_round_up(kept_blocks(p) * sizeof(struct block), ATTN_WORKSPACE_ALIGN),
        .q = (attn_dtype_scaled(p->kv_dtype) ? Q_PARTS : 1) * q * tiles,
        .o = v * RESULT_FLOATS * sizeof(float),
        .finite = attn_round_up(strips, ATTN_WORKSPACE_ALIGN),
        .scales = attn_dtype_scaled(p->kv_dtype) ? strips * STRIP_KEYS * sizeof(float) : 0,
    };
    parts.all = parts.k + parts.v + parts.ring + parts.again + 2 * parts.weights + parts.strip +
                parts.left + parts.blocks + kept_blocks(p) * parts.q + kept_results(p) * parts.o +
                parts.finite + 2 * parts.scales;
    return parts;
}

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    return attn_threads_bytes(threads,
                              parts_of(problem).all / sizeof(float) + tasks_floats(problem));
}

static void *carve(char **at, size_t bytes)
{
    void *here = *at;
    *at += bytes;
    return here;
}

static struct scratch scratch_at(const struct attn_problem *p, char *at)
{
    const struct parts parts = parts_of(p);
    struct scratch s = {
        .k = carve(&at, parts.k),
        .v = carve(&at, parts.v),
        .ring = carve(&at, parts.ring),
        .again = carve(&at, parts.again),
        .weights = {carve(&at, parts.weights), carve(&at, parts.weights)},
        .strip = carve(&at, parts.strip),
        .left = carve(&at, parts.left),
        .blocks = carve(&at, parts.blocks),
        .finite = carve(&at, parts.finite),
        .k_scales = carve(&at, parts.scales),
        .v_scales = carve(&at, parts.scales),
    };
    for (size_t i = 0; i < kept_blocks(p); i++) {
        s.blocks[i].packed_q = carve(&at, parts.q);
        s.blocks[i].o = i < kept_results(p) ? carve(&at, parts.o) : s.blocks[0].o;
    }
    return s;
}

/* ---- the whole problem ----------------------------------------------------------------------- */

/* How jobs that hide nothing are weighed. */
static enum weigh_kind kind_of_call(const struct attn_problem *p, bool k_tokens, bool v_tokens)
{
    const unsigned changes = p->options & (ATTN_OPTION_SOFTCAP | ATTN_OPTION_ALIBI);
    const bool bias = p->mask & ATTN_MASK_BIAS;
    if (v_tokens)
        return WEIGH_SCALED;
    if (!changes && !bias && !k_tokens)
        return WEIGH_ALL;
    if (k_tokens || (changes && bias) || changes == (ATTN_OPTION_SOFTCAP | ATTN_OPTION_ALIBI))
        return WEIGH_CHANGED;
    if (bias)
        return WEIGH_BIAS;
    return changes & ATTN_OPTION_ALIBI ? WEIGH_RAMP : WEIGH_CAPPED;
}

static struct call make_call(const struct attn_plan *plan, const struct attn_tensors *tensors,
                             size_t *taken)
{
    const struct attn_problem *p = &plan->problem;
    const bool scaled = attn_dtype_scaled(p->kv_dtype), o = p->outputs & ATTN_OUTPUT_O;
    const bool k_channels = scaled && tensors->k_scale.stride[3];
    const bool k_tokens = scaled && tensors->k_scale.stride[2];
    const bool v_tokens = scales_values(p, &tensors->v_scale);
    const bool natural = p->options & (ATTN_OPTION_SOFTCAP | ATTN_OPTION_ALIBI) ||
                         p->mask & ATTN_MASK_BIAS || k_tokens || v_tokens;
    const enum weigh_kind kind = kind_of_call(p, k_tokens, v_tokens);
    struct call call = {
        .problem = p,
        .tensors = tensors,
        .tasks = {p, tensors, task_rows(p, plan->threads), NULL, taken, false},
        .q_steps = steps_of_dims(p->qk_dim),
        .v_steps = o ? steps_of_dims(p->v_dim) : 0,
        .terms = natural || terms_any(p),
        .natural = natural,
        .hides =
            terms_may_hide(p) && (kind != WEIGH_BIAS || p->mask & (TERMS_MASKS & ~ATTN_MASK_BIAS)),
        .scale = (float)((double)attn_problem_scale(p) * (natural ? 1 : M_LOG2E)),
        .unit = natural ? (float)M_LOG2E : 1,
        .kind = kind,
        .k_tokens = k_tokens,
        .k_channels = k_channels,
        .v_tokens = v_tokens,
        .v_unit = bytes_unit(p->kv_dtype),
        .strips = packed_strips(p),
        .whole_strips = whole_strips(p),
        .part_keys = (ptrdiff_t)part_strips(p) * STRIP_KEYS,
        .sets = packed_sets(p),
        .in_parts = in_parts(p),
        /* Two strips where products are short beside the softmax, or where a query may see nothing of the
         * first. */
        .ahead = p->qk_dim <= 2 * STEP_DIMS || p->options & (ATTN_OPTION_WINDOW | ATTN_OPTION_ALIBI)
                     ? 2
                     : 1,
    };
    call.score_steps = call.q_steps * (k_channels ? Q_PARTS : 1);
    for (int i = 0; i < call.score_steps; i++)
        call.k_at[i] = i % call.q_steps * PAIR_ELEMENTS;
    call.whole =
        !k_channels && call.q_steps == call.v_steps && (call.q_steps == 2 || call.q_steps == 4);
    if (tasks_vary(p)) /* behind the first thread's scratch */
        tasks_order(&call.tasks, (struct turn *)((char *)plan->workspace + parts_of(p).all));
    return call;
}

/* What a thread does. */
static void run_tasks(const struct attn_plan *plan, const struct call *call, int thread)
{
    struct scratch scratch = scratch_at(&plan->problem, attn_thread_scratch(plan, thread));
    struct line line;
    struct jobs *jobs = &line.source;
    if (!call->k_tokens)
        scratch.k_scales = NULL;
    if (!call->v_tokens)
        scratch.v_scales = NULL;
    jobs->call = call;
    jobs->scratch = &scratch;
    jobs->packed.first = -1;
    jobs->first_strip = jobs->slot = 0;
    jobs->left.bits = (uint32_t(*)[BLOCK_ROWS])scratch.left;
    line.ahead = call->ahead;
    line.ring = call->ahead + 1;
    for (int i = 0; i < JOBS_IN_LINE; i++)
        line.jobs[i].shown = false;
    tiles_configure();
    while (next_task(jobs)) {
        do
            run_part(&line);
        while (next_part(jobs));
        struct product nothing = {.to.at = NULL};
        for (int i = 0; call->in_parts && (size_t)i * BLOCK_ROWS < jobs->task.rows; i++)
            end_block(&line, &scratch.blocks[i], &nothing);
    }
    tiles_release();
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    size_t taken = 0;
    struct call call = make_call(plan, tensors, &taken);
    call.tasks.several = plan->threads > 1 && tasks_at(&call.tasks, 1).rows;
    if (!call.tasks.several) { /* no thread is woken, and none has to be counted */
        run_tasks(plan, &call, 0);
        return;
    }
#pragma omp parallel num_threads(plan->threads)
    run_tasks(plan, &call, omp_get_thread_num());
}

const struct attn_kernel ATTN_KERNEL = {
    .size = sizeof(struct attn_kernel),
    .name = "flash",
    .summary = "fused tiles, online softmax, products of a matrix unit, parallel",
    .source = "Dao 2023, FlashAttention-2, arXiv:2307.08691",
    .isa = ATTN_KERNEL_ISA,
    .caps.size = sizeof(struct attn_caps),
    .caps.dtypes = ATTN_BIT(ATTN_BF16),
    .caps.kv_dtypes = ATTN_DTYPES_SCALED & ~ATTN_BIT(ATTN_I4),
    .caps.compute = ATTN_BF16,
    .caps.masks = ATTN_MASKS_ALL,
    .caps.options = ATTN_OPTIONS_ALL,
    .caps.outputs = ATTN_OUTPUTS_ALL,
    .caps.forward = true,
    .caps.parallel = true,
    .caps.max_dim = AMX_MAX_DIM,
    .caps.bound_factor = WEIGHT_ERROR,
    .caps.bound_reason =
        "weights are made as 16-bit integers: each is off by up to 1.51 roundings to bfloat16",
    .workspace_size = workspace_size,
    .execute = execute,
};
