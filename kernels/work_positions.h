/*
 * work_positions.h: part of work.c: pairs and keys that masks by position leave.
 */
#pragma once

#include "attention.h"

/* Masks that leave a query no key behind its own. */
#define CAUSAL (ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT | ATTN_MASK_TREE)

/* Sum of the integers below x, each clamped to [0, limit]. */
static double ramp(double x, double limit)
{
    if (x <= 0)
        return 0;
    return x <= limit ? x * (x - 1) / 2 : limit * (limit - 1) / 2 + limit * (x - limit);
}

/*
 * (query, key) pairs of a head that positional masks leave.  Both ends of attn_visible_in() rise by
 * one key a query and are clamped to [0, kv_len], the upper one never below the lower: the pairs are
 * the difference of two sums, whatever the lengths.
 */
static double pairs_left(const struct attn_problem *p, size_t q_len, size_t kv_len)
{
    const bool window = p->options & ATTN_OPTION_WINDOW;
    const bool causal = p->mask & CAUSAL;
    const double n = (double)q_len, limit = (double)kv_len;
    const double first = p->mask & ATTN_MASK_CAUSAL_TOP_LEFT ? 0 : limit - n;
    double pairs = n * limit;
    if (causal || (window && p->window_right >= 0)) {
        const double hi = first + 1 + (causal ? 0 : (double)p->window_right);
        pairs = ramp(hi + n, limit) - ramp(hi, limit);
    }
    if (window && p->window_left >= 0) {
        const double lo = first - (double)p->window_left;
        pairs -= ramp(lo + n, limit) - ramp(lo, limit);
    }
    return pairs;
}

/* Keys that at least one query sees by positional masks: from the first key of the first query that
 * sees any to the last key of the last one; lo = hi where none. */
static struct attn_range keys_seen(const struct attn_problem *p, size_t q_len, size_t kv_len)
{
    const ptrdiff_t n = (ptrdiff_t)q_len, keys = (ptrdiff_t)kv_len;
    const ptrdiff_t first = p->mask & ATTN_MASK_CAUSAL_TOP_LEFT ? 0 : keys - n;
    const bool window = p->options & ATTN_OPTION_WINDOW;
    ptrdiff_t from = 0, to = n - 1;
    if (p->mask & CAUSAL)
        from = -first;
    else if (window && p->window_right >= 0)
        from = -first - p->window_right;
    if (window && p->window_left >= 0 && keys - 1 - first + p->window_left < to)
        to = keys - 1 - first + p->window_left;
    from = from > 0 ? from : 0;
    if (from > to)
        return (struct attn_range){0, 0};
    return (struct attn_range){attn_visible_in(p, from, n, keys).lo,
                               attn_visible_in(p, to, n, keys).hi};
}

static double keys_left(const struct attn_problem *p, size_t q_len, size_t kv_len)
{
    const struct attn_range seen = keys_seen(p, q_len, kv_len);
    return (double)(seen.hi - seen.lo);
}
