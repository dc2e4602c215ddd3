/*
 * unit.h: part of kernel split_kv: the state of a unit, and its rows of Q and O.
 */
#pragma once

#include "cache.h"
#include "geometry.h"
#include "shared/softmax.h"
#if MATRIX_UNIT
#include "shared/tile_bytes.h"
#endif
#include "mask_bits.h"

/* 8-bit elements are divided by a power of two when they are read: f8e4m3 in vectors of f32 by 256 (simd16.h),
 * all types for a matrix unit, so that no element exceeds 1, and V for products of pairs (bytes_as_bf16.h).
 * Products with K, and results, are multiplied by SCALING_UNIT, weights that take scales of values by
 * VALUES_UNIT. */
#if MATRIX_UNIT
#define SCALING_UNIT(problem) bytes_unit((problem)->kv_dtype)
#define VALUES_UNIT(problem) SCALING_UNIT(problem)
#elif BYTE_PAIRS
#define SCALING_UNIT(problem) 1
#define VALUES_UNIT(problem) bytes_unit((problem)->kv_dtype)
#else
#define SCALING_UNIT(problem) ((problem)->kv_dtype == ATTN_F8E4M3 ? 256.0F : 1.0F)
#define VALUES_UNIT(problem) 1
#endif

/* Where scales of 8 bits are applied, and the base of scores. */
struct scaling {
    bool keys, values; /* each key's: to scores, to weights (split_kv_terms.h) */
    bool channels;     /* those of K's channels: to Q */
    float k, v;        /* shared ones: to all products, to all results */
    bool natural;      /* scores have terms, so that they are not times log2(e) (split_kv_tile.h) */
};

#define UNIT_LOWER 0x1p-26F /* makes products of unit_overflows() finite */

/* A unit at work in one thread. */
struct unit {
    const struct geometry *g;
    const struct attn_tensors *t;
    struct group_block block; /* its rows */
    int rows, tiles;
    bool alone; /* one row that reads its keys as a stream (split_rows.h) */
    enum reading reading;
    const int32_t *list; /* of keys (listed.h); NULL: none */
    struct listed_rows *listed;
    bool in_place; /* the block's rows are read where the list finds them (listed_rows.h) */
    bool reports;  /* P is for the output, without V's scales (weights_output.h) */
    struct scaling scaling;
    bool infinite; /* scales of keys may be infinite (split_kv_terms.h) */
    float lower;   /* factor of scales of values that weights take: 1 or UNIT_LOWER */
    /* Keys before this one are in pages of the previous unit, and thus in L1 already. */
    ptrdiff_t shared;
    struct cache k, v;
    struct softcap cap;
    float *q, *p, *terms;
    char *k_copy, *v_copy;
    uint16_t *a; /* P as tiles of a matrix unit */
#if MATRIX_UNIT
    struct elements elements; /* conversion of 8 bits */
#endif
    struct tile *tile;
    struct view *view; /* per row */
    uint64_t *bits;    /* per row: the keys of a block that it sees */
    struct attn_range
        whole; /* keys of the split that every row sees by position, without drafts of a tree */
};

#if MATRIX_UNIT
/* The scale that all keys, or values, of a head share, times `unit`; 0 if it cannot be applied to sums: with
 * an infinite one a sum of products of both signs must be NaN. */
static float scaling_shared(const struct keys *keys, const struct attn_tensor *scale, float unit)
{
    if (scale->stride[2]) /* each key has its own, and a sequence without keys none */
        return 0;
    const float x = *attn_row_f32(scale, keys->b, keys->g, keys->sequence.kv_first) * unit;
    return isfinite(x * softmax_scale(keys->problem)) ? x : 0;
}

/* Sets the scales that are applied to sums, which keys, or values, share. */
static void scaling_of_sums(struct scaling *s, const struct keys *keys)
{
    const float k = scaling_shared(keys, &keys->tensors->k_scale, s->k);
    const float v = scaling_shared(keys, &keys->tensors->v_scale, s->v);
    if (s->keys && k != 0) {
        s->k = k;
        s->keys = false;
    }
    s->values = v == 0;
    s->v = s->values ? 1 : v;
}
#endif

static struct scaling scaling_of(const struct geometry *g, const struct keys *keys)
{
    const bool scaled = FORMAT_SCALED(g->format);
    const float unit = SCALING_UNIT(keys->problem);
    const bool channels = scaled && keys->tensors->k_scale.stride[3] != 0;
    struct scaling s = {
        .keys = scaled && !channels, .values = scaled, .channels = channels, .k = unit, .v = unit};
#if MATRIX_UNIT
    if (scaled)
        scaling_of_sums(&s, keys);
#endif
    s.natural = g->natural || s.keys || s.values;
    return s;
}

/* (Initialised in place: a returned struct is copied by loads wider than its recent stores, which stall.) */
static void unit_start(struct unit *u, const struct geometry *g, const struct attn_problem *problem,
                       const struct attn_tensors *t, const struct attn_sequence *sequence, size_t b,
                       size_t head, size_t index, char *scratch)
{
    u->g = g;
    u->t = t;
    u->block = group_block_in(problem, sequence, b, head, index, g->unit_most);
    const struct keys keys = keys_of(t, &u->block);
    u->list = keys.list;
    cache_start(&u->k, &keys, &t->k);
    cache_start(&u->v, &keys, &t->v);
    u->rows = (int)u->block.rows;
    u->tiles = 0;
    u->alone = geometry_alone(g, sequence);
    u->reports = false;
    u->scaling = scaling_of(g, &keys);
    u->shared = 0;
    const bool dense = u->k.stride == g->qk.bytes && u->v.stride == g->v.bytes;
    u->reading = u->list               ? READING_BARE
                 : g->streams && dense ? READING_STREAM
                 : g->near             ? READING_BARE
                 : g->apart            ? READING_APART
                                       : READING_ABREAST;
    if (problem->options & ATTN_OPTION_SOFTCAP)
        u->cap = softcap_natural(problem);
    u->q = (float *)(scratch + g->scratch[SCRATCH_Q]);
    u->p = (float *)(scratch + g->scratch[SCRATCH_P]);
    u->k_copy = scratch + g->scratch[SCRATCH_K];
    u->v_copy = scratch + g->scratch[SCRATCH_V];
    u->a = (uint16_t *)(scratch + g->scratch[SCRATCH_A]);
    u->tile = (struct tile *)(scratch + g->scratch[SCRATCH_TILES]);
    u->view = (struct view *)(scratch + g->scratch[SCRATCH_VIEWS]);
    u->bits = (uint64_t *)(scratch + g->scratch[SCRATCH_BITS]);
    u->terms = (float *)(scratch + g->scratch[SCRATCH_TERMS]);
    u->listed = (struct listed_rows *)(scratch + g->scratch[SCRATCH_ROWS]);
    u->in_place = false;
}

/* Address of the unit's row r in Q, O or LSE. */
static void *unit_row(const struct unit *u, const struct attn_tensor *t, int r)
{
    return group_row(&u->block, t, (size_t)r);
}

/* The same in a bias or mask, which are never packed. */
static void *unit_row_of_mask(const struct unit *u, const struct attn_tensor *t, int r)
{
    return attn_row(t, u->block.b, group_head(&u->block, (size_t)r),
                    group_query(&u->block, (size_t)r));
}

/* Magnitudes of scales, by their bits. */
struct magnitudes {
    uint32_t from, end;
};
static const struct magnitudes of_infinity = {0x7f800000, 0x7f800001},
                               of_large_numbers = {0x71800000, 0x7f800000}; /* from 2^100 on */

/* (Vectorised if the stride is a constant.) */
VF_INLINE bool any_between(const float *x, ptrdiff_t stride, ptrdiff_t n, struct magnitudes m)
{
    uint32_t any = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        any |= (attn_float_bits(x[i * stride]) & 0x7fffffff) - m.from < m.end - m.from;
    return any;
}

/* Whether a scale of keys [lo, hi) has such a magnitude. */
static bool unit_scales(const struct unit *u, const struct attn_tensor *t, ptrdiff_t lo,
                        ptrdiff_t hi, struct magnitudes m)
{
    if (lo >= hi)
        return false;
    const size_t first = u->block.sequence.kv_first + (size_t)lo;
    const float *x = attn_row_f32(t, u->block.b, u->block.g, first);
    const ptrdiff_t stride = t->stride[2], n = stride ? hi - lo : 1;
    return stride == 1 ? any_between(x, 1, n, m) : any_between(x, stride, n, m);
}

/* Whether a scale of keys [lo, hi), or of the entries of a list, may be infinite. */
static bool unit_infinite(const struct unit *u, ptrdiff_t lo, ptrdiff_t hi)
{
    return u->scaling.keys && (u->list || unit_scales(u, &u->t->k_scale, lo, hi, of_infinity));
}

/* Whether a scale of values of keys [lo, hi), or of those that the entries of a list name, is so large that its
 * product with a weight, below 2^8, and VALUES_UNIT, at most 2^16, may not be finite. */
static bool unit_overflows(const struct unit *u, ptrdiff_t lo, ptrdiff_t hi)
{
    const struct attn_tensor *t = &u->t->v_scale;
    if (!u->list)
        return unit_scales(u, t, lo, hi, of_large_numbers);
    bool any = false;
    for (ptrdiff_t j = lo; j < hi; j++)
        any |= u->list[j] >= 0 && unit_scales(u, t, u->list[j], u->list[j] + 1, of_large_numbers);
    return any;
}

/* What scales of values are multiplied by when weights take them. */
static float values_unit(const struct unit *u)
{
    return VALUES_UNIT(u->block.problem) * u->lower;
}

/* Sets the keys of [first, last) that each of the unit's rows sees, of a list all that it sees; returns those
 * that any row sees by position, of a list all. */
static struct attn_range unit_look(struct unit *u, ptrdiff_t first, ptrdiff_t last)
{
    const unsigned mask = u->block.problem->mask;
    const struct attn_tree tree = attn_tree(u->block.problem, u->t, &u->block.sequence, u->block.b);
    struct attn_range any = {last, first};
    u->whole = (struct attn_range){first, last};
    for (int r = 0; r < u->rows; r++) {
        const struct attn_range all = group_visible(&u->block, (size_t)r);
        const ptrdiff_t lo = all.lo > first || u->list ? all.lo : first;
        const ptrdiff_t hi = all.hi < last || u->list ? all.hi : last;
        u->view[r] = (struct view){
            .seen = {lo, hi}, .tree = tree, .query = (ptrdiff_t)group_query(&u->block, (size_t)r)};
        if (mask & ATTN_MASK_BOOL)
            u->view[r].mask = unit_row_of_mask(u, &u->t->mask, r);
        if (mask & ATTN_MASK_BIAS)
            u->view[r].bias = unit_row_of_mask(u, &u->t->bias, r);
        u->whole.lo = lo > u->whole.lo ? lo : u->whole.lo;
        u->whole.hi = hi < u->whole.hi ? hi : u->whole.hi;
        if (lo < hi) {
            any.lo = lo < any.lo ? lo : any.lo;
            any.hi = hi > any.hi ? hi : any.hi;
        }
    }
    if (tree.parents && tree.first < u->whole.hi) /* rows see different drafts */
        u->whole.hi = tree.first;
    const struct attn_range keys = u->list ? (struct attn_range){first, last} : any;
    u->infinite = unit_infinite(u, keys.lo, keys.hi);
    u->lower = 1;
    return keys;
}

#if MATRIX_UNIT || BYTE_PAIRS
/* Parts of the queries (bytes_as_bf16.h). */
static int parts_of_queries(const struct unit *u)
{
    return u->scaling.channels ? Q_PARTS : 1;
}
#endif

/* ---- tiles ---------------------------------------------------------------------------------- */

/* Sets the positions of the tile's rows, for ALiBi. */
static void place_rows(const struct unit *u, struct tile *t, int row)
{
    const struct attn_sequence *s = &u->block.sequence;
    const float *slopes = u->t->slopes.data;
    for (int lane = 0; lane < VF_LANES; lane++) {
        const size_t r = (size_t)row + (size_t)(lane % t->rows);
        const ptrdiff_t at = attn_position(u->block.problem, (ptrdiff_t)group_query(&u->block, r),
                                           (ptrdiff_t)s->q_len, (ptrdiff_t)s->kv_len);
        t->slope[lane] = slopes[group_head(&u->block, r)];
        t->at[lane] = at - lane / t->rows;
    }
}

/* Whether O of all rows is finite, as far as it is written. */
static bool results_are_finite(const struct unit *u)
{
    vf most = {0};
    for (int r = 0; r < u->rows; r++)
        for (ptrdiff_t x = 0; x < u->tile[0].o_floats; x += VF_LANES)
            most += vf_load(u->tile[0].o + r * u->tile[0].o_floats + x) * 0.0f; /* 0, or NaN */
    return !vi_any((vi)(most != most));
}
