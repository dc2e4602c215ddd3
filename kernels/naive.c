/*
 * naive: the definition, three plain loops a row.
 *
 * Scores, softmax, weighted sum, one query at a time, in the order in which a textbook writes
 * them and in the precision of its operands throughout, float or double (`real`).  It is the yardstick
 * of the others: of their speed, and of the rounding error that attention has when it is written plainly
 * (`attnbench check` compares RMS errors with it).
 *
 * Sums go from key to key, so that their error grows with the keys: with equal weights 1e-3 for 2^17 keys,
 * 1e-2 for 2^20 (f32).  Other kernels add blocks of keys, and theirs grows with the blocks.
 *
 *   memory    reads K and V once per query row
 *   parallel  no (row_parallel is)
 *   scratch   one row of kv_len scores, or of a list's, one of K or V of 8 or 4 bits
 *   instead   tiled where K and V outgrow the cache, flash for speed
 */
#include <tgmath.h>

#include "element.h"
#include "shared/either.h"

/* Query i of head h of sequence b, and the KV head that serves it. */
struct query {
    const struct attn_problem *problem;
    const struct attn_tensors *tensors;
    struct attn_sequence sequence;
    size_t b, h, g, i;
    struct attn_range seen; /* keys that positional masks leave */
    const int32_t *list;    /* of keys; NULL: all */
};

/* Scores of a row. */
static size_t most_scores(const struct attn_problem *problem)
{
    return problem->options & ATTN_OPTION_INDEX ? problem->index_count : problem->kv_len;
}

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    const size_t widest = problem->qk_dim > problem->v_dim ? problem->qk_dim : problem->v_dim;
    (void)threads;
    return attn_reals_bytes(most_scores(problem)) + attn_reals_bytes(widest);
}

/* The key of score n: entry n of the list. */
static ptrdiff_t key_of(const struct query *at, ptrdiff_t n)
{
    return at->list ? at->list[n] : n;
}

/* Scores of the query. */
static struct attn_range scores_of(const struct query *at)
{
    return at->list ? (struct attn_range){0, (ptrdiff_t)at->problem->index_count} : at->seen;
}

/* What the bias adds to the score of key j; f32 is an exact number of either type. */
static real bias(const struct query *at, size_t j)
{
    const struct attn_tensor *t = &at->tensors->bias;
    if (t->dtype == ATTN_F32)
        return (real)attn_row_f32(t, at->b, at->h, at->i)[j];
    return attn_row_real(t, at->b, at->h, at->i)[j];
}

/* Whether key j, -1 where there is none, is hidden from the query. */
static bool hidden(const struct query *at, ptrdiff_t key)
{
    const size_t j = (size_t)key;
    const struct attn_problem *p = at->problem;
    const struct attn_tensors *t = at->tensors;
    const struct attn_tree tree = attn_tree(p, t, &at->sequence, at->b);
    if (key < at->seen.lo || key >= at->seen.hi)
        return true;
    if (tree.parents && !attn_tree_sees(&tree, (ptrdiff_t)at->i, (ptrdiff_t)j))
        return true;
    if (p->mask & ATTN_MASK_BOOL && !((const uint8_t *)attn_row(&t->mask, at->b, at->h, at->i))[j])
        return true;
    return p->mask & ATTN_MASK_BIAS && bias(at, j) == -INFINITY;
}

/* Row j of K or V: where it is, or elements of 8 or 4 bits times their scales in `widened`.  `each`: from an
 * element's or group's scale to that of the next, 0 where a row has one. */
static const real *row_of(const struct query *at, const struct attn_tensor *kv,
                          const struct attn_tensor *scale, ptrdiff_t each,
                          const struct attn_tensor *zero, size_t dim, size_t j, real *widened)
{
    const struct attn_problem *p = at->problem;
    const void *row = attn_kv_row(p, at->tensors, kv, &at->sequence, at->b, at->g, j);
    if (p->kv_dtype == REAL_DTYPE)
        return row;
    const size_t r = at->sequence.kv_first + j;
    const float *scales = attn_row_f32(scale, at->b, at->g, r);
    for (size_t d = 0; d < dim; d++)
        widened[d] = (real)scales[(ptrdiff_t)attn_scale_index(p, d) * each] *
                     ((real)attn_scaled_element(p->kv_dtype, row, d) -
                      (real)attn_zero_point(p, zero, at->b, at->g, r, d));
    return widened;
}

static const real *key(const struct query *at, size_t j, real *widened)
{
    const struct attn_tensors *t = at->tensors;
    return row_of(at, &t->k, &t->k_scale, t->k_scale.stride[3], &t->k_zero, at->problem->qk_dim, j,
                  widened);
}

/* V has one scale a row, or one a group of i4. */
static const real *value(const struct query *at, size_t j, real *widened)
{
    const struct attn_tensors *t = at->tensors;
    const ptrdiff_t each = at->problem->kv_dtype == ATTN_I4 ? t->v_scale.stride[3] : 0;
    return row_of(at, &t->v, &t->v_scale, each, &t->v_zero, at->problem->v_dim, j, widened);
}

static real dot(const real *a, const real *b, size_t n)
{
    real sum = 0;
    for (size_t d = 0; d < n; d++)
        sum += a[d] * b[d];
    return sum;
}

static real score(const struct query *at, const real *q, size_t j, real *widened)
{
    const struct attn_problem *p = at->problem;
    const struct attn_tensors *t = at->tensors;
    const real *k = key(at, j, widened);
    real x = attn_scale_real(p) * dot(q, k, p->qk_dim);
    if (p->options & ATTN_OPTION_SOFTCAP)
        x = (real)p->softcap * tanh(x / (real)p->softcap);
    if (p->options & ATTN_OPTION_ALIBI) {
        const ptrdiff_t position = attn_position(p, (ptrdiff_t)at->i, (ptrdiff_t)at->sequence.q_len,
                                                 (ptrdiff_t)at->sequence.kv_len);
        x += (real)((const float *)t->slopes.data)[at->h] * (real)((ptrdiff_t)j - position);
    }
    if (p->mask & ATTN_MASK_BIAS)
        x += bias(at, j);
    return x;
}

/* The score of a key that is not there and whose value is 0. */
static real sink(const struct query *at)
{
    return at->problem->options & ATTN_OPTION_SINKS
               ? (real)((const float *)at->tensors->sinks.data)[at->h]
               : -INFINITY;
}

/* scores[0, n) become exp(score - maximum); returns their sum, and the maximum in *m, both with the
 * sink.  Where every score is -inf, as where there is none, the sum is 0 and so is the row. */
static real exponentials(real *scores, ptrdiff_t n, real sink, real *m)
{
    *m = sink;
    for (ptrdiff_t j = 0; j < n; j++)
        *m = scores[j] > *m ? scores[j] : *m;
    const real shift = *m == -INFINITY ? 0 : *m;
    real sum = exp(sink - shift);
    for (ptrdiff_t j = 0; j < n; j++) {
        scores[j] = exp(scores[j] - shift); /* NaN stays NaN, and makes the sum NaN */
        sum += scores[j];
    }
    return sum;
}

static void write_o(const struct query *at, const real *scores, real inverse, real *widened)
{
    const struct attn_problem *p = at->problem;
    const struct attn_tensors *t = at->tensors;
    const struct attn_range all = scores_of(at);
    real *o = attn_row_real(&t->o, at->b, at->h, at->sequence.q_first + at->i);
    for (size_t d = 0; d < p->v_dim; d++)
        o[d] = 0 * inverse; /* a sink may be NaN */
    for (ptrdiff_t n = all.lo; n < all.hi; n++) {
        const ptrdiff_t j = key_of(at, n);
        if (hidden(at, j))
            continue; /* its value may be NaN */
        const real *v = value(at, (size_t)j, widened);
        const real weight = scores[n] * inverse;
        for (size_t d = 0; d < p->v_dim; d++)
            o[d] += weight * v[d];
    }
}

/* A row of scores or weights, `missing` where a key is hidden. */
static void write_row(const struct query *at, const struct attn_tensor *t, const real *scores,
                      real factor, real missing)
{
    const struct attn_range all = scores_of(at);
    real *out = attn_row_real(t, at->b, at->h, at->sequence.q_first + at->i);
    for (size_t j = 0; j < at->problem->kv_len; j++)
        out[j] = missing;
    for (ptrdiff_t n = all.lo; n < all.hi; n++) {
        const ptrdiff_t j = key_of(at, n);
        if (!hidden(at, j))
            out[j] = scores[n] * factor;
    }
}

static void row(struct query *at, real *scores, real *widened)
{
    const struct attn_problem *p = at->problem;
    const struct attn_tensors *t = at->tensors;
    const size_t r = at->sequence.q_first + at->i; /* in operands that may be packed */
    const real *q = attn_row_real(&t->q, at->b, at->h, r);
    at->seen = attn_visible_in(p, (ptrdiff_t)at->i, (ptrdiff_t)at->sequence.q_len,
                               (ptrdiff_t)at->sequence.kv_len);
    at->list = attn_list(p, t, at->b, at->g, at->i);
    const struct attn_range all = scores_of(at);

    for (ptrdiff_t n = all.lo; n < all.hi; n++) {
        const ptrdiff_t j = key_of(at, n);
        scores[n] = hidden(at, j) ? -INFINITY : score(at, q, (size_t)j, widened);
    }

    if (p->outputs & ATTN_OUTPUT_SCORES)
        write_row(at, &t->scores, scores, 1, -INFINITY);
    real m;
    const real sum = exponentials(scores + all.lo, all.hi - all.lo, sink(at), &m);
    const real inverse = sum == 0 ? 0 : 1 / sum;

    if (p->outputs & ATTN_OUTPUT_O)
        write_o(at, scores, inverse, widened);
    if (p->outputs & ATTN_OUTPUT_LSE)
        *attn_row_real(&t->lse, at->b, at->h, r) = m + log(sum);
    if (p->outputs & ATTN_OUTPUT_WEIGHTS)
        write_row(at, &t->weights, scores, inverse, 0);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = &plan->problem;
    real *scores = plan->workspace;
    real *widened = (real *)((char *)plan->workspace + attn_reals_bytes(most_scores(p)));
    struct query at = {.problem = p, .tensors = tensors};
    for (at.b = 0; at.b < p->batch; at.b++) {
        at.sequence = attn_sequence(p, tensors, at.b);
        for (at.h = 0; at.h < p->q_heads; at.h++) {
            at.g = attn_kv_head(p, at.h);
            for (at.i = 0; at.i < at.sequence.q_len; at.i++)
                row(&at, scores, widened);
        }
    }
}

const struct attn_kernel ATTN_KERNEL = {
    .size = sizeof(struct attn_kernel),
    .name = "naive",
    .summary = "three plain loops a query row, serial",
    .source = "Vaswani et al. 2017, arXiv:1706.03762, equation 1",
    .isa = ATTN_KERNEL_ISA,
    .caps.size = sizeof(struct attn_caps),
    .caps.dtypes = EITHER_DTYPES,
    .caps.kv_dtypes = ATTN_DTYPES_SCALED,
    .caps.masks = ATTN_MASKS_ALL,
    .caps.options = ATTN_OPTIONS_ALL | ATTN_OPTION_INDEX,
    .caps.outputs = ATTN_OUTPUTS_ALL | ATTN_OUTPUT_SCORES,
    .caps.forward = true,
    .caps.compute = ATTN_F32,
    .workspace_size = either_workspace_size,
    .execute = either_execute,
};
