/*
 * onednn: oneDNN's matrix products with its softmax between them, a block of rows at a time.
 *
 *     S = scale Q K^T      matmul, the scale as a post-operation
 *     P = softmax(S)       softmax, over whole rows
 *     O = P V              matmul
 *
 * As its documentation advises where calls come from a program's own threads: primitives compiled
 * once for the shape and for one thread, scratchpads of the caller's, one stream a thread.  Blocks
 * are as tall as leaves their scores in L2, so the products run at the speed of oneDNN's matmul;
 * keys that no row of a block sees are not multiplied.
 *
 * What the primitives do not know stands between and behind them: scores behind the mask become
 * -inf, and rows that come out wrong are mended (exact.h).
 *
 *   types     the variant avx512_bf16 multiplies bf16 and rounds P to it; the others multiply floats
 *             and widen 16-bit elements first
 *   memory    reads K and V once per block of rows, and again where the library packs them
 *   parallel  over (batch, KV head, block of rows); each call of the library on one thread
 *   scratch   per thread a block's Q, scores and O, and a head's K and V, used where they do not lie
 *             densely in the type that is multiplied; the library's own comes on top
 *   instead   flash, which needs no whole row of scores; onednn_graph leaves blocks to oneDNN
 */
#include <math.h>

#include "exact.h"
#include "dense_operands.h"

/* Where a thread's parts lie, in bytes from the start of its scratch. */
struct parts {
    size_t q, o, s, p, k, v, exact, all;
};

static struct parts parts_of(const struct attn_problem *p)
{
    const struct geometry g = geometry_of(p);
    struct parts at = {.q = 0};
    at.o = at.q + attn_round_up(g.rows * p->qk_dim * sizeof(element), ATTN_WORKSPACE_ALIGN);
    at.s = at.o + attn_round_up(g.rows * p->v_dim * sizeof(element), ATTN_WORKSPACE_ALIGN);
    at.p = at.s + attn_round_up(g.rows * p->kv_len * sizeof(float), ATTN_WORKSPACE_ALIGN);
    at.k = at.p + (DTYPE == ATTN_F32
                       ? 0
                       : attn_round_up(g.rows * p->kv_len * sizeof(element), ATTN_WORKSPACE_ALIGN));
    at.v = at.k + attn_round_up(p->kv_len * p->qk_dim * sizeof(element), ATTN_WORKSPACE_ALIGN);
    at.exact = at.v + attn_round_up(p->kv_len * p->v_dim * sizeof(element), ATTN_WORKSPACE_ALIGN);
    at.all = at.exact + attn_reals_bytes(exact_floats(p));
    return at;
}

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    return attn_threads_bytes(threads, parts_of(problem).all / sizeof(float));
}

static void prepare(struct attn_plan *plan)
{
    const char *why;
    plan->state = team_open(&plan->problem, plan->threads, TYPE, &why);
    if (!plan->state)
        plan->refusal = why;
}

static void destroy(struct attn_plan *plan)
{
    if (plan->state)
        team_close(plan->state);
    plan->state = NULL;
}

/* ---- the three steps ------------------------------------------------------------------------- */

static void run(const struct worker *w, const struct block *block, int primitive, int from, int by,
                int to)
{
    const size_t at = shape_of(block->g, block);
    const struct shape *shape = &w->team->shapes[at];
    const struct handles *handles = &w->member->handles[at];
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, handles->matrix[from]},
        {DNNL_ARG_DST, handles->matrix[to]},
        {DNNL_ARG_SCRATCHPAD, handles->scratchpad[primitive]},
        {DNNL_ARG_WEIGHTS, handles->matrix[by]},
    };
    attn_onednn.primitive_execute(shape->primitive[primitive], w->member->stream,
                                  primitive == SOFTMAX ? 3 : 4, arguments);
}

static void place(const struct worker *w, const struct block *block, int matrix, const void *data)
{
    const struct handles *handles = &w->member->handles[shape_of(block->g, block)];
    attn_onednn.memory_set_data_handle(handles->matrix[matrix], (void *)data);
}

/* What row r sees of the block's keys, counted from the first. */
static struct attn_range part(const struct block *block, size_t r)
{
    struct attn_range range = block_visible(block, r);
    if (range.lo < range.hi) {
        range.lo -= (ptrdiff_t)block->start;
        range.hi -= (ptrdiff_t)block->start;
    }
    return range;
}

/* Hides the keys that a row does not see; a row that sees none stays finite, and is not used. */
static void mask(const struct worker *w, const struct block *block)
{
    for (size_t r = 0; r < block->rows; r++) {
        const struct attn_range range = part(block, r);
        const float hidden = range.lo < range.hi ? -INFINITY : 0;
        float *s = w->s + r * block->keys;
        for (ptrdiff_t j = 0; j < range.lo; j++)
            s[j] = hidden;
        for (ptrdiff_t j = range.hi; j < (ptrdiff_t)block->keys; j++)
            s[j] = hidden;
    }
}

/* Weights as they are multiplied.  The library's softmax would round them itself, but it (3.2) rounds
 * the exponentials before it divides them by their sum, and again afterwards. */
static void round_weights(const struct worker *w, const struct block *block)
{
    const size_t n = DTYPE == ATTN_F32 ? 0 : block->rows * block->keys;
    for (size_t i = 0; i < n; i += VF_LANES) {
        const size_t some = n - i < VF_LANES ? n - i : VF_LANES;
        const vf x = some == VF_LANES ? vf_load(w->s + i) : vf_load_partial(w->s + i, some);
        vf_store_elements(DTYPE, w->p + i, x, some);
    }
}

/* ---- a block --------------------------------------------------------------------------------- */

static void weigh(const struct worker *w, const struct block *block)
{
    void *o = outputs(w, block);
    place(w, block, V, keys(&w->t->v, block, block->problem->v_dim, w->v));
    place(w, block, O, o);
    run(w, block, OUTPUT, P, V, O);
    if (o == w->o)
        store_rows(w, block);
}

static void run_block(struct worker *w, const struct block *block)
{
    if (block->keys) {
        pack(w, block);
        place(w, block, Q, queries(w, block));
        place(w, block, K, keys(&w->t->k, block, block->problem->qk_dim, w->k));
        place(w, block, S, w->s);
        place(w, block, P, w->p);
        run(w, block, SCORES, Q, K, S);
        mask(w, block);
        run(w, block, SOFTMAX, S, S, S);
        round_weights(w, block);
        weigh(w, block);
    }
    for (size_t r = 0; r < block->rows; r++)
        exact_mend(block->problem, w->t, block->b, block_head(block, r), block_query(block, r),
                   w->exact);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = &plan->problem;
    const struct team *team = plan->state;
    const struct geometry *g = &team->geometry;
    const struct parts at = parts_of(p);
    const size_t blocks = g->slabs * g->blocks;
#pragma omp parallel num_threads(plan->threads)
    {
        omp_set_num_threads(1); /* of this region's tasks: what the library goes by */
        char *scratch = attn_thread_scratch(plan, omp_get_thread_num());
        float *s = (float *)(scratch + at.s);
        struct worker w = {.team = team,
                           .member = &team->members[omp_get_thread_num()],
                           .t = tensors,
                           .q = (element *)(scratch + at.q),
                           .o = (element *)(scratch + at.o),
                           .k = (element *)(scratch + at.k),
                           .v = (element *)(scratch + at.v),
                           .s = s,
                           .exact = (float *)(scratch + at.exact),
                           .p = DTYPE == ATTN_F32 ? (element *)s : (element *)(scratch + at.p)};
#pragma omp for collapse(3) schedule(dynamic, 1)
        for (size_t b = 0; b < p->batch; b++)
            for (size_t head = 0; head < p->kv_heads; head++)
                for (size_t left = blocks; left > 0; left--) {
                    const struct block block = block_at(p, g, b, head, left - 1);
                    run_block(&w, &block);
                }
    }
}

const struct attn_kernel ATTN_KERNEL = {
    .size = sizeof(struct attn_kernel),
    .name = "onednn",
    .summary = "oneDNN's matmul, softmax and matmul, a block of rows at a time",
    .source = "oneDNN 3, github.com/uxlfoundation/oneDNN: primitives matmul and softmax",
    .isa = ATTN_KERNEL_ISA,
    .library = &attn_onednn_library,
    .caps.size = sizeof(struct attn_caps),
    .caps.dtypes = DTYPES,
    .caps.masks = ATTN_MASKS_POSITIONAL,
    .caps.options = ATTN_OPTION_WINDOW,
    .caps.outputs = ATTN_OUTPUT_O,
    .caps.forward = true,
    .caps.parallel = true,
    .caps.compute = DTYPE,
    .supports = exact_supports,
    .workspace_size = workspace_size,
    .prepare = prepare,
    .execute = execute,
    .destroy = destroy,
};
