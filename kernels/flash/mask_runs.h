/*
 * mask_runs.h: part of kernel flash: which keys of a block a tile's queries see by a boolean mask, by a
 * bias that is -inf, by a tree of drafts and by a list.
 *
 * Each is looked at once per tile and block and gives runs of keys: keys that no query sees are not computed,
 * and a run that all queries see needs no mask.  Entries of a list lie in no order, so that positional masks
 * are looked at entry by entry, too.
 */
#pragma once

#include "tile_block.h"

/* By row of a block. */
struct visible {
    /* 0 or 1: mask, bias, tree and list leave the key to some query; to all. */
    uint8_t some[FLASH_KEYS], all[FLASH_KEYS];
    /* With drafts in the block, or a list: a bit for each lane to which these leave the key. */
    uint64_t seen_by[FLASH_KEYS];
};

/* The first n bytes of a row of a mask, VF_BYTES at most, zero behind. */
VF_INLINE vi mask_bytes(const char *row, ptrdiff_t n)
{
    vi x = {0};
    if (n >= VF_BYTES)
        memcpy(&x, row, sizeof x);
    else
        memcpy(&x, row, (size_t)n);
    return x;
}

/* Keys [first, first + n) as some query sees them and as all do.  n is a constant where it is VF_BYTES:
 * then nothing is called, and both stay in registers. */
VF_INLINE void look_at_keys(const struct tile *t, ptrdiff_t first, int n, uint8_t *some,
                            uint8_t *all)
{
    vi any = {0}, every = ~any;
    const char *last = NULL;
    for (int i = 0; i < t->rows; i++) {
        const char *row = t->terms.mask[i];
        if (row == last) /* another head of the query, with the same mask */
            continue;
        last = row;
        const vi x = mask_bytes(row + first, n);
        any |= x;
        every &= x;
    }
    memcpy(some, &any, (size_t)n);
    memcpy(all, &every, (size_t)n);
}

static void look_at_mask(const struct block *block, const struct tile *t, struct visible *visible)
{
    const int n = block->keys;
    if (n < VF_BYTES)
        look_at_keys(t, block->first, n, visible->some, visible->all);
    for (int j = 0; n >= VF_BYTES && j < n; j += VF_BYTES) {
        const int at = j + VF_BYTES <= n ? j : n - VF_BYTES;
        look_at_keys(t, block->first + at, VF_BYTES, visible->some + at, visible->all + at);
    }
}

/* Whether the bias is -inf for all queries and n <= VF_LANES keys: nearly always one of four corners is not. */
static bool bias_hides(const struct job *job, const struct tile *t, ptrdiff_t j, int n)
{
    const enum attn_dtype dtype = job->tensors->bias.dtype;
    const size_t bytes = attn_dtype_size(dtype);
    const char *first = t->terms.bias[0], *last = t->terms.bias[t->rows - 1];
    if (bias_at(dtype, first, j) != -INFINITY || bias_at(dtype, first, j + n - 1) != -INFINITY ||
        bias_at(dtype, last, j) != -INFINITY || bias_at(dtype, last, j + n - 1) != -INFINITY)
        return false;
    vi shown = {0};
    for (int i = 0; i < t->rows; i++) {
        const vf x = vf_load_elements(dtype, t->terms.bias[i] + (size_t)j * bytes, (size_t)n);
        shown |= (vi)(x != vf_set1(-INFINITY));
    }
    return !vi_any(shown & vi_first(n));
}

static void look_at_bias(const struct block *block, const struct tile *t, struct visible *visible)
{
    for (int j = 0; j < block->keys; j += VF_LANES) {
        const int n = block->keys - j < VF_LANES ? block->keys - j : VF_LANES;
        if (bias_hides(block->job, t, block->first + j, n))
            memset(visible->some + j, 0, (size_t)n);
    }
}

/* Rows of the block before its first draft; all of them where a list names the keys. */
static int cached_keys(const struct block *block, const struct tile *t)
{
    const bool drafts = t->tree.parents && !block->source.list;
    const ptrdiff_t cached = drafts ? t->tree.first - block->first : block->keys;
    return cached < 0 ? 0 : cached < block->keys ? (int)cached : block->keys;
}

/* Sets block->seen_by; lanes without a query see all. */
static void look_at_tree(struct block *block, const struct tile *t, struct visible *visible)
{
    const int from = cached_keys(block, t);
    const ptrdiff_t first = block->first - t->tree.first; /* draft of the block's first row */
    const uint64_t queries = ~UINT64_C(0) >> (64 - t->rows);
    block->seen_by = from < block->keys ? visible->seen_by : NULL;
    for (int j = 0; block->seen_by && j < block->keys; j++)
        visible->seen_by[j] = j < from ? ~UINT64_C(0) : ~queries;
    for (int lane = 0; block->seen_by && lane < t->rows; lane++) {
        const size_t query = group_query(&t->column[lane / VF_LANES], (size_t)lane % VF_LANES);
        ptrdiff_t draft = attn_tree_up(&t->tree, (ptrdiff_t)query, first + block->keys - 1);
        for (; draft >= 0 && draft >= first; draft = t->tree.parents[draft])
            visible->seen_by[draft - first] |= UINT64_C(1) << lane;
    }
    for (int j = from; j < block->keys; j++) {
        visible->some[j] &= (visible->seen_by[j] & queries) != 0;
        visible->all[j] &= visible->seen_by[j] == ~UINT64_C(0);
    }
}

/* Whether two lanes see the same keys of any list. */
static bool lanes_alike(const struct job *job, const struct tile *t, int a, int b)
{
    const unsigned masks = job->problem->mask;
    if (t->lo[a] != t->lo[b] || t->hi[a] != t->hi[b] || masks & ATTN_MASK_TREE)
        return false;
    if (masks & ATTN_MASK_BOOL && t->terms.mask[a] != t->terms.mask[b])
        return false;
    return !(masks & ATTN_MASK_BIAS) || t->terms.bias[a] == t->terms.bias[b];
}

/* Sets bits of the block's entries that a lane sees. */
static void look_at_entries(const struct block *block, const struct tile *t, int lane,
                            uint64_t bits, uint64_t *seen_by)
{
    const int32_t *list = block->source.list + block->first;
    const ptrdiff_t lo = t->lo[lane], hi = t->hi[lane];
    const bool masks = block->job->problem->mask & ~(unsigned)ATTN_MASKS_POSITIONAL;
    for (int j = 0; !masks && j < block->keys; j++)
        seen_by[j] |= list[j] >= lo && list[j] < hi ? bits : 0;
    for (int j = 0; masks && j < block->keys; j++)
        if (list[j] >= lo && list[j] < hi &&
            lane_sees(block->job, t, lane / VF_LANES, (size_t)lane % VF_LANES, list[j]))
            seen_by[j] |= bits;
}

/* Sets block->seen_by; lanes without a query see all. */
static void look_at_list(struct block *block, const struct tile *t, struct visible *visible)
{
    const uint64_t queries = ~UINT64_C(0) >> (64 - t->rows);
    block->seen_by = visible->seen_by;
    for (int j = 0; j < block->keys; j++)
        visible->seen_by[j] = ~queries;
    for (int lane = 0, end; lane < t->rows; lane = end) {
        for (end = lane + 1; end < t->rows && lanes_alike(block->job, t, lane, end);)
            end++;
        look_at_entries(block, t, lane, ~UINT64_C(0) >> (64 - end + lane) << lane,
                        visible->seen_by);
    }
    for (int j = 0; j < block->keys; j++) {
        visible->some[j] = (visible->seen_by[j] & queries) != 0;
        visible->all[j] = visible->seen_by[j] == ~UINT64_C(0);
    }
}

static void look(struct block *block, const struct tile *t, struct visible *visible)
{
    const unsigned masks = block->job->problem->mask;
    if (block->source.list) {
        look_at_list(block, t, visible);
        return;
    }
    if (masks & ATTN_MASK_BOOL) {
        look_at_mask(block, t, visible);
    } else {
        memset(visible->some, 1, sizeof visible->some);
        memset(visible->all, 1, sizeof visible->all);
    }
    if (masks & ATTN_MASK_BIAS)
        look_at_bias(block, t, visible);
    if (masks & ATTN_MASK_TREE)
        look_at_tree(block, t, visible);
}

/* The first byte from `from` on that is not 0 or 1, as `bit` says; n where there is none. */
static int skip(const uint8_t *bytes, int from, int n, bool bit)
{
    const uint64_t same = bit ? 0x0101010101010101 : 0;
    uint64_t eight;
    for (; from + 8 <= n; from += 8) {
        memcpy(&eight, bytes + from, sizeof eight);
        if (eight != same)
            break;
    }
    while (from < n && bytes[from] == bit)
        from++;
    return from;
}

/* Rows of a block that are computed together. */
struct run {
    int from, to;
    bool full; /* no boolean mask or tree hides any of it, and a list has it */
};

/* The next run of rows that some query sees; false if there is none.  Gaps shorter than a register tile are
 * computed, too. */
static bool next_run(const struct visible *visible, int keys, struct run *run)
{
    const int from = skip(visible->some, run->to, keys, false);
    int to = from, next = from;
    while (next < keys && next - to < FLASH_ROWS) {
        to = skip(visible->some, next, keys, true);
        next = skip(visible->some, to, keys, false);
    }
    run->from = from - from % PAIR;
    run->to = to + (-to & (PAIR - 1));
    run->to = run->to < keys ? run->to : keys;
    run->full = skip(visible->all, run->from, run->to, true) == run->to;
    return from < keys;
}
