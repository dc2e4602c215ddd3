/*
 * lazy.h: streaming softmax whose maximum follows a score only when that exceeds it by more than a limit.
 *
 * A small limit is right and saves rescaling (FlashAttention 4, arXiv:2603.05451: 8 in base 2).
 */
#ifndef TESTS_LAZY_H
#define TESTS_LAZY_H

#include "wrong.h"

static inline void lazy_row(struct work *w, float limit)
{
    make_scores(w);
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] = 0;
    w->m = -INFINITY;
    w->l = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        if (w->scores[j] == -INFINITY)
            continue;
        if (!(w->scores[j] - w->m <= limit)) {
            const float factor = expf(w->m - w->scores[j]);
            w->m = w->scores[j];
            w->l *= factor;
            for (size_t d = 0; d < w->problem->v_dim; d++)
                w->o[d] *= factor;
        }
        const float p = expf(w->scores[j] - w->m);
        w->l += p;
        for (size_t d = 0; d < w->problem->v_dim; d++)
            w->o[d] += p * value(w, j, d);
    }
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] /= w->l != 0 ? w->l : 1;
    store(w);
}

#endif
