/*
 * tensors_masks: fills biases, boolean masks, trees, lists of keys, sinks and slopes.
 *
 * An element's random number is that of its index, whatever the padding and thread count.
 */
#include <math.h>

#include "base/random.h"
#include "clause.h"
#include "tensors_view.h"

enum {
    STREAM_MASK = 1000,
    STREAM_BIAS,
    STREAM_SINKS,
    STREAM_FINE
}; /* apart from those of q, k and v */

#define CHUNK 256 /* elements generated at once */

/* Fills a tensor of dims[0..3] with N(0, 1). */
static void fill_normal(const struct attn_tensor *t, const size_t dims[4], uint64_t key)
{
#pragma omp parallel for collapse(3) if (dims[0] * dims[1] * dims[2] * dims[3] > TENSORS_PARALLEL)
    for (size_t b = 0; b < dims[0]; b++)
        for (size_t h = 0; h < dims[1]; h++)
            for (size_t i = 0; i < dims[2]; i++)
                for (size_t j = 0; j < dims[3]; j += CHUNK) {
                    float x[CHUNK];
                    double fine[CHUNK];
                    const size_t n = dims[3] - j < CHUNK ? dims[3] - j : CHUNK;
                    const uint64_t row = (b * dims[1] + h) * dims[2] + i;
                    random_normal(x, n, key, row * dims[3] + j);
                    for (size_t k = 0; k < n; k++)
                        fine[k] = (double)x[k];
                    if (t->dtype == ATTN_F64)
                        random_refine(fine, n, random_key(key, STREAM_FINE), row * dims[3] + j);
                    tensors_set_row(t, b, h, i, j, fine, n);
                }
}

/* Fills a bias with 0 for keys that mask=causal sees and -inf for others, by each sequence's lengths. */
static void fill_causal(struct tensor_set *set, const struct attn_problem *p)
{
    const struct attn_tensor *t = &set->tensors.bias;
    struct attn_problem causal = *p;
    causal.mask = ATTN_MASK_CAUSAL;
    causal.options &= ~(unsigned)ATTN_OPTION_WINDOW;
    for (size_t b = 0; b < set->shape.bias[0]; b++) {
        const struct attn_sequence s = attn_sequence(p, &set->tensors, b);
        for (size_t i = 0; i < p->q_len; i++) {
            const struct attn_range seen =
                attn_visible_in(&causal, (ptrdiff_t)i, (ptrdiff_t)s.q_len, (ptrdiff_t)s.kv_len);
            for (size_t j = 0; j < p->kv_len; j++)
                tensors_set(t, b, 0, i, j, (ptrdiff_t)j < seen.hi ? 0 : -INFINITY);
        }
    }
}

/* Fills a boolean mask, block by block. */
static void fill_mask(struct tensor_set *set, const struct input *input, uint64_t key)
{
    const struct attn_tensor *t = &set->tensors.mask;
    const size_t *dims = set->shape.mask, block = input->mask_block ? input->mask_block : 1;
    const double visible = input->mask_block ? (double)input->mask_visible : 0.5;
    const size_t across = (dims[3] - 1) / block + 1;
#pragma omp parallel for collapse(3) if (dims[0] * dims[1] * dims[2] * dims[3] > TENSORS_PARALLEL)
    for (size_t b = 0; b < dims[0]; b++)
        for (size_t h = 0; h < dims[1]; h++)
            for (size_t i = 0; i < dims[2]; i++) {
                const uint64_t pattern = random_key(key, b * dims[1] + h);
                unsigned char *row = attn_row(t, b, h, i);
                for (size_t j = 0; j < dims[3]; j++)
                    row[j] = random_unit(pattern, i / block * across + j / block) < visible;
            }
}

/* 2^(-8 (h + 1) / Hq), Press et al. 2021 (arXiv:2108.12409) */
static void fill_slopes(float *slopes, size_t heads)
{
    for (size_t h = 0; h < heads; h++)
        slopes[h] = (float)exp2(-8 * (double)(h + 1) / (double)heads);
}

void tensors_fill_masks(struct tensor_set *set, const struct problem_case *c, uint64_t stream)
{
    const struct attn_problem *p = &c->problem;
    const struct attn_tensors *t = &set->tensors;
    const uint64_t key = random_key(c->input.seed, stream);
    if (p->mask & ATTN_MASK_BIAS && c->input.bias == INPUT_BIAS_CAUSAL)
        fill_causal(set, p);
    else if (p->mask & ATTN_MASK_BIAS)
        fill_normal(&t->bias, set->shape.bias, random_key(key, STREAM_BIAS));
    if (p->mask & ATTN_MASK_BOOL)
        fill_mask(set, &c->input, random_key(c->input.seed, STREAM_MASK));
    for (size_t b = 0; p->mask & ATTN_MASK_TREE && b < p->batch; b++) {
        const struct attn_sequence s = attn_sequence(p, t, b);
        clause_tree_make(&c->input, b, (int32_t *)attn_row(&t->parents, b, 0, 0) + s.q_first,
                         s.q_len);
    }
    if (p->options & ATTN_OPTION_INDEX)
        clause_index_fill(&c->input, p, t);
    if (p->options & ATTN_OPTION_SINKS)
        random_normal(t->sinks.data, p->q_heads, random_key(key, STREAM_SINKS), 0);
    if (p->options & ATTN_OPTION_ALIBI)
        fill_slopes(t->slopes.data, p->q_heads);
}
