/*
 * work_seen.h: part of work.c: pairs and keys of a sequence that masks, biases, trees and lists leave.
 */
#pragma once

#include <math.h>
#include <string.h>

#include "work_positions.h"

#define BLOCK 4096 /* keys looked at together */

/* What the query heads of one KV head see of a sequence, or of all of them. */
struct seen {
    double pairs;      /* of all its query heads */
    double keys;       /* that at least one of them sees */
    double heads;      /* KV heads with such keys */
    double most;       /* keys of the one of them that has the most */
    double most_pairs; /* likewise */
};

/* Bytes shown[0, n) become 0 where a bias of -inf hides the key. */
static void hide_by_bias(uint8_t *shown, const void *bias, enum attn_dtype dtype, size_t n)
{
    const float *singles = bias;
    const double *doubles = bias;
    const uint16_t *halves = bias;
    const uint16_t minus_infinity = dtype == ATTN_BF16 ? 0xff80 : 0xfc00;
    if (dtype == ATTN_F32)
        for (size_t j = 0; j < n; j++)
            shown[j] &= singles[j] != -INFINITY;
    else if (dtype == ATTN_F64)
        for (size_t j = 0; j < n; j++)
            shown[j] &= doubles[j] != -INFINITY;
    else
        for (size_t j = 0; j < n; j++)
            shown[j] &= halves[j] != minus_infinity;
}

/* Bytes shown[0, n) of keys from `lo` on become 0 where a list does not name the key. */
static void hide_by_list(uint8_t *shown, const int32_t *list, size_t count, size_t lo, size_t n)
{
    uint8_t listed[BLOCK] = {0};
    for (size_t entry = 0; entry < count; entry++)
        if (list[entry] >= (ptrdiff_t)lo && list[entry] < (ptrdiff_t)(lo + n))
            listed[(size_t)list[entry] - lo] = 1;
    for (size_t j = 0; j < n; j++)
        shown[j] &= listed[j];
}

/* Keys [lo, hi) that list, mask, bias and tree show to a row; any[0, hi - lo) learns which. */
static size_t count_row(const struct attn_problem *p, const struct attn_tensors *t,
                        const struct attn_sequence *s, size_t b, size_t h, size_t i, size_t lo,
                        size_t hi, uint8_t *any)
{
    const size_t n = hi - lo;
    uint8_t shown[BLOCK];
    size_t count = 0;
    memset(shown, 1, n);
    if (p->mask & ATTN_MASK_BOOL) {
        const uint8_t *mask = (const uint8_t *)attn_row(&t->mask, b, h, i) + lo;
        for (size_t j = 0; j < n; j++)
            shown[j] &= mask[j];
    }
    if (p->mask & ATTN_MASK_BIAS)
        hide_by_bias(
            shown, (const char *)attn_row(&t->bias, b, h, i) + lo * attn_dtype_size(t->bias.dtype),
            t->bias.dtype, n);
    if (p->mask & ATTN_MASK_TREE) {
        const struct attn_tree tree = attn_tree(p, t, s, b);
        attn_tree_hide(&tree, (ptrdiff_t)i, (ptrdiff_t)lo, (ptrdiff_t)n, shown);
    }
    if (p->options & ATTN_OPTION_INDEX)
        hide_by_list(shown, attn_list(p, t, b, attn_kv_head(p, h), i), p->index_count, lo, n);
    for (size_t j = 0; j < n; j++) {
        any[j] |= shown[j];
        count += shown[j];
    }
    return count;
}

/* Whether all sequences have the same parents. */
static bool shared_tree(const struct attn_problem *p, const struct attn_tensors *t)
{
    return t->parents.stride[0] == 0 && !(p->options & ATTN_OPTION_PACKED);
}

/* Whether mask and bias are the same for all query heads of a KV head. */
static bool shared_in_group(const struct attn_problem *p, const struct attn_tensors *t)
{
    return !(p->mask & ATTN_MASK_BOOL && t->mask.stride[1]) &&
           !(p->mask & ATTN_MASK_BIAS && t->bias.stride[1]);
}

/* Whether mask, bias, tree and lists are the same wherever dimension `dim` leads, 0 or 1. */
static bool shared(const struct attn_problem *p, const struct attn_tensors *t, int dim)
{
    return !(p->mask & ATTN_MASK_TREE && dim == 0 && !shared_tree(p, t)) &&
           !(p->options & ATTN_OPTION_INDEX &&
             (t->indices.stride[dim] || (dim == 0 && p->options & ATTN_OPTION_PACKED))) &&
           !(p->mask & ATTN_MASK_BOOL && t->mask.stride[dim]) &&
           !(p->mask & ATTN_MASK_BIAS && t->bias.stride[dim]);
}

/* Counts what KV head g sees of keys [from, from + BLOCK). */
static struct seen count_block(const struct attn_problem *p, const struct attn_tensors *t, size_t b,
                               size_t g, const struct attn_sequence *s, size_t from)
{
    const size_t group = p->q_heads / p->kv_heads;
    const bool alike = shared_in_group(p, t);
    const size_t to = s->kv_len - from < BLOCK ? s->kv_len : from + BLOCK;
    uint8_t any[BLOCK] = {0};
    struct seen seen = {0};
    for (size_t h = g * group; h < g * group + (alike ? 1 : group); h++)
        for (size_t i = 0; i < s->q_len; i++) {
            const struct attn_range r =
                attn_visible_in(p, (ptrdiff_t)i, (ptrdiff_t)s->q_len, (ptrdiff_t)s->kv_len);
            const size_t lo = (size_t)r.lo > from ? (size_t)r.lo : from;
            const size_t hi = (size_t)r.hi < to ? (size_t)r.hi : to;
            if (lo < hi)
                seen.pairs += (double)count_row(p, t, s, b, h, i, lo, hi, any + (lo - from));
        }
    seen.pairs *= alike ? (double)group : 1;
    for (size_t j = from; j < to; j++)
        seen.keys += any[j - from];
    return seen;
}

/* Pairs of a head that positional masks and a tree leave in a sequence; keys_left() holds for a tree too, as
 * each draft sees its own key. */
static double pairs_placed(const struct attn_problem *p, const struct attn_tensors *t, size_t b,
                           const struct attn_sequence *s)
{
    const struct attn_tree tree = attn_tree(p, t, s, b);
    double pairs = 0;
    if (!tree.parents)
        return pairs_left(p, s->q_len, s->kv_len);
    for (size_t i = 0; i < s->q_len; i++) {
        pairs += tree.first > 0 ? (double)tree.first : 0;
        for (ptrdiff_t draft = (ptrdiff_t)i; draft >= 0; draft = tree.parents[draft])
            pairs += draft + tree.first >= 0;
    }
    return pairs;
}

static struct seen count_head(const struct attn_problem *p, const struct attn_tensors *t, size_t b,
                              size_t g, const struct attn_sequence *s)
{
    const double group = (double)(p->q_heads / p->kv_heads);
    struct seen sum = {0};
    if (!(p->mask & (ATTN_MASK_BOOL | ATTN_MASK_BIAS)) && !(p->options & ATTN_OPTION_INDEX))
        return (struct seen){.pairs = group * pairs_placed(p, t, b, s),
                             .keys = keys_left(p, s->q_len, s->kv_len)};
    for (size_t from = 0; from < s->kv_len; from += BLOCK) {
        const struct seen block = count_block(p, t, b, g, s, from);
        sum.pairs += block.pairs;
        sum.keys += block.keys;
    }
    return sum;
}
