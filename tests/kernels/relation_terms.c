/*
 * relation_terms: what hides keys or is added to scores, written as another mask, bias or key.
 */
#include "testing.h"

#include <math.h>

#include "drawn_places.h"
#include "relations.h"

/* What a pair of query and key has in the other form. */
typedef double term(const struct drawn_operands *a, size_t b, size_t h, size_t i, size_t j);

/* A mask or bias that no rows share; key j of `a` is key first + j. */
static struct attn_tensor terms(const struct drawn_operands *a, struct related *to,
                                enum attn_dtype dtype, size_t first, term *of)
{
    const struct attn_problem *p = &to->d.problem;
    const struct attn_tensor t =
        drawn_tensor(&to->d, p->batch, p->q_heads, p->q_len, p->kv_len, dtype);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < drawn_q_len(a, b); i++)
                for (size_t j = 0; j < drawn_kv_len(a, b); j++)
                    drawn_set(&t, drawn_number(&t, b, h, i, (ptrdiff_t)(first + j)),
                              of(a, b, h, i, j));
    return t;
}

/* Leaves masks of these kinds only, no window and no lists. */
static void keep_masks(struct related *to, unsigned masks)
{
    struct attn_problem *p = &to->d.problem;
    p->mask &= masks;
    p->options &= ~(unsigned)(ATTN_OPTION_WINDOW | ATTN_OPTION_INDEX);
    p->index_count = p->index_block = 0;
    p->window_left = p->window_right = -1;
}

static double shown(const struct drawn_operands *a, size_t b, size_t h, size_t i, size_t j)
{
    return drawn_sees(a, b, h, i, j);
}

bool relate_as_mask(const struct drawn_operands *a, size_t n, struct related *to)
{
    if (n > 0)
        return false;
    keep_masks(to, ATTN_MASK_BIAS);
    to->d.problem.mask |= ATTN_MASK_BOOL;
    to->d.tensors.mask = terms(a, to, ATTN_BOOL, 0, shown);
    return true;
}

static double bias_or_hidden(const struct drawn_operands *a, size_t b, size_t h, size_t i, size_t j)
{
    if (!drawn_sees(a, b, h, i, j))
        return -INFINITY;
    return a->problem.mask & ATTN_MASK_BIAS ? drawn_bias(a, b, h, i, j) : 0;
}

bool relate_as_bias(const struct drawn_operands *a, size_t n, struct related *to)
{
    if (n > 0)
        return false;
    keep_masks(to, 0);
    to->d.problem.mask = ATTN_MASK_BIAS;
    to->d.tensors.bias = terms(a, to, attn_statistics_dtype(&a->problem), 0, bias_or_hidden);
    return true;
}

/* ---- slopes -------------------------------------------------------------------------------- */

void relation_exact_slopes(struct drawn_operands *d)
{
    for (size_t h = 0; h < d->problem.q_heads; h++)
        drawn_set(&d->tensors.slopes, (ptrdiff_t)h, exp2(-(double)(h + 1)));
}

static double slope_term(const struct drawn_operands *a, size_t b, size_t h, size_t i, size_t j)
{
    return drawn_get(&a->tensors.slopes, (ptrdiff_t)h) * (double)drawn_distance(a, b, i, j);
}

bool relate_slopes_as_bias(const struct drawn_operands *a, size_t n, struct related *to)
{
    if (n > 0)
        return false;
    to->d.problem.options &= ~(unsigned)ATTN_OPTION_ALIBI;
    to->d.problem.mask |= ATTN_MASK_BIAS;
    to->d.tensors.bias = terms(a, to, ATTN_F32, 0, slope_term);
    return true;
}

/* ---- sinks --------------------------------------------------------------------------------- */

/* The key of the sink is the first of each sequence, and 0: its score is its bias. */
static void make_sink_keys(struct related *to, const struct attn_tensor *keys, size_t columns)
{
    for (size_t b = 0; b < to->d.problem.batch; b++)
        for (size_t g = 0; g < to->d.problem.kv_heads; g++)
            for (size_t e = 0; e < columns; e++)
                drawn_set(keys, drawn_key_number(&to->d, keys, b, g, 0, e), 0);
}

bool relate_sink_as_key(const struct drawn_operands *a, size_t n, struct related *to)
{
    struct attn_problem *p = &to->d.problem;
    struct attn_tensors *t = &to->d.tensors;
    if (n > 0)
        return false;
    p->kv_len++;
    p->options &= ~(unsigned)ATTN_OPTION_SINKS;
    if (drawn_on(a, ATTN_OPTION_RAGGED)) {
        t->kv_lens = drawn_numbers(&to->d, p->batch, ATTN_I32);
        for (size_t b = 0; b < p->batch; b++)
            ((int32_t *)t->kv_lens.data)[b] = (int32_t)drawn_kv_len(a, b) + 1;
    }
    t->k = relation_keys(a, to, &a->tensors.k, NULL, p->qk_dim, 1);
    make_sink_keys(to, &t->k, p->qk_dim);
    t->v = t->k;
    if (!drawn_on(a, ATTN_OPTION_SHARED_KV)) {
        t->v = relation_keys(a, to, &a->tensors.v, NULL, p->v_dim, 1);
        make_sink_keys(to, &t->v, p->v_dim);
    }
    keep_masks(to, 0);
    p->mask = ATTN_MASK_BIAS;
    t->bias = terms(a, to, attn_statistics_dtype(&a->problem), 1, bias_or_hidden);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < p->q_len; i++)
                drawn_set(&t->bias, drawn_number(&t->bias, b, h, i, 0),
                          drawn_get(&a->tensors.sinks, (ptrdiff_t)h));
    return true;
}

/* ---- softcap ------------------------------------------------------------------------------- */

/* The cap c changes a score x by x^3 / (3 c^2), which for |x| < 80 is less than what the bound allows for
 * rounding c tanh(x / c): 4 * 2^-24 * c, of f64 4 * 2^-53 * c. */
void relation_high_softcap(struct drawn_operands *d)
{
    d->problem.softcap = d->problem.dtype == ATTN_F64 ? 1e7f : 1e4f;
}

bool relate_uncapped(const struct drawn_operands *a, size_t n, struct related *to)
{
    (void)a;
    to->d.problem.options &= ~(unsigned)ATTN_OPTION_SOFTCAP;
    to->d.problem.softcap = 0;
    return n == 0;
}
