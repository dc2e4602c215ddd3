/*
 * split_merge.h: part of kernel split_kv: merges the parts of a row, and stores its results.
 */
#pragma once

#include "unit.h"

/* m and l of row r in a part: m is the shift of its weights, in the units of the tiles' scores, -inf if the row
 * sees no key of the split. */
static float *part_sums(const struct geometry *g, char *part, int r)
{
    return (float *)(part + g->o_bytes) + 2 * r;
}

/* The largest shift, in the units of the tiles' scores, and 1 / l of a merged row; they replace the sums of its
 * first part. */
struct merged {
    float m, inverse;
};

static struct merged *part_merged(const struct geometry *g, char *parts)
{
    return (struct merged *)part_sums(g, parts, 0);
}

#if MATRIX_UNIT
#define O_STEP STEP_DIMS
#else
#define O_STEP (2 * VF_LANES) /* the order of widen() */
#endif

/* Stores a row of O whose sums have, in each O_STEP, those of even dimensions first. */
VF_NOINLINE void store_pairs(enum attn_dtype dtype, char *to, size_t dim, const float *sum,
                             float inverse)
{
    const size_t element = attn_dtype_size(dtype);
    for (size_t d = 0; d < dim; d += VF_LANES) {
        float x[VF_LANES];
        const float *even = sum + d / O_STEP * O_STEP + d % O_STEP / 2;
        for (int i = 0; i < VF_LANES; i++)
            x[i] = even[i % 2 * (O_STEP / 2) + i / 2];
        vf_store_elements(dtype, to + d * element, vf_load(x) * inverse,
                          geometry_minimum(dim - d, VF_LANES));
    }
}

/* Stores O of row r from its sums, which with bf16 or a matrix unit have even dimensions first in each O_STEP;
 * with pairs that were 8 bits see byte_pairs.h. */
static void store_o(const struct unit *u, int r, const float *sum, float inverse)
{
    const enum attn_dtype dtype = u->t->o.dtype;
    const size_t dim = (size_t)u->g->v.dim, element = attn_dtype_size(dtype);
    const float unit = u->scaling.v;
    char *to = unit_row(u, &u->t->o, r);
    if (u->g->format == FORMAT_I4) {
        store_pairs(dtype, to, dim, sum, inverse);
        return;
    }
#if BYTE_PAIRS
    if (FORMAT_SCALED(u->g->format)) {
        for (size_t d = 0; d < dim; d += VF_LANES) {
            float x[VF_LANES];
            o_of_bytes(sum, d, x);
            vf_store_elements(dtype, to + d * element, vf_load(x) * inverse,
                              geometry_minimum(dim - d, VF_LANES));
        }
        return;
    }
#endif
    if (!MATRIX_UNIT && u->g->format != FORMAT_BF16) {
        for (size_t d = 0; d < dim; d += VF_LANES)
            vf_store_elements(dtype, to + d * element, vf_load(sum + d) * unit * inverse,
                              geometry_minimum(dim - d, VF_LANES));
        return;
    }
    for (size_t d = 0; d < dim; d += 2 * VF_LANES) {
        const float *even = sum + d / O_STEP * O_STEP + d % O_STEP / 2;
        const vf x[2] = {vf_load(even) * inverse * unit,
                         vf_load(even + O_STEP / 2) * inverse * unit};
        const size_t bytes = (dim - d) * element;
        if (dtype == ATTN_F32) { /* for parts of kernel ring */
            float halves[2][VF_LANES], both[2 * VF_LANES];
            vf_store(halves[0], x[0]);
            vf_store(halves[1], x[1]);
            for (int i = 0; i < 2 * VF_LANES; i++)
                both[i] = halves[i % 2][i / 2];
            memcpy(to + d * element, both, geometry_minimum(bytes, sizeof both));
            continue;
        }
        const vi pairs = narrow_pairs(x);
        memcpy(to + d * element, &pairs, geometry_minimum(bytes, VF_BYTES));
    }
}

/* The score of row r's sink in the tiles' units, in double because it may be as large as a float can be;
 * -inf: no sink. */
static double sink_of(const struct unit *u, int r)
{
    const struct attn_problem *problem = u->block.problem;
    const double sink = (double)softmax_sink(problem, u->t, group_head(&u->block, (size_t)r));
    return u->scaling.natural ? sink : sink / M_LN2;
}

/* O and l of row r in the only part; NULL: the row sees no key. */
static const float *only_part(const struct geometry *g, char *part, int r, float *l)
{
    const float *sums = part_sums(g, part, r);
    if (sums[0] == -INFINITY)
        return NULL;
    *l = sums[1];
    return (const float *)part + r * g->o_floats;
}

/* Sums the parts' O of row r relative to the shift m; returns l plus the parts' l.  Parts in which the row
 * sees no key have not written O and l. */
static float join_parts(const struct geometry *g, int r, char *parts, size_t splits, double m,
                        double bits, float l, float *sum)
{
    memset(sum, 0, (size_t)g->o_floats * sizeof *sum);
    for (size_t s = 0; s < splits; s++) {
        char *part = parts + s * g->part_bytes;
        const float *sums = part_sums(g, part, r);
        const float *o = (const float *)part + r * g->o_floats;
        if (sums[0] == -INFINITY)
            continue;
        const float factor = exp2f((float)(((double)sums[0] - m) * bits));
        l += factor * sums[1];
        for (ptrdiff_t i = 0; i < g->o_floats; i++)
            sum[i] += factor * o[i];
    }
    return l;
}

/* Merges `splits` parts of row r, in the order of their keys, and stores O and LSE. */
static void merge_row(const struct unit *u, int r, char *parts, size_t splits)
{
    const struct geometry *g = u->g;
    const double bits = u->scaling.natural ? (double)SOFTMAX_LOG2E : 1, sink = sink_of(u, r);
    double m = sink;
    for (size_t s = 0; s < splits; s++) {
        const double part_m = (double)*part_sums(g, parts + s * g->part_bytes, r);
        m = part_m > m ? part_m : m;
    }
    float l = sink == -INFINITY ? 0 : exp2f((float)((sink - m) * bits));
    const float *only = splits == 1 && l == 0 ? only_part(g, parts, r, &l) : NULL;
    if (!only)
        l = join_parts(g, r, parts, splits, m, bits, l, u->q); /* Q is no longer needed */
    const float *sum = only ? only : u->q;
    const float inverse = softmax_inverse(l);
    const unsigned outputs = u->block.problem->outputs;
    if (outputs & ATTN_OUTPUT_LSE)
        *(float *)unit_row(u, &u->t->lse, r) =
            (float)((u->scaling.natural ? m : m * M_LN2) + (double)logf(l));
    if (outputs & ATTN_OUTPUT_O)
        store_o(u, r, sum, inverse);
    if (outputs & ATTN_OUTPUT_WEIGHTS) { /* weights_output.h fills those of visible keys */
        memset(unit_row(u, &u->t->weights, r), 0, u->block.problem->kv_len * sizeof(float));
        if (splits)
            part_merged(g, parts)[r] = (struct merged){(float)m, inverse};
    }
}
