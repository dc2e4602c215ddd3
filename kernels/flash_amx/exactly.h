/*
 * exactly.h: part of kernel flash for matrix units: the cases that weigh.h cannot compute, in float32,
 * row by row.
 *
 * If a score exceeds m by WEIGHT_HIGHEST or more, is NaN or infinite, or if a row has seen no key yet, the
 * job is computed again: m is raised where a score is higher, and results and sums are scaled by a power of
 * two, which is exact.  Rows whose m no longer fits 23 bits stay in float32 from then on.  Values that are
 * not finite are added here to the rows that see them.
 */
#pragma once

#include "shared/simd_reduce.h"
#include "multiply.h"
#include "seen_keys.h"

static void hide_job_by_bias(const struct call *call, struct job *job)
{
    for (int s = 0; s < job->strips; s++)
        hide_by_bias(call, job->block, job->key[s], job->seen[s]);
    job->shown = false;
}

/* Scores of a block and n strips of packed keys, and nothing beside. */
static void score_strips(const struct call *call, const struct block *block,
                         const uint16_t *const *k, int n, float *scores)
{
    struct product pending = {.to.at = NULL};
    struct product list[JOB_STRIPS];
    for (int s = 0; s < n; s++)
        score_product(call, block, k[s], scores + s * STRIP_SCORES, &list[s]);
    multiply_alone(call->score_steps, list, n, &pending);
    flush(&pending);
}

/* A row of scores as the problem has them, -inf where a key is hidden. */
static void see_row(const struct call *call, const struct block *block, int i,
                    const float *products, ptrdiff_t key, const float *k_scale, uint32_t seen,
                    float *scores)
{
    const ptrdiff_t end = (ptrdiff_t)block->rows.sequence.kv_len;
    memcpy(scores, products, STRIP_KEYS * sizeof *scores);
    if (call->natural && seen)
        change_row(scores, &block->terms[i], block->scale, k_scale, key, end);
    for (int j = 0; j < STRIP_KEYS; j++) {
        const float score = call->natural ? scores[j] : scores[j] * block->scale;
        scores[j] = seen >> j & 1 ? score : -INFINITY;
    }
}

/* Largest of n scores that is a number. */
static float largest(const float *scores, int n)
{
    float m = -INFINITY;
    for (int j = 0; j < n; j++)
        m = scores[j] > m ? scores[j] : m;
    return m;
}

/* m of a row for scores of which `top`, a number, is the largest. */
static void set_m(const struct call *call, struct block *block, int i, float top)
{
    const float m = ceilf(top * call->unit);
    const bool far = !(fabsf(m) <= WEIGHT_LARGEST_M);
    block->bias[i] = far ? NAN : weight_bias(m);
    block->m[i] = far ? top : m;
}

/* Largest score, lane by lane, of row i in the first strips of a job. */
VF_INLINE vf top_of_row(const struct call *call, const struct job *job,
                        const struct scratch *scratch, int i, float *const *scores, int strips)
{
    const float to_scores = call->natural ? 1 : job->block->scale;
    vf top = vf_set1(-INFINITY);
    if (job->shown && !call->natural) {
        for (int s = 0; s < strips; s++)
            for (int j = 0; j < STRIP_KEYS; j += VF_LANES)
                top = vf_max(vf_load(scores[s] + i * STRIP_KEYS + j) * vf_set1(to_scores), top);
        return top;
    }
    for (int s = 0; s < strips; s++) {
        const float *products = scores[s] + i * STRIP_KEYS;
        const vu seen = (vu)vf_set1(0) + job->seen[s][i];
        float row[STRIP_KEYS];
        if (call->natural) {
            see_row(call, job->block, i, products, job->key[s],
                    scales_at(scratch->k_scales, job->strip[s]), job->seen[s][i], row);
            products = row;
        }
        const vf scale = vf_set1(to_scores);
        for (int j = 0; j < STRIP_KEYS; j += VF_LANES) {
            const vi shown = (vi)((seen >> (vu)(vi_lanes() + j) & 1) != 0);
            top = vf_max(vf_select(shown, vf_load(products + j) * scale, vf_set1(-INFINITY)), top);
        }
    }
    return top;
}

/* m of all rows from their first strips' scores, before which they have seen nothing. */
VF_NOINLINE void first_m(const struct call *call, const struct job *job,
                         const struct scratch *scratch, float *const *scores, int strips)
{
    struct block *block = job->block;
    block->begun = strips > 0;
    for (int first = 0; first < BLOCK_ROWS; first += VF_LANES) {
        vf tops[VF_LANES];
        for (int lane = 0; lane < VF_LANES; lane++)
            tops[lane] = top_of_row(call, job, scratch, first + lane, scores, strips);
        const vf top = vf_hmax_each(tops), rounded = top * vf_set1(call->unit) + vf_set1(0x1.8p23f);
        const vf m = rounded - vf_set1(0x1.8p23f), far = vf_set1(WEIGHT_LARGEST_M);
        if (!vi_any(~(vi)(top * vf_set1(call->unit) < far)) && !vi_any(~(vi)(m > -far))) {
            vf_store(block->m + first, m);
            vf_store(block->bias + first,
                     (vf_set1(WEIGHT_ABOVE) - m) * vf_set1(WEIGHT_UNIT) + vf_set1(WEIGHT_MAGIC));
            continue;
        }
        for (int lane = 0; lane < VF_LANES; lane++)
            if (top[lane] > -INFINITY && top[lane] < INFINITY)
                set_m(call, block, first + lane, top[lane]);
    }
}

/* 2^by for a whole number by <= 0; 0 where that is no normal number. */
static inline float power_of_two(float by)
{
    return by < -126 ? 0 : attn_bits_float((uint32_t)((int32_t)by + 127) << 23);
}

/* Raises m of a row to where scores up to `top` have weights. */
static void raise_m(const struct call *call, struct block *block, int i, float top)
{
    const float m = block->m[i];
    const bool far = isnan(block->bias[i]), none = !far && m == -INFINITY;
    if (!(far ? top > m : top > -INFINITY && (none || !(top * call->unit <= m))))
        return;
    set_m(call, block, i, top);
    if (none) /* l and o are 0, and top in base 2 may be -INFINITY, too */
        return;
    const bool far_now = isnan(block->bias[i]);
    const float by = far       ? (m - top) * call->unit
                     : far_now ? m - top * call->unit
                               : m - block->m[i];
    const float factor = far || far_now ? exp2f(by) : power_of_two(by);
    for (int part = 0; block->started && part < 2; part++)
        for (int lane = 0; lane < TILE_ROWS; lane += VF_LANES) {
            float *l = block->l[part][i] + lane;
            vf_store(l, vf_load(l) * vf_set1(factor));
        }
    for (int d = 0; block->started && d < 2 * call->v_steps; d++)
        for (int lane = 0; lane < TILE_ROWS; lane += VF_LANES) {
            float *o = block->o + result_at(d / 2 * STEP_DIMS + d % 2 * 4, i) + lane;
            vf_store(o, vf_load(o) * vf_set1(factor));
        }
}

/* 2^(x - m), where x is a score of row i. */
static float power_of(const struct call *call, const struct block *block, int i, float x)
{
    if (x == -INFINITY)
        return 0;
    const float y =
        isnan(block->bias[i]) ? (x - block->m[i]) * call->unit : x * call->unit - block->m[i];
    return exp2f(y);
}

static void weigh_exactly(const struct call *call, const struct job *job,
                          const struct scratch *scratch, int i, uint16_t *weights,
                          float (*sums)[TILE_ROWS])
{
    struct block *block = job->block;
    float rows[JOB_STRIPS][STRIP_KEYS];
    for (int s = 0; s < job->strips; s++)
        see_row(call, block, i, scratch->again + (s * BLOCK_ROWS + i) * STRIP_KEYS, job->key[s],
                scales_at(scratch->k_scales, job->strip[s]), job->seen[s][i], rows[s]);
    raise_m(call, block, i, largest(rows[0], job->strips * STRIP_KEYS));
    if (sums)
        memset(sums[i], 0, sizeof sums[i]);
    for (int s = 0; s < job->strips; s++) {
        const float *v_scale = scales_at(scratch->v_scales, job->strip[s]);
        for (int w = 0; w < STRIP_KEYS; w++) {
            const int key = WEIGHT_KEY(w);
            const float weight = power_of(call, block, i, rows[s][key]);
            const bool seen = job->seen[s][i] >> key & 1;
            const uint16_t rounded =
                attn_f32_to_bf16(v_scale && seen ? weight * call->v_unit * v_scale[key] : weight);
            weights[(s * BLOCK_ROWS + i) * STRIP_KEYS + w] = rounded;
            if (sums)
                sums[i][w / 2] += weight;
        }
    }
}

/* How rows are weighed whose scores have their terms already, or need none. */
static enum weigh_kind kind_again(const struct call *call)
{
    return call->natural ? WEIGH_CHANGED : WEIGH_SEEN;
}

/* Weights and sums of a row as weigh.h makes them, from the m that it has; false where that cannot be. */
static bool weigh_row_again(const struct call *call, const struct job *job,
                            const struct scratch *scratch, int i, const struct weigh_constants *c,
                            uint16_t *weights, float (*sums)[TILE_ROWS])
{
    const struct block *block = job->block;
    const ptrdiff_t end = (ptrdiff_t)block->rows.sequence.kv_len;
    const enum weigh_kind again = kind_again(call);
    struct weigh_flags flags = weigh_no_flags();
    for (int s = 0; s < job->strips; s++) {
        float row[STRIP_KEYS] __attribute__((aligned(ATTN_WORKSPACE_ALIGN)));
        const uint32_t seen = job->seen[s][i];
        memcpy(row, scratch->again + (s * BLOCK_ROWS + i) * STRIP_KEYS, sizeof row);
        uint16_t *to = weights + (s * BLOCK_ROWS + i) * STRIP_KEYS;
        const struct scaled scaled = {weigh_unit(call, block, again), call->v_unit,
                                      scales_at(scratch->v_scales, job->strip[s])};
        if (call->natural && seen)
            change_row(row, &block->terms[i], block->scale,
                       scales_at(scratch->k_scales, job->strip[s]), job->key[s], end);
        if (scaled.v_scale)
            weigh_row_scaled(row, seen, &scaled, block->bias[i], s ? sums[i] : no_sums, sums[i], to,
                             &flags);
        else
            weigh_row(row, again, &job->seen[s][i], NULL, c, block->bias[i], to, &flags);
    }
    return !weigh_flagged(flags);
}

/* By how much m of a job's rows must be above their scores, in base 2: weights, which are else below 2^8, times v_unit,
 * at most 2^16, and a scale of values from 2^100 on may not be finite. */
static float scales_above(const struct job *job, const struct scratch *scratch)
{
    bool large = false;
    for (int s = 0; scratch->v_scales && s < job->strips; s++)
        for (int j = 0; j < STRIP_KEYS; j++) {
            const float scale = fabsf(scales_at(scratch->v_scales, job->strip[s])[j]);
            large |= scale >= 0x1p100f && scale < INFINITY;
        }
    return large ? 26 : 0;
}

/* Weights and sums of a job, row by row: with an m that is raised, which is fast, and where that does not do
 * with weigh_exactly().  Many jobs come here where scores rise with the key; with ALiBi their blocks begin at
 * the last one (jobs.h). */
VF_NOINLINE void weigh_job_again(const struct call *call, struct job *job,
                                 const struct scratch *scratch, uint16_t *weights)
{
    float(*const sums)[TILE_ROWS] = call->v_tokens ? job->block->l[1] : NULL;
    const uint16_t *k[JOB_STRIPS];
    float *scores[JOB_STRIPS];
    hide_job_by_bias(call, job);
    for (int s = 0; s < job->strips; s++) {
        k[s] = packed_k(call, scratch, job->strip[s]);
        scores[s] = scratch->again + s * STRIP_SCORES;
    }
    const struct weigh_factors factors = weigh_factors_of(call, job->block, kind_again(call));
    const struct weigh_constants c = weigh_constants_of(&factors);
    const float above = scales_above(job, scratch);
    score_strips(call, job->block, k, job->strips, scratch->again);
    for (int i = 0; (size_t)i < job->block->rows.rows; i++) {
        const float top = vf_hmax(top_of_row(call, job, scratch, i, scores, job->strips));
        if (top > -INFINITY && top < INFINITY)
            raise_m(call, job->block, i, top + above / call->unit);
        if (!weigh_row_again(call, job, scratch, i, &c, weights, sums))
            weigh_exactly(call, job, scratch, i, weights, sums);
    }
}

/* ---- values that are not finite -------------------------------------------------------------- */

/* Adds those of a key to the row that sees it, where they were packed as 0. */
static void add_infinite_row(const struct call *call, struct block *block, int i, const void *v,
                             float weight)
{
    const uint16_t *halves = v;
    const enum attn_dtype dtype = call->problem->kv_dtype;
    for (int d = 0; (size_t)d < call->problem->v_dim; d++) {
        const float x = attn_dtype_scaled(dtype) ? attn_scaled_element(dtype, v, (size_t)d)
                                                 : attn_bf16_to_f32(halves[d]);
        if (!isfinite(x))
            block->o[result_at(d, i)] += weight * x;
    }
}

static void add_infinite(const struct call *call, const struct keys *keys, struct job *job,
                         const struct scratch *scratch, const uint16_t *weights)
{
    hide_job_by_bias(call, job);
    for (int s = 0; s < job->strips; s++)
        for (int w = 0; w < STRIP_KEYS && !scratch->finite[job->strip[s]]; w++) {
            const ptrdiff_t key = job->key[s] + WEIGHT_KEY(w);
            if (key >= (ptrdiff_t)keys->sequence.kv_len)
                continue;
            const void *v = keys_row(keys, &call->tensors->v, key);
            for (int i = 0; (size_t)i < job->block->rows.rows; i++)
                if (job->seen[s][i] >> WEIGHT_KEY(w) & 1)
                    add_infinite_row(
                        call, job->block, i, v,
                        attn_bf16_to_f32(weights[(s * BLOCK_ROWS + i) * STRIP_KEYS + w]));
        }
}
