/*
 * work: what a problem asks for, as counted: visible pairs, useful flops and compulsory bytes.
 */
#include <math.h>

#include "shared/shared_pages.h"
#include "work_seen.h"

/* The same of lists, each of which names as many keys as its queries see, if it has room for them. */
static double pairs_listed(const struct attn_problem *p)
{
    double pairs = 0;
    for (size_t i = 0; i < p->q_len; i++) {
        const struct attn_range seen = attn_visible(p, (ptrdiff_t)i);
        pairs += fmin((double)(seen.hi - seen.lo), (double)p->index_count);
    }
    return pairs;
}

double attn_visible_pairs(const struct attn_problem *problem)
{
    const double pairs = problem->options & ATTN_OPTION_INDEX
                             ? pairs_listed(problem)
                             : pairs_left(problem, problem->q_len, problem->kv_len);
    return pairs * (double)problem->batch * (double)problem->q_heads;
}

double attn_useful_flops(const struct attn_problem *problem)
{
    return 2 * attn_visible_pairs(problem) * (double)(problem->qk_dim + problem->v_dim);
}

/* Q and results of so many rows, K and V of so many keys. */
static double bytes_of(const struct attn_problem *p, double rows, double keys)
{
    const double element = (double)attn_dtype_size(p->dtype);
    const double statistic = (double)attn_dtype_size(attn_statistics_dtype(p));
    const bool shared_kv = p->options & ATTN_OPTION_SHARED_KV;
    const double key_bytes =
        (double)attn_elements_bytes(p->kv_dtype, (ptrdiff_t)p->qk_dim) +
        (shared_kv ? 0.0 : (double)attn_elements_bytes(p->kv_dtype, (ptrdiff_t)p->v_dim));
    double bytes = rows * (double)p->qk_dim * element + keys * key_bytes;
    if (p->outputs & ATTN_OUTPUT_O)
        bytes += rows * (double)p->v_dim * element;
    if (p->outputs & ATTN_OUTPUT_LSE)
        bytes += rows * statistic;
    if (p->outputs & ATTN_OUTPUT_WEIGHTS)
        bytes += rows * (double)p->kv_len * statistic;
    if (p->outputs & ATTN_OUTPUT_SCORES)
        bytes += rows * (double)p->kv_len * statistic;
    return bytes;
}

/* Entries of the lists of a KV head of a sequence. */
static double entries(const struct attn_problem *p, size_t q_len)
{
    return (double)attn_lists(p, q_len) * (double)p->index_count;
}

double attn_compulsory_bytes(const struct attn_problem *p)
{
    const double heads = (double)p->batch * (double)p->kv_heads;
    double keys = keys_left(p, p->q_len, p->kv_len), lists = 0;
    if (p->options & ATTN_OPTION_INDEX) {
        lists = entries(p, p->q_len);
        keys = fmin(keys, lists);
    }
    return bytes_of(p, (double)p->batch * (double)p->q_heads * (double)p->q_len, heads * keys) +
           heads * lists * sizeof(int32_t);
}

/* ---- with operands -------------------------------------------------------------------------- */

/* Elements of an operand that the sequences so far read.  Where sequences (in scales(): KV heads) share the
 * operand, those of the one that reads the most, so that none is counted twice. */
struct elements {
    bool shared;
    double count;
};

static void add_elements(struct elements *e, double of_sequence)
{
    e->count = e->shared ? fmax(e->count, of_sequence) : e->count + of_sequence;
}

/* Scales, or zero points, of a row of `dim` elements that has more than one. */
static double scales_each(const struct attn_problem *p, size_t dim)
{
    return (double)(p->kv_dtype == ATTN_I4 ? (dim - 1) / p->kv_group + 1 : dim);
}

/* Scales, or zero points, of the keys that a sequence sees: so many for each. */
static double scales(const struct attn_tensor *t, const struct seen *seen, double each)
{
    if (t->stride[2] == 0)
        return each * (t->stride[1] ? seen->heads : seen->heads > 0);
    return each * (t->stride[1] ? seen->keys : seen->most);
}

/* Whether all sequences have the same scales. */
static bool scales_shared(const struct attn_problem *p, const struct attn_tensor *t)
{
    return t->stride[0] == 0 && !(attn_keys_packed(p) && t->stride[2]);
}

/* All KV heads of a sequence. */
static struct seen count_sequence(const struct attn_problem *p, const struct attn_tensors *t,
                                  size_t b, const struct attn_sequence *s)
{
    struct seen head = {0}, sum = {0};
    for (size_t g = 0; g < p->kv_heads; g++) {
        if (g == 0 || !shared(p, t, 1))
            head = count_head(p, t, b, g, s);
        sum.pairs += head.pairs;
        sum.keys += head.keys;
        sum.heads += head.keys > 0;
        sum.most = fmax(sum.most, head.keys);
        sum.most_pairs = fmax(sum.most_pairs, head.pairs);
    }
    return sum;
}

/* Elements of a bias or mask that lists leave in a sequence; where KV heads share them, those of the one that
 * reads the most. */
static double terms_listed(const struct attn_problem *p, const struct attn_tensors *tensors,
                           const struct attn_tensor *t, size_t b, const struct attn_sequence *s)
{
    const double group = (double)(p->q_heads / p->kv_heads);
    struct attn_problem bare = *p;
    bare.mask &= ~(unsigned)(ATTN_MASK_BOOL | ATTN_MASK_BIAS);
    const struct seen seen = count_sequence(&bare, tensors, b, s);
    if (t->stride[2])
        return t->stride[1] ? seen.pairs : seen.most_pairs / group;
    return t->stride[1] ? seen.keys * group : seen.most;
}

/* Elements of a bias or mask that positional masks and a tree leave in a sequence. */
static double terms(const struct attn_problem *p, const struct attn_tensors *tensors,
                    const struct attn_tensor *t, size_t b, const struct attn_sequence *s)
{
    if (!t->data)
        return 0;
    if (p->options & ATTN_OPTION_INDEX)
        return terms_listed(p, tensors, t, b, s);
    return (t->stride[1] ? (double)p->q_heads : 1) *
           (t->stride[2] ? pairs_placed(p, tensors, b, s) : keys_left(p, s->q_len, s->kv_len));
}

/* Keys that a head of sequence b sees in leading pages that an earlier sequence shares and sees.  Masks of
 * elements are taken to hide none of them, so that bytes are never too many. */
static double keys_before(const struct attn_problem *p, const struct attn_tensors *t, size_t b,
                          const struct attn_sequence *s)
{
    const struct attn_range own = keys_seen(p, s->q_len, s->kv_len);
    ptrdiff_t most = 0;
    for (size_t a = 0; p->options & ATTN_OPTION_PAGED && a < b; a++) {
        const struct attn_sequence other = attn_sequence(p, t, a);
        const struct attn_range seen = keys_seen(p, other.q_len, other.kv_len);
        const ptrdiff_t common = (ptrdiff_t)prefix_keys(p, t, a, b);
        const ptrdiff_t lo = own.lo > seen.lo ? own.lo : seen.lo;
        ptrdiff_t hi = own.hi < seen.hi ? own.hi : seen.hi;
        hi = hi < common ? hi : common;
        most = hi - lo > most ? hi - lo : most;
    }
    return (double)most;
}

/* Pages that a sequence begins with as an earlier one does count once; lengths, tables, sinks and slopes do
 * not count. */
struct attn_work attn_work(const struct attn_problem *problem, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = problem;
    const struct attn_tensors *t = tensors;
    struct elements bias = {.shared = t->bias.stride[0] == 0};
    struct elements mask = {.shared = t->mask.stride[0] == 0};
    struct elements parents = {.shared = shared_tree(p, t)};
    struct elements lists = {.shared =
                                 t->indices.stride[0] == 0 && !(p->options & ATTN_OPTION_PACKED)};
    const bool groups = p->kv_dtype == ATTN_I4;
    const struct attn_tensor *const scaling[] = {&t->k_scale, &t->v_scale, &t->k_zero, &t->v_zero};
    struct elements scaled[4];
    for (int n = 0; n < 4; n++)
        scaled[n] = (struct elements){.shared = scales_shared(p, scaling[n])};
    struct attn_sequence before = {0};
    struct seen seen = {0}, sum = {0};
    double rows = 0;
    for (size_t b = 0; b < p->batch; b++) {
        const struct attn_sequence s = attn_sequence(p, t, b);
        if (b == 0 || !shared(p, t, 0) || s.q_len != before.q_len || s.kv_len != before.kv_len)
            seen = count_sequence(p, t, b, &s);
        sum.pairs += seen.pairs;
        sum.keys += fmax(seen.keys - (double)p->kv_heads * keys_before(p, t, b, &s), 0);
        rows += (double)(p->q_heads * s.q_len);
        add_elements(&bias, terms(p, t, &t->bias, b, &s));
        add_elements(&mask, terms(p, t, &t->mask, b, &s));
        add_elements(&parents, (double)s.q_len);
        if (p->options & ATTN_OPTION_INDEX)
            add_elements(&lists,
                         entries(p, s.q_len) * (t->indices.stride[1] ? (double)p->kv_heads : 1));
        for (int n = 0; n < 4; n++)
            add_elements(&scaled[n], scales(scaling[n], &seen,
                                            scaling[n]->stride[3] && (n % 2 == 0 || groups)
                                                ? scales_each(p, n % 2 ? p->v_dim : p->qk_dim)
                                                : 1));
        before = s;
    }
    struct attn_work work = {.pairs = sum.pairs, .bytes = bytes_of(p, rows, sum.keys)};
    work.flops = 2 * work.pairs * (double)(p->qk_dim + p->v_dim);
    if (p->mask & ATTN_MASK_BIAS)
        work.bytes += bias.count * (double)attn_dtype_size(t->bias.dtype);
    if (p->mask & ATTN_MASK_BOOL)
        work.bytes += mask.count;
    if (p->mask & ATTN_MASK_TREE)
        work.bytes += parents.count * sizeof(int32_t);
    work.bytes += lists.count * sizeof(int32_t);
    if (attn_dtype_scaled(p->kv_dtype))
        work.bytes += (scaled[0].count + scaled[1].count) * sizeof(float);
    if (p->options & ATTN_OPTION_ZERO_POINTS)
        work.bytes += (scaled[2].count + scaled[3].count) * sizeof(float);
    return work;
}
