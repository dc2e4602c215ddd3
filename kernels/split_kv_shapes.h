/*
 * split_kv_shapes.h: the arithmetic of split_kv.c, one function for each form and height of a tile.
 */
#ifndef ATTN_SPLIT_KV_SHAPES_H
#define ATTN_SPLIT_KV_SHAPES_H

#include "split_kv_eight.h"
#include "split_kv_pairs.h"

/* Scores of GROUP_KEYS keys from k on, lane key * r + row. */
VF_INLINE void shape_dots(const enum form form, const int r, vf *s, const float *q, struct rows k,
                          const struct axis *axis, struct cursor *next)
{
#if VF_LANES == 2 * EIGHT
    if (r == EIGHT) {
        eight_dots(form, s, q, k, axis, next);
        return;
    }
#endif
    dots(form, r, s, q, k, axis, next);
}

/* Steps [x, x + c) of O of r rows += P V over keys [from, to). */
VF_INLINE void shape_steps(const enum form form, const int r, const int c, int tail, ptrdiff_t x,
                           float *o, ptrdiff_t o_stride, const float *p, ptrdiff_t p_stride,
                           struct rows v, int from, int to, struct cursor *cursor)
{
    o += x * FORM_VECTORS(form) * VF_LANES;
    v.data += x * VF_BYTES;
#ifdef __AVX512BF16__
    if (FORM_PAIRS(form)) {
        accumulate_pairs(r, c, tail, o, o_stride, p, p_stride, v, from, to, cursor);
        return;
    }
#endif
    v.data += from * v.stride;
    accumulate(form, r, c, tail, o, o_stride, p + from * p_stride, p_stride, v, to - from, cursor);
}

/* O of the first r rows of t += P V over keys [from, to) of a block whose values are v. */
VF_INLINE void shape_values(const enum form form, const int r, const struct tile *t, int row,
                            int from, int to, struct rows v, const struct axis *axis,
                            struct cursor *next)
{
    struct cursor cursor = *next; /* in registers */
    float *o = t->o + row * t->o_floats;
    const float *p = t->p + row;
    const int w = FORM_VECTORS(form);
    const int accumulators = VF_LANES == 16 && r > 1 ? 16 : 8;
    const int c = r * w < accumulators ? accumulators / (r * w) : 1;
    ptrdiff_t x = 0;
#pragma GCC unroll 1
    for (; x + c <= axis->full; x += c)
        shape_steps(form, r, c, 0, x, o, t->o_floats, p, t->rows, v, from, to, &cursor);
#pragma GCC unroll 1
    for (; x < axis->steps; x++)
        shape_steps(form, r, 1, x < axis->full ? 0 : axis->tail, x, o, t->o_floats, p, t->rows, v,
                    from, to, &cursor);
    *next = cursor;
}

#define SHAPE(form, r)                                                                           \
    static __attribute__((noinline)) void dots_##form##_##r(                                     \
        vf *s, const float *q, struct rows k, const struct axis *axis, struct cursor *next)      \
    {                                                                                            \
        shape_dots(form, r, s, q, k, axis, next);                                                \
    }                                                                                            \
    static __attribute__((noinline)) void values_##form##_##r(                                   \
        const struct tile *t, int row, int from, int to, struct rows v, const struct axis *axis, \
        struct cursor *next)                                                                     \
    {                                                                                            \
        shape_values(form, r, t, row, from, to, v, axis, next);                                  \
    }
#define SHAPES(form) SHAPE(form, 1) SHAPE(form, 2) SHAPE(form, 4)
#if VF_LANES == 2 * EIGHT
#define SHAPES_EIGHT(form) SHAPES(form) SHAPE(form, 8)
#else
#define SHAPES_EIGHT(form) SHAPES(form)
#endif
SHAPES_EIGHT(FORM_F32)
SHAPES_EIGHT(FORM_BF16)
SHAPES(FORM_F16)
#undef SHAPE

struct shape {
    void (*dots)(vf *s, const float *q, struct rows k, const struct axis *axis,
                 struct cursor *next);
    /* O of rows [row, row + height of the shape) of t. */
    void (*values)(const struct tile *t, int row, int from, int to, struct rows v,
                   const struct axis *axis, struct cursor *next);
};

static const struct shape *shape_of(enum form form, int rows)
{
#define SHAPE(form, r) [r] = {dots_##form##_##r, values_##form##_##r},
    static const struct shape shapes[][TILE_ROWS + 1] = {[FORM_F32] = {SHAPES_EIGHT(FORM_F32)},
                                                         [FORM_BF16] = {SHAPES_EIGHT(FORM_BF16)},
                                                         [FORM_F16] = {SHAPES(FORM_F16)}};
#undef SHAPE
#undef SHAPES
#undef SHAPES_EIGHT
    return &shapes[form][rows];
}

#endif
