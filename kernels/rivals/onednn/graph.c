/*
 * onednn_graph: the attention pattern of oneDNN's Graph API, compiled as one partition.
 *
 * What oneDNN advises for attention: the pattern is drawn once, the library finds its own way to
 * compute it, from a chain of its primitives in 3.2 to a fused kernel in 3.6 and later, and its
 * threads, which are OpenMP's.  Nothing of ours runs inside.
 *
 *   groups    the query heads of a KV head are rows of one matrix, so that K and V are not repeated
 *   batches   are further heads: 3.6 reads a mask for each batch, where there is one for all
 *   masks     as a tensor of 0 and -inf, made in prepare, that is added to the scores: a mask saves
 *             the library nothing.  Rows that come out wrong are mended (exact.h)
 *   memory    3.2 writes and reads all scores, 3.6 and later those of a head
 *   parallel  as the library does it
 *   scratch   operands and O, used where they do not lie densely; the library keeps its own
 *   instead   onednn, whose blocks keep scores in cache and leave out what the mask hides
 */
#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "exact.h"
#include "pool.h"
#include "sdpa.h"

#ifdef __AVX512BF16__
#define TYPE dnnl_bf16
#define DTYPE ATTN_BF16
#else
#define TYPE dnnl_f32
#define DTYPE ATTN_F32
#endif

struct state {
    struct sdpa sdpa;
    struct sdpa_shape shape;
    float *mask; /* rows x kv_len, or a 0 where every row sees every key */
    float scale;
};

static bool hides(const struct attn_problem *p)
{
    return attn_visible_pairs(p) <
           (double)p->batch * (double)p->q_heads * (double)p->q_len * (double)p->kv_len;
}

/* Query heads of a KV head as rows of one matrix, which dense heads are in memory already. */
static size_t group_of(const struct attn_problem *p)
{
    return p->q_heads / p->kv_heads;
}

/* Operands in the order of struct attn_tensors, as the graph takes them. */
static const struct attn_tensor *tensor_of(const struct attn_tensors *t, int which)
{
    return which == Q ? &t->q : which == K ? &t->k : which == V ? &t->v : &t->o;
}

static void shape_of(const struct attn_problem *p, struct sdpa_shape *shape)
{
    const dnnl_dim_t heads = (dnnl_dim_t)p->kv_heads, all = (dnnl_dim_t)p->batch * heads;
    const dnnl_dim_t rows = (dnnl_dim_t)(group_of(p) * p->q_len), keys = (dnnl_dim_t)p->kv_len;
    const dnnl_dim_t lengths[TENSORS][2] = {
        [Q] = {rows, (dnnl_dim_t)p->qk_dim},
        [K] = {keys, (dnnl_dim_t)p->qk_dim},
        [V] = {keys, (dnnl_dim_t)p->v_dim},
        [O] = {rows, (dnnl_dim_t)p->v_dim},
        [SCORES] = {rows, keys},
        [SCALED] = {rows, keys},
        [MASKED] = {rows, keys},
        [WEIGHTS] = {rows, keys},
        [PRODUCT] = {rows, (dnnl_dim_t)p->v_dim},
        [TURNED] = {rows, (dnnl_dim_t)p->v_dim},
        [MASK] = {hides(p) ? rows : 1, hides(p) ? keys : 1},
    };
    for (int i = 0; i < TENSORS; i++) {
        const bool sequences = p->layout == ATTN_BSHD && group_of(p) == 1 && p->batch == 1 &&
                               (i == Q || i == K || i == V || i == O);
        const dnnl_dim_t n = lengths[i][0], dim = lengths[i][1];
        const dnnl_dim_t dims[4] = {1, i == MASK ? 1 : all, n, dim};
        const dnnl_dim_t strides[4] = {heads * n * dim, sequences ? dim : n * dim,
                                       sequences ? heads * dim : dim, 1};
        memcpy(shape->dims[i], dims, sizeof dims);
        memcpy(shape->strides[i], strides, sizeof strides);
    }
    shape->dims[SCALE][0] = shape->strides[SCALE][0] = 1;
    shape->type = TYPE;
    shape->masked = hides(p);
}

/* What 3.6 computes wrongly, or aborts at, is left out in all versions. */
static bool supports(const struct attn_problem *p, const char **why)
{
    const bool same = p->qk_dim == p->v_dim && p->qk_dim > 1;
    *why = "dimensions of Q and V that differ, or of 1";
    return same && exact_supports(p, why);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static size_t operand_bytes(const struct sdpa_shape *shape, int which)
{
    const dnnl_dim_t *n = shape->dims[which];
    return attn_round_up((size_t)(n[0] * n[1] * n[2] * n[3]) * attn_dtype_size(DTYPE),
                         ATTN_WORKSPACE_ALIGN);
}

/* Where an operand's copy lies; TENSORS: the end. */
static size_t copy_at(const struct sdpa_shape *shape, int which)
{
    static const int order[] = {Q, K, V, O};
    size_t at = 0;
    for (size_t i = 0; i < 4 && order[i] != which; i++)
        at += operand_bytes(shape, order[i]);
    return at;
}

static size_t workspace_size(const struct attn_problem *p, int threads)
{
    struct sdpa_shape shape;
    shape_of(p, &shape);
    const size_t copies = copy_at(&shape, TENSORS);
    const size_t rows = attn_threads_bytes(threads, exact_floats(p));
    return rows <= SIZE_MAX - copies ? copies + rows : SIZE_MAX;
}

/* Row (head of the group, query) of the mask. */
static float *make_mask(const struct attn_problem *p)
{
    const size_t rows = hides(p) ? group_of(p) * p->q_len : 0;
    float *mask = calloc(rows ? rows * p->kv_len : 1, sizeof *mask);
    for (size_t r = 0; mask && r < rows; r++) {
        const struct attn_range seen = attn_visible(p, (ptrdiff_t)(r % p->q_len));
        for (size_t j = 0; j < p->kv_len; j++)
            mask[r * p->kv_len + j] =
                (ptrdiff_t)j >= seen.lo && (ptrdiff_t)j < seen.hi ? 0 : -INFINITY;
    }
    return mask;
}

/* One call on zeros: what it takes from the pool stays there. */
static bool run_once(struct state *state)
{
    static const int operands[] = {Q, K, V, O};
    const size_t bytes = copy_at(&state->shape, TENSORS);
    char *zeros = calloc(bytes, 1);
    for (size_t i = 0; zeros && i < 4; i++)
        sdpa_place(&state->sdpa, operands[i], zeros + copy_at(&state->shape, operands[i]));
    if (zeros)
        sdpa_run(&state->sdpa);
    free(zeros);
    return zeros;
}

static bool open_state(struct state *state, const struct attn_problem *p, const char **why)
{
    *why = "no memory for oneDNN's graph";
    state->scale = attn_problem_scale(p);
    state->mask = make_mask(p);
    if (!state->mask)
        return false;
    shape_of(p, &state->shape);
    if (!sdpa_open(&state->sdpa, &state->shape, attn_onednn_pool_alloc, attn_onednn_pool_free)) {
        *why = DTYPE == ATTN_F32
                   ? "this oneDNN compiles no such graph"
                   : "this oneDNN has no attention with float scores of bf16: 3.12 has";
        return false;
    }
    sdpa_place(&state->sdpa, SCALE, &state->scale);
    sdpa_place(&state->sdpa, MASK, state->mask);
    return run_once(state);
}

static void destroy(struct attn_plan *plan)
{
    struct state *state = plan->state;
    if (!state)
        return;
    sdpa_close(&state->sdpa);
    attn_onednn_pool_empty();
    free(state->mask);
    free(state);
    plan->state = NULL;
}

static void prepare(struct attn_plan *plan)
{
    const int before = omp_get_max_threads();
    const char *why = "no memory for oneDNN's graph";
    plan->state = calloc(1, sizeof(struct state));
    omp_set_num_threads(plan->threads);
    if (!plan->state || !open_state(plan->state, &plan->problem, &why))
        plan->refusal = why;
    omp_set_num_threads(before);
}

/* ---- a call ---------------------------------------------------------------------------------- */

/* Where the graph expects row (b, h, i) of an operand, in elements. */
static size_t place_of(const struct attn_problem *p, const struct sdpa_shape *shape, int which,
                       size_t b, size_t h, size_t i)
{
    const dnnl_dim_t *stride = shape->strides[which];
    const size_t group = which == Q || which == O ? group_of(p) : 1;
    const size_t row = h % group * p->q_len + i;
    return b * (size_t)stride[0] + h / group * (size_t)stride[1] + row * (size_t)stride[2];
}

/* Whether an operand lies as the graph expects it. */
static bool lies_so(const struct attn_problem *p, const struct sdpa_shape *shape,
                    const struct attn_tensor *t, int which)
{
    const bool query = which == Q || which == O;
    const size_t heads = query ? p->q_heads : p->kv_heads, rows = query ? p->q_len : p->kv_len;
    const ptrdiff_t batch = (ptrdiff_t)place_of(p, shape, which, 1, 0, 0);
    const ptrdiff_t head = (ptrdiff_t)place_of(p, shape, which, 0, 1, 0);
    const ptrdiff_t row = (ptrdiff_t)place_of(p, shape, which, 0, 0, 1);
    return (p->batch == 1 || t->stride[0] == batch) && (heads == 1 || t->stride[1] == head) &&
           (rows == 1 || t->stride[2] == row);
}

/* Copies an operand's rows to where the graph expects them, or O's back. */
static void move(const struct attn_plan *plan, const struct attn_tensor *t, int which, char *copy)
{
    const struct attn_problem *p = &plan->problem;
    const struct state *state = plan->state;
    const bool query = which == Q || which == O;
    const size_t heads = query ? p->q_heads : p->kv_heads, rows = query ? p->q_len : p->kv_len;
    const size_t bytes = attn_dtype_size(DTYPE), n = (size_t)state->shape.dims[which][3] * bytes;
#pragma omp parallel for collapse(2) num_threads(plan->threads)
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < rows; i++) {
                char *there = copy + place_of(p, &state->shape, which, b, h, i) * bytes;
                if (which == O)
                    memcpy(attn_row(t, b, h, i), there, n);
                else
                    memcpy(there, attn_row(t, b, h, i), n);
            }
}

static void mend_rows(const struct attn_plan *plan, const struct attn_tensors *t)
{
    const struct attn_problem *p = &plan->problem;
    char *scratch =
        (char *)plan->workspace + copy_at(&((const struct state *)plan->state)->shape, TENSORS);
    const size_t bytes = attn_reals_bytes(exact_floats(p));
#pragma omp parallel for collapse(3) num_threads(plan->threads)
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < p->q_len; i++) {
                float *own = (float *)(scratch + (size_t)omp_get_thread_num() * bytes);
                exact_mend(p, t, b, h, i, own);
            }
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    static const int operands[] = {Q, K, V, O};
    const struct attn_problem *p = &plan->problem;
    struct state *state = plan->state;
    const int before = omp_get_max_threads();
    for (size_t i = 0; i < 4; i++) {
        const struct attn_tensor *t = tensor_of(tensors, operands[i]);
        char *copy = (char *)plan->workspace + copy_at(&state->shape, operands[i]);
        const bool direct = lies_so(p, &state->shape, t, operands[i]);
        if (!direct && operands[i] != O)
            move(plan, t, operands[i], copy);
        sdpa_place(&state->sdpa, operands[i], direct ? t->data : copy);
    }
    omp_set_num_threads(plan->threads);
    sdpa_run(&state->sdpa);
    omp_set_num_threads(before);
    if (!lies_so(p, &state->shape, &tensors->o, O))
        move(plan, &tensors->o, O, (char *)plan->workspace + copy_at(&state->shape, O));
    mend_rows(plan, tensors);
}

const struct attn_kernel ATTN_KERNEL = {
    .size = sizeof(struct attn_kernel),
    .name = "onednn_graph",
    .summary = "the attention pattern of oneDNN's Graph API",
    .source = "oneDNN 3, Developer guide: Scaled Dot-Product Attention (SDPA)",
    .isa = ATTN_KERNEL_ISA,
    .library = &attn_onednn_library,
    .caps.size = sizeof(struct attn_caps),
    .caps.dtypes = ATTN_BIT(DTYPE),
    .caps.masks = ATTN_MASKS_POSITIONAL,
    .caps.options = ATTN_OPTION_WINDOW,
    .caps.outputs = ATTN_OUTPUT_O,
    .caps.forward = true,
    .caps.parallel = true,
    .caps.varies = true, /* with the threads: they share a product's rows and sums as it sees fit */
    .caps.compute = DTYPE,
    .supports = supports,
    .workspace_size = workspace_size,
    .prepare = prepare,
    .execute = execute,
    .destroy = destroy,
};
