/*
 * relation_keys: the same keys and values, elsewhere in memory or of another type.
 */
#include "testing.h"

#include <math.h>

#include "drawn_places.h"
#include "relations.h"

struct attn_tensor relation_keys(const struct drawn_operands *a, struct related *to,
                                 const struct attn_tensor *keys, const struct attn_tensor *scale,
                                 size_t columns, size_t first)
{
    const struct attn_tensor t = drawn_keys_tensor(&to->d, columns);
    for (size_t b = 0; b < a->problem.batch; b++)
        for (size_t g = 0; g < a->problem.kv_heads; g++)
            for (size_t j = 0; j < drawn_kv_len(a, b); j++)
                for (size_t e = 0; e < columns; e++) {
                    const double x = scale == &a->tensors.k_scale ? drawn_k(a, b, g, j, e)
                                     : scale
                                         ? drawn_v(a, b, g, j, e)
                                         : drawn_get(keys, drawn_key_number(a, keys, b, g, j, e));
                    drawn_set(&t, drawn_key_number(&to->d, &t, b, g, first + j, e), x);
                }
    return t;
}

bool relate_contiguous(const struct drawn_operands *a, size_t n, struct related *to)
{
    struct attn_problem *p = &to->d.problem;
    struct attn_tensors *t = &to->d.tensors;
    if (n > 0)
        return false;
    p->options &= ~(unsigned)ATTN_OPTION_PAGED;
    p->page_size = 0;
    t->k = relation_keys(a, to, &a->tensors.k, NULL, p->qk_dim, 0);
    t->v = drawn_on(a, ATTN_OPTION_SHARED_KV)
               ? t->k
               : relation_keys(a, to, &a->tensors.v, NULL, p->v_dim, 0);
    return true;
}

bool relate_apart(const struct drawn_operands *a, size_t n, struct related *to)
{
    if (n > 0)
        return false;
    to->d.problem.options &= ~(unsigned)ATTN_OPTION_SHARED_KV;
    to->d.tensors.v = relation_keys(a, to, &a->tensors.k, NULL, to->d.problem.v_dim, 0);
    return true;
}

/* ---- 8 and 4 bits ---------------------------------------------------------------------------------- */

/* Powers of two, so that int8 times scale is a number of 8 bits, in any type, and so is an i4 less a zero
 * point in quarters; both differing between heads, keys and channels, but not between sequences, which may
 * share a page. */
void relation_exact_scales(struct drawn_operands *d)
{
    const struct attn_tensor *const scales[] = {&d->tensors.k_scale, &d->tensors.v_scale};
    const struct attn_tensor *const zeros[] = {&d->tensors.k_zero, &d->tensors.v_zero};
    for (size_t n = 0; n < 2; n++) {
        const struct attn_tensor *t = scales[n], *zero = zeros[n];
        const size_t dim = n ? d->problem.v_dim : d->problem.qk_dim;
        const size_t columns = drawn_scales(&d->problem, t->stride[3], dim);
        for (size_t b = 0; b < d->problem.batch; b++)
            for (size_t g = 0; g < d->problem.kv_heads; g++)
                for (size_t j = 0; j < drawn_kv_len(d, b); j++)
                    for (size_t e = 0; e < columns; e++) {
                        const size_t kind = (g + (t->stride[2] ? j : 0) + e) % 3;
                        const ptrdiff_t at = (ptrdiff_t)e;
                        drawn_set(t, drawn_scale_number(d, t, b, g, j, at),
                                  exp2(-5 - (double)kind));
                        if (zero->data)
                            drawn_set(zero, drawn_scale_number(d, zero, b, g, j, at),
                                      7.25 + (double)kind / 4);
                    }
    }
}

bool relate_floats(const struct drawn_operands *a, size_t n, struct related *to)
{
    struct attn_problem *p = &to->d.problem;
    struct attn_tensors *t = &to->d.tensors;
    if (n > 0)
        return false;
    p->kv_dtype = p->dtype;
    p->kv_group = 0;
    p->options &=
        ~(unsigned)(ATTN_OPTION_SHARED_KV | ATTN_OPTION_ZERO_POINTS); /* K and V have own scales */
    t->k = relation_keys(a, to, &a->tensors.k, &a->tensors.k_scale, p->qk_dim, 0);
    t->v = relation_keys(a, to, &a->tensors.v, &a->tensors.v_scale, p->v_dim, 0);
    return true;
}
