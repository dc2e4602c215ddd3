/*
 * weights.h: part of kernel split_kv: a tile's weights for a block of keys.
 */
#pragma once

#include "key_blocks.h"
#include "split_kv_terms.h"
#if !MATRIX_UNIT
#include "arithmetic.h"
#include "listed_rows.h"
#include "nibble_groups.h"
#endif

#if !MATRIX_UNIT
/* The products of a tile of `rows` rows. */
static struct products products_of(const struct unit *u, int rows)
{
    const struct arithmetic *a = arithmetic_of(u->g->format, rows);
    if (u->in_place && u->g->format != FORMAT_I4) /* which no list reads in place */
        return listed_products[u->g->format][rows];
    return (struct products){a->dots[u->reading], a->values[u->reading]};
}
#endif

/* weights() below, for K of 4 bits or for other formats. */
VF_INLINE void weights_of_format(const bool nibbles, const struct unit *u, struct tile *t,
                                 struct rows k, ptrdiff_t first, int n_keys, int keys,
                                 const struct terms *terms, const struct seen *seen,
                                 struct cursor *next)
{
#if MATRIX_UNIT /* P already holds the products (panels.h) */
    const int n = GROUP_KEYS;
    (void)nibbles, (void)u, (void)k, (void)next, (void)first, (void)n_keys;
#else
    const struct products products = products_of(u, t->rows);
    const int n = GROUP_KEYS * t->rows / VF_LANES;
    struct axis own;
#endif
    for (int j = 0, groups = 1; j < keys; j += groups * GROUP_KEYS) {
        vf s[MOST_KEY_GROUPS * GROUP_KEYS * MOST_ROWS / VF_LANES];
#if MATRIX_UNIT
        for (int i = 0; i < n; i++)
            s[i] = vf_load(t->p + P_AT(t, j + i));
#else
        const struct rows group = {k.data + j * k.stride, k.stride};
        const struct axis *axis =
            nibbles ? axis_of_nibbles(u, &u->k, &u->g->qk, first + j, n_keys - j, &own) : &u->g->qk;
        groups = nibbles && MOST_KEY_GROUPS > 1 && axis->groups.two_key_groups ? 2 : 1;
        products.dots(s, t->q, group, axis, next);
#if BYTE_PAIRS
        for (int part = 1; part < parts_of_queries(u); part++) { /* the largest last */
            vf more[GROUP_KEYS * MOST_ROWS / VF_LANES];
            products.dots(more, t->q + part * t->rows * (u->g->q_floats / Q_PARTS), group, axis,
                          next);
            for (int i = 0; i < n; i++)
                s[i] += more[i];
        }
#endif
#endif
        for (int g = 0; g < groups; g++)
            if (terms)
                weigh_natural(t, s + g * n, n, j + g * GROUP_KEYS, terms, seen);
            else if (!seen && !MATRIX_UNIT)
                weigh_seen_group(t, s + g * n, j + g * GROUP_KEYS);
            else
                weigh_in_log2(t, s + g * n, n, j + g * GROUP_KEYS, seen);
    }
}

/* P of keys [0, keys) of k, keys a multiple of GROUP_KEYS; terms NULL: scores have none; seen NULL: every row
 * sees all. */
static void weights(const struct unit *u, struct tile *t, struct rows k, ptrdiff_t first,
                    int n_keys, int keys, const struct terms *terms, const struct seen *seen,
                    struct cursor *next)
{
    if (u->g->format == FORMAT_I4)
        weights_of_format(true, u, t, k, first, n_keys, keys, terms, seen, next);
    else
        weights_of_format(false, u, t, k, first, n_keys, keys, terms, seen, next);
}

/* P of the tile whose rows begin at `row`, not yet paired; `bits`: the keys that its rows see, NULL: all. */
static void tile_weights(const struct unit *u, struct tile *t, int row, const struct block *b,
                         struct rows k, const uint64_t *bits, struct cursor *next)
{
    const int n = (int)(b->end - b->j), keys = (n + GROUP_KEYS - 1) / GROUP_KEYS * GROUP_KEYS;
    struct seen seen;
    struct terms terms;
    if (bits)
        seen = bits_of_lanes(bits, t->rows);
    if (u->scaling.natural)
        terms = terms_of(u, t, row, b->j, n, keys);
    weights(u, t, k, b->j, n, keys, u->scaling.natural ? &terms : NULL, bits ? &seen : NULL, next);
}
