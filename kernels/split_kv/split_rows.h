/*
 * split_rows.h: part of kernel split_kv: units of one row each, which read their keys as a stream.
 */
#pragma once

#include "shared/rows.h"
#include "split_merge.h"

/* How many rows from key j < hi on are read as a stream. */
static ptrdiff_t stream_run(const struct unit *u, const struct cache *c, ptrdiff_t j, ptrdiff_t hi)
{
    const ptrdiff_t left = hi - j, most = u->g->touch_keys;
    return keys_run(&c->keys, j, left < most ? left : most);
}

/* For n units of one row each, in turn, run by run of keys, so that shared keys are read from a cache:
 * computes scores, or with `values` adds P V to O. */
static void rows_runs(const struct unit *u, int n, const struct attn_range *keys, bool values,
                      char *part, size_t step)
{
    const struct geometry *g = u->g;
    const ptrdiff_t element = sizeof(float);
    ptrdiff_t j[UNITS_ABREAST];
    for (int i = 0; i < n; i++)
        j[i] = keys[i].lo;
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < n; i++) {
            const struct cache *c = values ? &u[i].v : &u[i].k;
            if (j[i] >= keys[i].hi)
                continue;
            const struct rows x = cache_rows(c, j[i]);
            const ptrdiff_t run = stream_run(&u[i], c, j[i], keys[i].hi);
            float *const p = u[i].p + (j[i] - keys[i].lo);
            if (j[i] >= u[i].shared)
                cache_touch(c, j[i] + run, run);
            if (values)
                row_weigh((float *)(part + (size_t)i * step), p, (const float *)x.data,
                          x.stride / element, run, (size_t)g->v.dim);
            else
                row_scores(unit_row(&u[i], &u[i].t->q, 0), (const float *)x.data,
                           x.stride / element, run, (size_t)g->qk.dim,
                           softmax_scale(u[i].block.problem), p);
            j[i] += run;
            more = true;
        }
    }
}

/* O, m and l of n units of one row each: all scores, then all values.  A row uses each key once, so that
 * blocks in L1 gain nothing; one long stream per operand, which hardware prefetchers recognise, is fastest
 * (blocks with prefetches of lines: 0.65 to 0.8 times as fast on Zen 4). */
static void split_rows(const struct unit *u, int n, const struct attn_range *keys, char *part,
                       size_t step)
{
    rows_runs(u, n, keys, false, part, step);
    for (int i = 0; i < n; i++) {
        const ptrdiff_t count = keys[i].hi - keys[i].lo;
        float *o = (float *)(part + (size_t)i * step), *sums = part_sums(u->g, (char *)o, 0);
        const float m = softmax_max(u[i].p, count, -INFINITY);
        sums[1] = softmax_exp2(u[i].p, count, softmax_shift(m));
        sums[0] = sums[1] == 0 ? -INFINITY : softmax_shift(m);
        memset(o, 0, (size_t)u->g->o_floats * sizeof *o);
    }
    rows_runs(u, n, keys, true, part, step);
}
