/*
 * pages_in_common.h: what kernels that take sequences with the same first pages together look for.
 */
#ifndef TESTS_WRONG_PAGES_IN_COMMON_H
#define TESTS_WRONG_PAGES_IN_COMMON_H

#include "wrong.h"

/* Keys in full pages that sequences a and b both begin with; 0 without pages. */
static inline ptrdiff_t keys_in_common(const struct work *w, size_t a, size_t b)
{
    const struct attn_problem *p = w->problem;
    const struct attn_tensor *t = &w->tensors->block_table;
    ptrdiff_t n = 0;
    if (!(p->options & ATTN_OPTION_PAGED))
        return 0;
    const int32_t *x = (const int32_t *)t->data + (ptrdiff_t)a * t->stride[0];
    const int32_t *y = (const int32_t *)t->data + (ptrdiff_t)b * t->stride[0];
    const ptrdiff_t page = (ptrdiff_t)p->page_size;
    const ptrdiff_t keys = (ptrdiff_t)attn_sequence(p, w->tensors, a).kv_len;
    const ptrdiff_t others = (ptrdiff_t)attn_sequence(p, w->tensors, b).kv_len;
    while (n + page <= keys && n + page <= others && x[n / page] == y[n / page])
        n += page;
    return n;
}

#endif
