/*
 * nibble_groups.h: part of kernel split_kv: scales and zero points of a block's rows of 4 bits.
 */
#pragma once

#include "geometry_memory.h"
#include "unit.h"

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
        .two_key_groups = MOST_KEY_GROUPS > 1 && is_k && !zeros && !u->list && n >= 2 * GROUP_KEYS,
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

/* The axis of V of a block's rows [j, j + n); with 4 bits it is in `own`. */
VF_INLINE const struct axis *axis_of_values(const struct unit *u, ptrdiff_t j, ptrdiff_t n,
                                            struct axis *own)
{
    const struct axis *axis = &u->g->v;
    return u->g->format == FORMAT_I4 ? axis_of_nibbles(u, &u->v, axis, j, n, own) : axis;
}
