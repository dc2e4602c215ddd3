/*
 * adversary_caches: sinks, slopes and pages.
 */
#include <math.h>

#include "adversary_inputs.h"
#include "problem/kv.h"

/* ---- sinks --------------------------------------------------------------------------------- */

static void set_sink(struct trial *trial, size_t h, float sink)
{
    ((float *)trial->set.tensors.sinks.data)[h] = sink;
}

/* Sinks so large that they take all of the weight. */
void caches_raise_sinks(struct trial *trial)
{
    for (size_t h = 0; h < trial->problem.q_heads; h++)
        set_sink(trial, h, h % 2 ? 1e30F : 100 + (float)h);
}

void caches_vary_sinks(struct trial *trial)
{
    static const float sinks[] = {-INFINITY, 15, -1e30F, 0};
    for (size_t h = 0; h < trial->problem.q_heads; h++)
        set_sink(trial, h, sinks[h % 4]);
}

/* Sinks of NaN, every other one. */
void caches_nan_sinks(struct trial *trial)
{
    for (size_t h = 0; h < trial->problem.q_heads; h += 2)
        set_sink(trial, h, NAN);
}

/* ---- slopes -------------------------------------------------------------------------------- */

/* Slopes other than the usual powers of two, which a kernel could compute from the number of heads. */
void caches_vary_slopes(struct trial *trial)
{
    static const float slopes[] = {0.7F, 0.03F, 0, 1.3F};
    for (size_t h = 0; h < trial->problem.q_heads; h++)
        ((float *)trial->set.tensors.slopes.data)[h] = slopes[h % 4];
}

/* ---- pages --------------------------------------------------------------------------------- */

/* Full pages that both of two sequences have. */
static size_t pages_of_both(const struct trial *trial, size_t a, size_t b)
{
    const struct attn_problem *p = &trial->problem;
    const size_t x = attn_sequence(p, &trial->set.tensors, a).kv_len;
    const size_t y = attn_sequence(p, &trial->set.tensors, b).kv_len;
    return (x < y ? x : y) / p->page_size;
}

/* Fills a page of K and V with NaN that no table names any more. */
static void poison_page(const struct trial *trial, size_t page)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    for (size_t g = 0; !kv_integers(p->kv_dtype) && g < p->kv_heads; g++)
        for (size_t r = 0; r < p->page_size; r++) {
            for (size_t d = 0; d < p->qk_dim; d++)
                tensors_set(&t->k, page, g, r, d, NAN);
            for (size_t d = 0; d < p->v_dim; d++)
                tensors_set(&t->v, page, g, r, d, NAN);
        }
}

/* All sequences begin with pages of the first one; in every other sequence their order differs. */
void caches_share_pages(struct trial *trial)
{
    const struct attn_tensor *t = &trial->set.tensors.block_table;
    int32_t *first = t->data;
    for (size_t b = 1; b < trial->problem.batch; b++) {
        int32_t *own = first + (ptrdiff_t)b * t->stride[0];
        const size_t n = pages_of_both(trial, 0, b);
        for (size_t k = 0; k < n; k++) {
            poison_page(trial, (size_t)own[k]);
            own[k] = first[b % 2 ? k : n - 1 - k];
        }
    }
}

/* Sequences 0 and 1, 2 and 3, and so on share as many pages at their beginning as both have full ones,
 * which may be all pages of one of them. */
void caches_share_prefixes(struct trial *trial)
{
    const struct attn_tensor *t = &trial->set.tensors.block_table;
    for (size_t b = 1; b < trial->problem.batch; b += 2) {
        int32_t *own = (int32_t *)t->data + (ptrdiff_t)b * t->stride[0];
        for (size_t k = 0; k < pages_of_both(trial, b - 1, b); k++) {
            poison_page(trial, (size_t)own[k]);
            own[k] = own[(ptrdiff_t)k - t->stride[0]];
        }
    }
}
