/*
 * score_passes.h: part of kernel flash: what changes scores between the two products.
 *
 * A pass takes one column of a strip, so that what a lane adds stays in registers; a bias and a mask,
 * whose rows lie along the keys, are transposed, VF_LANES keys (of a mask four times as many) at once.  Where
 * keys are entries of a list, `list` points at the strip's first.
 */
#pragma once

#include "mask_runs.h"

/* Applies change(score, key, with) to n scores; returns their maximum, ignoring NaN, in four parts to
 * hide the latency. */
VF_INLINE vf each_score(float *s, int n, vf (*change)(vf x, int j, const void *with),
                        const void *with)
{
    vf top[4];
    int j = 0;
    for (int i = 0; i < 4; i++)
        top[i] = vf_set1(-INFINITY);
    for (; j < n - 3; j += 4, s += 4 * FLASH_TILE) {
        VF_UNROLL
        for (int i = 0; i < 4; i++) {
            const vf x = change(vf_load(s + i * FLASH_TILE), j + i, with);
            vf_store(s + i * FLASH_TILE, x);
            top[i] = vf_max(x, top[i]);
        }
    }
    for (; j < n; j++, s += FLASH_TILE) {
        const vf x = change(vf_load(s), j, with);
        vf_store(s, x);
        top[0] = vf_max(x, top[0]);
    }
    return vf_max(vf_max(top[0], top[1]), vf_max(top[2], top[3]));
}

VF_INLINE vf as_it_is(vf x, int j, const void *with)
{
    (void)j;
    (void)with;
    return x;
}

VF_NOINLINE vf largest(float *s, int n)
{
    return each_score(s, n, as_it_is, NULL);
}

VF_INLINE vf capped(vf x, int j, const void *with)
{
    (void)j;
    return softcap_each(with, x);
}

VF_NOINLINE vf cap_scores(const struct job *job, float *s, int n)
{
    const struct softcap cap = job->cap;
    return each_score(s, n, capped, &cap);
}

struct line {
    vf start, slope;
    const int32_t *list; /* NULL: keys follow each other */
};

VF_INLINE vf with_alibi(vf x, int j, const void *with)
{
    const struct line *line = with;
    return x + line->slope * (line->start + (float)(line->list ? line->list[j] : j));
}

/* Adds slope * (j - position) to the scores of n keys from `first` on, or of a list. */
VF_NOINLINE vf add_alibi(const struct tile *t, int c, ptrdiff_t first, const int32_t *list,
                         float *s, int n)
{
    const ptrdiff_t origin = list ? 0 : first;
    const vf start = vf_set1((float)(origin - t->terms.position)) - t->terms.behind[c];
    const struct line line = {start, t->terms.slope[c], list};
    return each_score(s, n, with_alibi, &line);
}

/* A bias of -inf hides the key, even where its score is NaN or infinite. */
VF_INLINE vf with_bias(vf x, vf bias)
{
    return vf_select((vi)(bias == vf_set1(-INFINITY)), bias, x + bias);
}

/* Bias of entry j of a list in a row.  Entry -1 is hidden: it reads the bias of key 0, which exists. */
static float bias_of_entry(enum attn_dtype dtype, const char *row, const int32_t *list, int j)
{
    return bias_at(dtype, row, list[j] < 0 ? 0 : list[j]);
}

VF_INLINE vf with_one_bias(vf x, int j, const void *with)
{
    return with_bias(x, vf_set1(((const float *)with)[j]));
}

/* Adds the row of bias that all lanes have. */
VF_NOINLINE vf add_one_bias(const struct job *job, const struct tile *t, ptrdiff_t first,
                            const int32_t *list, float *s, int n)
{
    const enum attn_dtype dtype = job->tensors->bias.dtype;
    const char *row = t->terms.bias[0];
    float widened[FLASH_KEYS];
    if (dtype == ATTN_F32 && !list)
        return each_score(s, n, with_one_bias, (const float *)row + first);
    for (int j = 0; j < n; j++)
        widened[j] = list ? bias_of_entry(dtype, row, list, j) : bias_at(dtype, row, first + j);
    return each_score(s, n, with_one_bias, widened);
}

/* Adds the lanes' own rows of bias, n <= VF_LANES elements of each from element `first` on. */
VF_INLINE vf add_biases_of(enum attn_dtype dtype, char *const *rows, ptrdiff_t first, float *s,
                           int n, vf top)
{
    const ptrdiff_t bytes = (ptrdiff_t)attn_dtype_size(dtype);
    vf bias[VF_LANES];
    VF_UNROLL
    for (int i = 0; i < VF_LANES; i++)
        bias[i] = vf_load_elements(dtype, rows[i] + first * bytes, (size_t)n);
    transpose(bias);
    VF_UNROLL
    for (int i = 0; i < VF_LANES; i++)
        if (i < n) {
            const vf x = with_bias(vf_load(s + i * FLASH_TILE), bias[i]);
            vf_store(s + i * FLASH_TILE, x);
            top = vf_max(x, top);
        }
    return top;
}

VF_NOINLINE vf add_biases(const struct job *job, char *const *rows, ptrdiff_t first, float *s,
                          int n)
{
    const enum attn_dtype dtype = job->tensors->bias.dtype;
    vf top = vf_set1(-INFINITY);
    int j = 0;
    for (; dtype == ATTN_F32 && j + VF_LANES <= n; j += VF_LANES)
        top = add_biases_of(ATTN_F32, rows, first + j, s + j * FLASH_TILE, VF_LANES, top);
    for (; j < n; j += VF_LANES)
        top = add_biases_of(dtype, rows, first + j, s + j * FLASH_TILE,
                            n - j < VF_LANES ? n - j : VF_LANES, top);
    return top;
}

/* The same of n entries of a list. */
VF_NOINLINE vf add_listed_biases(const struct job *job, char *const *rows, const int32_t *list,
                                 float *s, int n)
{
    const enum attn_dtype dtype = job->tensors->bias.dtype;
    vf top = vf_set1(-INFINITY);
    for (int j = 0; j < n; j++, s += FLASH_TILE) {
        vf bias;
        for (int i = 0; i < VF_LANES; i++)
            bias[i] = bias_of_entry(dtype, rows[i], list, j);
        const vf x = with_bias(vf_load(s), bias);
        vf_store(s, x);
        top = vf_max(x, top);
    }
    return top;
}

/* Hides keys in the lanes whose mask is 0; s: the first of their scores, to which top rises.  VF_BYTES of each
 * row from `from` on, of which `bytes` exist (`whole`: all), are loaded as VF_LANES words of four keys and
 * transposed; keys [lo, hi) of these have scores. */
VF_INLINE vf hide_bytes(const bool whole, char *const *rows, ptrdiff_t from, ptrdiff_t bytes,
                        int lo, int hi, float *s, vf top)
{
    vf x[VF_LANES];
    VF_UNROLL
    for (int i = 0; i < VF_LANES; i++)
        x[i] = (vf)mask_bytes(rows[i] + from, whole ? VF_BYTES : bytes);
    transpose(x);
    for (int word = lo / 4; word * 4 < hi; word++) {
        VF_UNROLL
        for (int i = 0; i < 4; i++) {
            if (word * 4 + i < lo || word * 4 + i >= hi)
                continue;
            const vi sees = (vi)x[word] << (31 - i * 8) < 0;
            const vf score = vf_select(sees, vf_load(s), vf_set1(-INFINITY));
            vf_store(s, score);
            top = vf_max(score, top);
            s += FLASH_TILE;
        }
    }
    return top;
}

/* Hides n keys from `first` on in the lanes whose mask says so; kv_len: where rows end. */
VF_NOINLINE vf hide_masked(char *const *rows, ptrdiff_t first, ptrdiff_t kv_len, float *s, int n)
{
    vf top = vf_set1(-INFINITY);
    if (kv_len < VF_BYTES)
        return hide_bytes(false, rows, 0, kv_len, (int)first, (int)first + n, s, top);
    for (int done = 0; done < n; done += VF_BYTES) {
        const ptrdiff_t here = first + done, last = kv_len - VF_BYTES;
        const ptrdiff_t from = here < last ? here : last;
        const int lo = (int)(here - from);
        const int hi = n - done + lo < VF_BYTES ? n - done + lo : VF_BYTES;
        top = hide_bytes(true, rows, from, VF_BYTES, lo, hi, s + (ptrdiff_t)done * FLASH_TILE, top);
    }
    return top;
}

/* Lanes of a column that see a key by its tree or of a list: bits from `shift` on; `lane` has its own. */
struct related {
    const uint64_t *seen_by;
    int shift;
    vi lane;
};

VF_INLINE vf if_related(vf x, int j, const void *with)
{
    const struct related *r = with;
    const vi bits = (vi){0} + (int32_t)(uint32_t)(r->seen_by[j] >> r->shift);
    return vf_select((vi)((bits & r->lane) != 0), x, vf_set1(-INFINITY));
}

/* Hides n keys in the lanes of column c that do not see them by their tree or of their list. */
VF_NOINLINE vf hide_unrelated(const uint64_t *seen_by, int c, float *s, int n)
{
    const struct related related = {seen_by, c * VF_LANES, ((vi){0} + 1) << vi_lanes()};
    return each_score(s, n, if_related, &related);
}

/* Hides rows [from, to) of the block from the lanes whose positional mask excludes them. */
static void hide_far(const struct block *block, const struct tile *t, int c, int from, int to)
{
    if (from >= to)
        return;
    const struct lane_range lanes = lanes_that_see(t, c, block->first);
    float *s = block->s + (ptrdiff_t)from * FLASH_TILE + c * VF_LANES;
    for (int j = from; j < to; j++, s += FLASH_TILE)
        vf_store(s, vf_select(seeing_lanes(&lanes, j), vf_load(s), vf_set1(-INFINITY)));
}
