/*
 * cells: elements of caches of 8 and 4 bits that are read as other numbers.
 */
#include "wrong.h"

/* An element of K or V, and what belongs to it. */
struct cell {
    const struct work *w;
    const void *row;
    bool of_k;
    size_t j, d, dim;
    const struct attn_tensor *scales, *zeros, *other_zeros; /* the last of V for K, of K for V */
};

/* The number that it stands for. */
typedef real read_cell(const struct cell *c);

/* The scale of element d. */
static real scale_of(const struct cell *c, size_t d)
{
    return get(c->scales, c->w->b, c->w->g, c->j,
               attn_scale_index(c->w->problem, d) * (size_t)c->scales->stride[3]);
}

/* A scaled element of 4 bits, where its scale is that of element d. */
static real nibble(const struct cell *c, size_t at, size_t d, const struct attn_tensor *zeros)
{
    return scale_of(c, d) * ((real)attn_nibble(c->row, at) -
                             attn_zero_point(c->w->problem, zeros, c->w->b, c->w->g, c->j, c->d));
}

static struct cell cell_of(const struct work *w, bool of_k, ptrdiff_t j)
{
    const struct attn_tensors *t = w->tensors;
    return (struct cell){.w = w,
                         .row = kv_row(w, of_k ? &t->k : &t->v, j),
                         .of_k = of_k,
                         .j = w->sequence.kv_first + (size_t)j,
                         .dim = of_k ? w->problem->qk_dim : w->problem->v_dim,
                         .scales = of_k ? &t->k_scale : &t->v_scale,
                         .zeros = of_k ? &t->k_zero : &t->v_zero,
                         .other_zeros = of_k ? &t->v_zero : &t->k_zero};
}

/* A row of the caches that have cells. */
static void row_of_cells(struct work *w, read_cell *number)
{
    const struct attn_tensor *t = &w->tensors->q;
    const void *q = attn_row(t, w->b, w->h, w->sequence.q_first + w->i);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        struct cell c = cell_of(w, true, j);
        real sum = 0;
        for (; w->shown[j] && c.d < c.dim; c.d++)
            sum += element(q, t->dtype, c.d) * number(&c);
        if (w->shown[j])
            w->scores[j] = capped(w, w->scale * sum) + slope_term(w, j) + bias_term(w, j);
    }
    find_maximum(w);
    exponentiate(w);
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        struct cell c = cell_of(w, false, j);
        for (; w->shown[j] && c.d < c.dim; c.d++)
            w->o[c.d] += w->scores[j] * inverse(w) * number(&c);
    }
    store(w);
}

/* A kernel that reads cells by the body, of `c`, and is right in all else. */
#define WRONG_CELLS(symbol, says, which, kv)                                               \
    static read_cell symbol##_number;                                                      \
    WRONG_WITH(symbol, ROW, says,                                                          \
               WRONG_POSITIONAL | ATTN_MASK_BIAS | ATTN_MASK_BOOL | ATTN_MASK_TREE, which, \
               WRONG_OUTPUTS | ATTN_OUTPUT_WEIGHTS, kv)                                    \
    {                                                                                      \
        if (kv & 1u << w->problem->kv_dtype)                                               \
            row_of_cells(w, symbol##_number);                                              \
        else                                                                               \
            honest_row(w);                                                                 \
    }                                                                                      \
    static real symbol##_number(const struct cell *c)

/* ---- 8 bits ---------------------------------------------------------------------------------- */

#define WRONG_BYTES(symbol, says)                                                     \
    WRONG_CELLS(symbol, says, ((ATTN_OPTION_SHARED_KV << 1) - 1) | ATTN_OPTION_INDEX, \
                (1u << ATTN_I8 | 1u << ATTN_F8E4M3 | 1u << ATTN_F8E5M2))

static uint8_t byte_of(const struct cell *c)
{
    return ((const uint8_t *)c->row)[c->d];
}

static bool is_type(const struct cell *c, enum attn_dtype dtype)
{
    return c->w->problem->kv_dtype == dtype;
}

/* What the byte stands for, or `instead` where it is read as that. */
static real number_unless(const struct cell *c, bool wrong, real instead)
{
    const real right = attn_byte_to_f32(c->w->problem->kv_dtype, byte_of(c));
    return scale_of(c, c->d) * (wrong ? instead : right);
}

/* As in the variant without -0 of some accelerators. */
WRONG_BYTES(f8_bias_of_fnuz, "takes the exponent bias of e4m3 for 8")
{
    return number_unless(c, false, 0) / (is_type(c, ATTN_F8E4M3) ? (real)2 : 1);
}

/* The number that would follow 57344. */
WRONG_BYTES(f8_infinity_as_number, "reads the infinities of e5m2 as 65536")
{
    return number_unless(c, is_type(c, ATTN_F8E5M2) && (byte_of(c) & 0x7f) == 0x7c,
                         byte_of(c) & 0x80 ? -65536 : 65536);
}

/* Knows NaN by a comparison with 0x7f, which -NaN is not. */
WRONG_BYTES(f8_minus_nan_as_480, "reads the -NaN of e4m3 as -480")
{
    return number_unless(c, is_type(c, ATTN_F8E4M3) && byte_of(c) == 0xff, -480);
}

/* The number that would follow 448. */
WRONG_BYTES(f8_nan_as_480, "reads the NaN of e4m3 as 480")
{
    return number_unless(c, is_type(c, ATTN_F8E4M3) && (byte_of(c) & 0x7f) == 0x7f,
                         byte_of(c) & 0x80 ? -480 : 480);
}

/* As tricks do that only shift exponents. */
WRONG_BYTES(f8_subnormals_flushed, "reads subnormal 8-bit floats as 0")
{
    const uint8_t exponent = is_type(c, ATTN_F8E4M3) ? 0x78 : 0x7c;
    return number_unless(c, !is_type(c, ATTN_I8) && !(byte_of(c) & exponent), 0);
}

/* ---- 4 bits ---------------------------------------------------------------------------------- */

#define WRONG_NIBBLES(symbol, says) \
    WRONG_CELLS(symbol, says, (ATTN_OPTION_ZERO_POINTS << 1) - 1, (1u << ATTN_I4))

/* Where the cache is symmetric, -8 to 7. */
WRONG_NIBBLES(i4_as_twos_complement, "takes elements for numbers in two's complement")
{
    const int x = (int)attn_nibble(c->row, c->d);
    return c->w->problem->options & ATTN_OPTION_ZERO_POINTS
               ? nibble(c, c->d, c->d, c->zeros)
               : scale_of(c, c->d) * (real)(x < 8 ? x : x - 16);
}

WRONG_NIBBLES(i4_halves_swapped, "takes the upper half of a byte for the first element")
{
    return nibble(c, c->d ^ 1, c->d, c->zeros);
}

WRONG_NIBBLES(i4_scale_of_the_next_group, "multiplies a group's last element by the next scale")
{
    return nibble(c, c->d, c->d + 1 < c->dim ? c->d + 1 : c->d, c->zeros);
}

WRONG_NIBBLES(i4_short_group_unscaled, "gives a short last group the scale before it")
{
    const size_t group = c->w->problem->kv_group, whole = c->dim / group * group;
    return nibble(c, c->d, c->d >= whole && whole ? whole - 1 : c->d, c->zeros);
}

/* Where V has as many. */
WRONG_NIBBLES(i4_zero_of_v_for_k, "takes the zero points of V for those of K")
{
    const bool as_many = c->w->problem->v_dim >= c->w->problem->qk_dim;
    return nibble(c, c->d, c->d, c->of_k && as_many ? c->other_zeros : c->zeros);
}

/* As if the cache were symmetric. */
WRONG_NIBBLES(i4_zero_points_ignored, "takes all zero points for 8")
{
    return scale_of(c, c->d) * ((real)attn_nibble(c->row, c->d) - 8);
}
