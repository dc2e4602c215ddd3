/*
 * weights_output.h: part of kernel split_kv: the weights as an output.
 *
 * A row's maximum and sum are known when its parts have been merged; then its scores are computed again, and
 * converted to weights directly.
 */
#pragma once

#include "split_merge.h"
#if MATRIX_UNIT
#include "panels.h"
#else
#include "unit_blocks.h"
#endif

/* Stores P / l of the tile's rows that see a key of a block in their rows of weights, from key j on. */
static void report_tile(const struct unit *u, const struct tile *t, int row,
                        const struct merged *merged, ptrdiff_t j)
{
    for (int h = 0; h < t->rows && row + h < u->rows; h++) {
        float *to = (float *)unit_row(u, &u->t->weights, row + h);
        for (uint64_t bits = u->bits[row + h]; bits; bits &= bits - 1) {
            const int key = __builtin_ctzll(bits);
            to[u->list ? u->list[j + key] : j + key] =
                t->p[P_AT(t, key) + h] * merged[row + h].inverse;
        }
    }
}

/* Prepares the rows of K for a block's scores, and the keys that the unit's rows see. */
#if MATRIX_UNIT
static struct rows report_scores(const struct unit *u, const struct block *b)
{
    struct rows k[BLOCK_GROUPS];
    const int n = (int)(b->end - b->j), groups = key_groups(u, b, k);
    look_at(u, b->j, n, u->bits);
    for (int from = 0; from < n; from += STRIP_KEYS)
        score_strip(u, k + from / GROUP_KEYS, from / STRIP_KEYS);
    score_last(u, b, k, groups, 0);
    for (int i = 0; i < u->tiles; i++)
        tile_at_strip(u, i, 0);
    return k[0];
}
#else
static struct rows report_scores(const struct unit *u, const struct block *b)
{
    struct rows k = cache_rows(&u->k, b->j), v = k;
    if (b->copied)
        copy_rows(u, b, &k, &v);
    unit_bits(u, b->j, b->end - b->j, u->bits);
    return k;
}
#endif

static void report_block(const struct unit *u, const struct block *b, const struct merged *merged)
{
    struct cursor none = {0};
    const struct rows k = report_scores(u, b);
    for (int i = 0, row = 0; i < u->tiles; row += u->tile[i++].rows) {
        struct tile *t = &u->tile[i];
        if (!bits_of_rows(u->bits + row, t->rows).any)
            continue;
        tile_weights(u, t, row, b, k, u->bits + row, &none);
        report_tile(u, t, row, merged, b->j);
    }
}

/* Stores weights of the unit's rows for the keys of a split that they see, in rows of zeros; spare: memory
 * for the unit's O. */
static void report_split(struct unit *u, struct attn_range split, const struct merged *merged,
                         float *spare)
{
    const struct attn_range keys = unit_look(u, split.lo, split.hi);
    if (keys.lo >= keys.hi)
        return;
    start_tiles(u, spare);
    u->reports = true;
    for (int i = 0, row = 0; i < u->tiles; row += u->tile[i++].rows)
        for (int lane = 0; lane < VF_LANES; lane++) {
            struct tile *t = &u->tile[i];
            t->shift[lane] = softmax_shift(merged[row + lane % t->rows].m);
            t->limit[lane] = INFINITY;
        }
    struct block b;
    for (ptrdiff_t j = unit_first(u, keys); j < keys.hi; j = b.end) {
        b = block_at(u, j, keys.hi);
        report_block(u, &b, merged);
    }
}
