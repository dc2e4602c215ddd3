/*
 * unit_blocks.h: part of kernel split_kv: a unit's query rows against blocks of keys.
 *
 * Every row of a unit uses a block while it is in L1.  While K of a block is multiplied, its V is fetched,
 * and while V is, the next block's K; the pages of both are touched some blocks ahead, many together
 * (pages.h).  Keys of a block are contiguous in memory, in whole groups; the few that are not, at the end of
 * a sequence or of a page within a group, are copied.  Those that a list names are read in place or copied
 * (listed.h).
 *
 * A key that is hidden from a row must not affect it.  Its score is replaced; but a weight of 0 times NaN is
 * NaN, so that values that some row does not see are tested before they are multiplied.
 */
#pragma once

#include "shared/simd_reduce.h"
#include "copied_rows.h"
#include "load_q.h"
#include "weights.h"

/* ---- weights -------------------------------------------------------------------------------- */

/* Converts P to the layout that tile_values() needs. */
VF_INLINE void ready_weights(const struct unit *u, struct tile *t, const struct block *b)
{
#if BF16_PAIRS
    if (FORMAT_PAIRS(u->g->format))
        pair_weights(t, (int)(b->end - b->j + GROUP_KEYS - 1) / GROUP_KEYS * GROUP_KEYS);
#else
    (void)u, (void)t, (void)b;
#endif
}

/* ---- values --------------------------------------------------------------------------------- */

/* Keys among the first n of v whose values are not all finite. */
static uint64_t not_finite(enum format format, enum attn_dtype dtype, const struct axis *axis,
                           struct rows v, int n)
{
    uint64_t bits = 0;
    if (format == FORMAT_I4) {
        const struct groups *g = &axis->groups;
        const ptrdiff_t count = (axis->steps - 1) / g->steps + 1;
        for (ptrdiff_t i = 0; i < n * count; i++) {
            const ptrdiff_t key = i / count, group = i % count;
            const float scale = g->scale[key * g->scale_row + group * g->scale_each];
            const float zero = g->zero[key * g->zero_row + group * g->zero_each];
            bits |= (uint64_t)!isfinite(scale * (16 + fabsf(zero))) << key; /* conservative */
        }
        return bits;
    }
    for (int key = 0; key < n; key++) {
        const char *row = v.data + key * v.stride;
        if (FORMAT_SCALED(format)) {
            bits |= (uint64_t)!bytes_are_finite(dtype, (const uint8_t *)row, axis->bytes) << key;
            continue;
        }
        vf zero = {0};
        for (ptrdiff_t x = 0; x < axis->steps; x++) {
            vf step[2] = {{0}};
            widen_step(format, x < axis->full ? 0 : axis->tail, row + x * FORMAT_STEP(format),
                       step);
            zero += step[0] * vf_set1(0) + step[1] * vf_set1(0);
        }
        bits |= (uint64_t) !(vf_hsum(zero) == 0) << key;
    }
    return bits;
}

/* O += P V of a tile's row over the keys in `bits`, run by run. */
static void row_values(const struct unit *u, const struct tile *t, int row, uint64_t bits,
                       struct rows v, const struct axis *axis)
{
    struct cursor none = {0};
    while (bits) {
        const struct attn_range run = bits_run(bits);
        arithmetic_of(u->g->format, 1)
            ->values[u->reading](t, row, (int)run.lo, (int)run.hi, v, axis, &none);
        bits &= ~bits_first(run.hi);
    }
}

/* O += P V of a tile whose rows see the keys in `bits`.  Weights of hidden keys are 0, which is safe with
 * finite values; `unsafe` marks keys whose values are not finite. */
static void tile_values(const struct unit *u, const struct tile *t, const uint64_t *bits,
                        uint64_t unsafe, struct rows v, const struct axis *axis,
                        struct cursor *next)
{
    const struct mask_bits s = bits_of_rows(bits, t->rows);
    if (!s.any)
        return;
    if (!(unsafe & bits_span(s.any) & ~s.all)) {
        const int from = __builtin_ctzll(s.any), to = 64 - __builtin_clzll(s.any);
        arithmetic_of(u->g->format, t->rows)->values[u->reading](t, 0, from, to, v, axis, next);
        return;
    }
    for (int h = 0; h < t->rows; h++)
        row_values(u, t, h, bits[h], v, axis);
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* A block that every row sees entirely.  (Inlined, which GCC 12 no longer does by itself where a variant is
 * large: 0.93 to 1.00 of the time of 1024 keys in bf16, four comparisons on Zen 4, 2026-11-30.) */
VF_INLINE void block_whole(const struct unit *u, const struct block *b, struct rows k,
                           struct rows v, struct cursor *next_v, struct cursor *next_k)
{
    const int keys = (int)(b->end - b->j);
    struct axis own;
    const struct axis *axis = axis_of_values(u, b->j, keys, &own);
    for (int i = 0, row = 0; i < u->tiles; row += u->tile[i++].rows) {
        tile_weights(u, &u->tile[i], row, b, k, NULL, next_v);
        ready_weights(u, &u->tile[i], b);
    }
    for (int i = 0; i < u->tiles; i++) {
        const struct tile *t = &u->tile[i];
        products_of(u, t->rows).values(t, 0, 0, keys, v, axis, next_k);
    }
}

/* A block that some row does not see entirely, or that has less than a group. */
VF_NOINLINE void block_cut(const struct unit *u, const struct block *b, struct rows k,
                           struct rows v, struct cursor *next_v, struct cursor *next_k)
{
    const int keys = (int)(b->end - b->j);
    struct axis own;
    const struct axis *axis = axis_of_values(u, b->j, keys, &own);
    uint64_t hidden = 0, every = bits_first(keys);
    for (int i = 0, row = 0; i < u->tiles; row += u->tile[i++].rows) {
        struct tile *t = &u->tile[i];
        const uint64_t *bits = u->bits + row;
        const struct mask_bits s = bits_of_rows(bits, t->rows);
        const bool all = s.all == every && keys % GROUP_KEYS == 0;
        if (s.any) {
            tile_weights(u, t, row, b, k, all ? NULL : bits, next_v);
            ready_weights(u, t, b);
        }
        hidden |= bits_span(s.any) & ~s.all;
    }
    const uint64_t unsafe =
        hidden ? not_finite(u->g->format, u->block.problem->kv_dtype, axis, v, keys) : 0;
    for (int i = 0, row = 0; i < u->tiles; row += u->tile[i++].rows)
        tile_values(u, &u->tile[i], u->bits + row, unsafe, v, axis, next_k);
}

/* A block of a list that all rows see entirely, read in place.  Its addresses are those of `turn`, the next
 * block's the others. */
static void block_in_place(struct unit *u, const struct block *b, int turn)
{
    const struct listed_rows *const rows = u->listed;
    const char *const k = (const char *)rows->k[turn], *const v = (const char *)rows->v[turn];
    const ptrdiff_t each = sizeof rows->k[0][0];
    struct cursor next_v = {.far = v - k};
    struct cursor next_k = {.far = (const char *)rows->k[!turn] - v};
    u->in_place = true;
    block_whole(u, b, (struct rows){k, each}, (struct rows){v, each}, &next_v, &next_k);
    u->in_place = false;
}

/* A block against all rows of the unit, all of which see the keys `all` by the operands; block `next` of unit
 * `after` follows. */
static void unit_block(const struct unit *u, const struct block *b, uint64_t all,
                       const struct unit *after, const struct block *next)
{
    const struct geometry *g = u->g;
    const ptrdiff_t n = b->end - b->j;
    struct rows k = cache_rows(&u->k, b->j), v = cache_rows(&u->v, b->j);
    struct cursor next_v = {0}, next_k = {0};
    if (u->reading == READING_ABREAST || u->reading == READING_APART) {
        const ptrdiff_t later = ALWAYS_FETCHES && g->far ? FETCH_FAR_BYTES : FETCH_BYTES;
        if (b->j >= u->shared)
            cache_fetch(&next_v, &u->v, &g->v, later, b->j, g->shared ? 0 : n);
        if (next->j >= after->shared)
            cache_fetch(&next_k, &after->k, &g->qk, later, next->j, next->end - next->j);
    }
    if (b->copied)
        copy_rows(u, b, &k, &v);
    const bool whole =
        g->looks ? all == bits_first(n) : b->j >= u->whole.lo && b->end <= u->whole.hi;
    if (whole && n % GROUP_KEYS == 0) {
        block_whole(u, b, k, v, &next_v, &next_k);
        return;
    }
    if (!g->looks)
        unit_bits(u, b->j, n, u->bits);
    block_cut(u, b, k, v, &next_v, &next_k);
}

/* A unit's progress through the keys of a split. */
struct walk {
    struct block next;
    ptrdiff_t hi;      /* end of the keys */
    ptrdiff_t touched; /* pages of keys before this one have been touched */
    uint64_t *bits[2]; /* of the current and the next block, in turn */
    struct mask_bits mask[2];
    int turn;
};

static void walk_start(const struct unit *u, struct walk *w, struct attn_range keys)
{
    w->hi = keys.hi;
    w->touched = keys.lo < keys.hi ? unit_first(u, keys) : keys.hi;
    w->bits[0] = u->bits;
    w->bits[1] = u->bits + u->rows;
    w->turn = 0;
    w->next = block_from(u, w->touched, keys.hi, w->bits[0], &w->mask[0]);
    if (u->g->in_place)
        listed_block(u, w->next.j, 0);
}

/* Whether pages are looked up before they are fetched from.  In f32 requests 64 KB ahead find them in time: without,
 * rows that follow each other take 0.89 to 1.00 of the time (Intel Xeon with AMX, 2026-12-01), in bf16 0.97 to 1.03, and
 * pages of the problem 1.04 to 1.3. */
static bool touches(const struct unit *u)
{
    const bool in_time = u->g->far && u->g->format == FORMAT_F32 && !u->k.scattered;
    return u->reading != READING_BARE && !in_time;
}

/* Processes the next block of a unit; unit `after`, whose progress is `next`, follows. */
static void walk_on(struct unit *u, struct walk *w, const struct unit *after,
                    const struct walk *next)
{
    const ptrdiff_t each = u->g->touch_keys;
    const struct block b = w->next;
    const uint64_t all = w->mask[w->turn].all;
    u->bits = w->bits[w->turn];
    w->turn ^= 1;
    w->next = block_from(u, b.end, w->hi, w->bits[w->turn], &w->mask[w->turn]);
    if (b.j >= w->touched && b.j >= u->shared && touches(u)) {
        cache_touch(&u->k, b.j + each, each);
        if (!u->g->shared)
            cache_touch(&u->v, b.j + each, each);
        w->touched = b.j + each;
    }
    if (u->g->in_place) {
        listed_block(u, w->next.j, w->turn);
        if (all == bits_first(b.end - b.j) && (b.end - b.j) % GROUP_KEYS == 0) {
            block_in_place(u, &b, !w->turn);
            return;
        }
    }
    const enum reading usual = u->reading;
    if (b.j < u->shared && next->next.j < after->shared) /* both are cached */
        u->reading = READING_BARE;
    unit_block(u, &b, all, after, &next->next);
    u->reading = usual;
}

/* Processes the keys of a split that each unit sees, n units in turn, block by block. */
static void unit_keys(struct unit *u, int n, const struct attn_range *keys)
{
    struct walk w[UNITS_ABREAST];
    for (int i = 0; i < n; i++)
        walk_start(&u[i], &w[i], keys[i]);
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < n; i++) {
            const int after = i + 1 < n ? i + 1 : 0;
            if (w[i].next.j >= w[i].hi)
                continue;
            walk_on(&u[i], &w[i], &u[after], &w[after]);
            more = true;
        }
    }
    for (int i = 0; i < n; i++)
        u[i].bits = w[i].bits[0];
}
