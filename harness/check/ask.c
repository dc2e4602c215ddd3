/*
 * ask: finds the key to which a wrong row gives a wrong weight, by running the kernel again.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "trial.h"
#include "reference.h"

/* Weights that differ by less than this are not reported. */
#define TELLING 1e-3

/* V of the row's KV head: key j of [lo, hi) is one-hot at its bin, all others are 0. */
static void sort_into_bins(struct trial *trial, struct tensors_place at, size_t lo, size_t hi)
{
    const struct attn_problem *p = &trial->problem;
    const size_t g = attn_kv_head(p, at.h), bins = p->v_dim;
    const size_t width = (hi - lo + bins - 1) / bins;
    for (size_t j = 0; j < p->kv_len; j++)
        for (size_t d = 0; d < bins; d++)
            tensors_set(&trial->set.tensors.v, at.b, g, j, d,
                        j >= lo && j < hi && (j - lo) / width == d);
    tensors_seal(&trial->set, p);
}

/* The bin of [lo, hi) whose weight is most wrong. */
static size_t worst_bin(const struct trial *trial, struct tensors_place at, const double *weights,
                        size_t lo, size_t hi, double *got, double *expected)
{
    const struct attn_problem *p = &trial->problem;
    const size_t width = (hi - lo + p->v_dim - 1) / p->v_dim;
    size_t worst = 0;
    double largest = -1;
    for (size_t d = 0; d < p->v_dim; d++) {
        double sum = 0;
        for (size_t j = lo + d * width; j < hi && j < lo + (d + 1) * width; j++)
            sum += weights[j];
        const double o = tensors_get(&trial->set.tensors.o, at.b, at.h, at.row, d);
        const double off = isnan(o) ? INFINITY : fabs(o - sum);
        if (off > largest) {
            largest = off;
            worst = d;
            *got = o;
            *expected = sum;
        }
    }
    return worst;
}

static bool narrow_down(struct trial *trial, struct tensors_place at, const double *weights,
                        size_t *key, double *got, double *expected)
{
    const struct attn_problem *p = &trial->problem;
    size_t lo = 0, hi = p->kv_len;
    do {
        const size_t width = (hi - lo + p->v_dim - 1) / p->v_dim;
        sort_into_bins(trial, at, lo, hi);
        tensors_poison(&trial->set, p);
        attn_execute(&trial->plans[trial->at].plan, &trial->set.tensors);
        lo += width * worst_bin(trial, at, weights, lo, hi, got, expected);
        hi = lo + width < hi ? lo + width : hi;
        if (lo >= hi)
            return false;
    } while (hi - lo > 1);
    *key = lo;
    return true;
}

bool check_ask(struct trial *trial, const struct check_mismatch *wrong, char *text, size_t size)
{
    const struct attn_problem *p = &trial->problem;
    const struct tensors_place at = tensors_place(p, &trial->set.tensors, wrong->row);
    double *weights = malloc((p->kv_len + p->v_dim) * sizeof *weights);
    void *workspace = malloc(attn_reference_workspace(p));
    size_t key = 0;
    double got = 0, expected = 0;
    bool told = false;
    if (weights && workspace && p->v_dim > 1) {
        struct attn_reference_row row = {
            .size = sizeof row, .o = weights + p->kv_len, .weights = weights};
        attn_reference(p, &trial->set.tensors, at.b, at.h, at.i, ATTN_F32, 0, workspace, &row);
        told = narrow_down(trial, at, weights, &key, &got, &expected) &&
               !(fabs(got - expected) < TELLING);
    }
    if (told) {
        const struct attn_range seen = attn_visible(p, (ptrdiff_t)at.i);
        const bool hidden = (ptrdiff_t)key < seen.lo || (ptrdiff_t)key >= seen.hi;
        snprintf(text, size, "it gives key %zu%s the weight %.4g, expected %.4g", key,
                 hidden ? ", which the mask hides," : "", isnan(got) ? (double)NAN : got, expected);
    }
    free(weights);
    free(workspace);
    return told;
}
