/*
 * weights.h: part of kernel split_kv: blocks of keys, and a tile's weights for a block.
 */
#ifndef ATTN_SPLIT_KV_WEIGHTS_H
#define ATTN_SPLIT_KV_WEIGHTS_H

#include "listed.h"
#include "split_kv_terms.h"
#if !MATRIX_UNIT
#include "arithmetic.h"
#include "listed_rows.h"
#endif

/* Keys [j, end) of a split; if g->looks, unit.bits has the keys that each row sees. */
struct block {
    ptrdiff_t j, end;
    bool copied; /* K, and V if it is scattered */
};

#if MATRIX_UNIT
/* The block that begins at key j < hi, whose groups of keys may be scattered (panels.h). */
static inline struct block block_at(const struct unit *u, ptrdiff_t j, ptrdiff_t hi)
{
    const ptrdiff_t each = u->g->block_keys;
    return (struct block){j, hi - j < each ? hi : j + each, false};
}
#else
/* The block that begins at key j < hi, with pages or fewer rows than a block has. */
VF_NOINLINE struct block part_of_block(const struct unit *u, ptrdiff_t j, ptrdiff_t hi)
{
    const ptrdiff_t most = u->g->block_keys, left = hi - j < most ? hi - j : most;
    if (u->list)
        return (struct block){j, j + left, true};
    const ptrdiff_t run = keys_run(&u->k.keys, j, left), whole = run / GROUP_KEYS * GROUP_KEYS;
    const ptrdiff_t copied = left < GROUP_KEYS ? left : GROUP_KEYS;
    return (struct block){j, j + (whole ? whole : copied), whole == 0};
}

static inline struct block block_at(const struct unit *u, ptrdiff_t j, ptrdiff_t hi)
{
    if (u->k.scattered || hi - j < u->g->block_keys)
        return part_of_block(u, j, hi);
    return (struct block){j, j + u->g->block_keys, false};
}

#endif

/* The first block from key j on of which the operands leave some row a key; if there is none, one that begins
 * at hi. */
static inline struct block block_from(const struct unit *u, ptrdiff_t j, ptrdiff_t hi,
                                      uint64_t *bits, struct mask_bits *mask)
{
    while (j < hi) {
        const struct block b = block_at(u, j, hi);
        if (!u->g->looks)
            return b;
        *mask = unit_bits(u, j, b.end - j, bits);
        if (mask->any)
            return b;
        j = b.end;
    }
    return (struct block){hi, hi + u->g->block_keys, false};
}

/* The key at which blocks begin: with pages at a whole group, so that each page begins with a group. */
static ptrdiff_t unit_first(const struct unit *u, struct attn_range keys)
{
    return u->k.scattered ? keys.lo / GROUP_KEYS * GROUP_KEYS : keys.lo;
}

#if !MATRIX_UNIT
/* Copies the scales, or zero points, of entries [j, j + n) of a list for each of `count` groups; 0 for entry
 * -1. */
static float *copy_groups(const struct unit *u, const struct attn_tensor *t, ptrdiff_t j,
                          ptrdiff_t n, ptrdiff_t count, float *to)
{
    const size_t first = u->block.sequence.kv_first;
    for (ptrdiff_t i = 0; i < n; i++) {
        const ptrdiff_t key = u->list[j + i];
        const float *row =
            key < 0 ? NULL : attn_row_f32(t, u->block.b, u->block.g, first + (size_t)key);
        for (ptrdiff_t x = 0; x < count; x++)
            *to++ = row ? row[x * t->stride[3]] : 0;
    }
    return to;
}

/* Copies the scales of these entries, and zero points if `zero` is not NULL, after the copied rows. */
static void groups_listed(const struct unit *u, const struct axis *axis,
                          const struct attn_tensor *scale, const struct attn_tensor *zero,
                          ptrdiff_t j, ptrdiff_t n, char *copy, struct groups *g)
{
    const ptrdiff_t count = (axis->steps - 1) / g->steps + 1;
    float *to = (float *)(void *)(copy + geometry_copied_rows(axis, (size_t)u->g->block_keys));
    g->scale = to;
    to = copy_groups(u, scale, j, n, count, to);
    g->scale_row = count;
    g->scale_each = 1;
    if (!zero)
        return;
    g->zero = to;
    copy_groups(u, zero, j, n, count, to);
    g->zero_row = count;
    g->zero_each = 1;
}

/* The axis with scales and zero points of rows [j, j + n) of a block of 4 bits, in `own`.  With a list, those
 * of K are copied for one group of keys at a time. */
VF_NOINLINE const struct axis *axis_of_nibbles(const struct unit *u, const struct cache *c,
                                               const struct axis *axis, ptrdiff_t j, ptrdiff_t n,
                                               struct axis *own)
{
    static const float eight = 8;
    const struct attn_problem *p = u->block.problem;
    const bool is_k = c == &u->k;
    const struct attn_tensor *scale = is_k ? &u->t->k_scale : &u->t->v_scale;
    const struct attn_tensor *zero = is_k ? &u->t->k_zero : &u->t->v_zero;
    const bool zeros = p->options & ATTN_OPTION_ZERO_POINTS;
    *own = *axis;
    own->groups = (struct groups){
        .zero = &eight,
        .steps = (ptrdiff_t)p->kv_group / (2 * VF_LANES),
        .last = (int)n - 1,
        .left = (int)(axis->dim - axis->full * 2 * VF_LANES),
        .zeros = zeros,
    };
    if (u->list) {
        groups_listed(u, axis, scale, zeros ? zero : NULL, j,
                      is_k && n > GROUP_KEYS ? GROUP_KEYS : n, is_k ? u->k_copy : u->v_copy,
                      &own->groups);
        return own;
    }
    const size_t row = u->block.sequence.kv_first + (size_t)j;
    own->groups.scale = attn_row_f32(scale, u->block.b, u->block.g, row);
    own->groups.scale_row = scale->stride[2];
    own->groups.scale_each = scale->stride[3];
    if (zeros) {
        own->groups.zero = attn_row_f32(zero, u->block.b, u->block.g, row);
        own->groups.zero_row = zero->stride[2];
        own->groups.zero_each = zero->stride[3];
    }
    return own;
}

/* The same for 4 bits; for other formats `axis`. */
VF_INLINE const struct axis *nibbles_of_block(const struct unit *u, const struct cache *c,
                                              const struct axis *axis, ptrdiff_t j, ptrdiff_t n,
                                              struct axis *own)
{
    return u->g->format == FORMAT_I4 ? axis_of_nibbles(u, c, axis, j, n, own) : axis;
}
#endif

/* ---- scores --------------------------------------------------------------------------------- */

#if !MATRIX_UNIT
/* The products of a tile of `rows` rows. */
static struct products products_of(const struct unit *u, int rows)
{
    const struct arithmetic *a = arithmetic_of(u->g->format, rows);
    if (u->in_place)
        return listed_products[u->g->format][rows];
    return (struct products){a->dots[u->reading], a->values[u->reading]};
}
#endif

/* P of keys [0, keys) of k, keys a multiple of GROUP_KEYS; terms NULL: scores have none; seen NULL: every row
 * sees all. */
static void weights(const struct unit *u, struct tile *t, struct rows k, ptrdiff_t first,
                    int n_keys, int keys, const struct terms *terms, const struct seen *seen,
                    struct cursor *next)
{
#if MATRIX_UNIT /* P already holds the products (panels.h) */
    const int n = GROUP_KEYS;
    (void)u, (void)k, (void)next, (void)first, (void)n_keys;
#else
    const struct products products = products_of(u, t->rows);
    const int n = GROUP_KEYS * t->rows / VF_LANES;
    struct axis own;
#endif
    for (int j = 0; j < keys; j += GROUP_KEYS) {
        vf s[GROUP_KEYS * MOST_ROWS / VF_LANES];
#if MATRIX_UNIT
        for (int i = 0; i < n; i++)
            s[i] = vf_load(t->p + P_AT(t, j + i));
#else
        const struct rows group = {k.data + j * k.stride, k.stride};
        const struct axis *axis =
            nibbles_of_block(u, &u->k, &u->g->qk, first + j, n_keys - j, &own);
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
        if (terms)
            weigh_natural(t, s, n, j, terms, seen);
        else
            weigh_in_log2(t, s, n, j, seen);
    }
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

#endif
