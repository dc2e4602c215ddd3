/*
 * ask: finds the key to which a wrong row gives a wrong weight, by running the kernel again.
 */
#include <math.h>
#include <stdio.h>

#include "row_view.h"
#include "trial.h"

/* Weights that differ by less than this are not reported. */
#define TELLING 1e-3

/* Number of keys that a kernel may read for this row. */
static size_t askable(const struct row_view *s)
{
    const bool scaled = attn_dtype_scaled(s->problem->kv_dtype);
    return scaled || attn_keys_packed(s->problem) ? row_view_reach(s) : row_view_rows(s);
}

/* Sets V of the row's KV head: each key of [lo, hi) is one-hot at its bin, all others are 0. */
static void sort_into_bins(struct trial *trial, const struct row_view *s, size_t lo, size_t hi)
{
    const struct attn_problem *p = &trial->problem;
    const size_t bins = p->v_dim, width = (hi - lo + bins - 1) / bins;
    for (size_t j = 0; j < askable(s); j++)
        for (size_t d = 0; d < bins; d++)
            kv_set(p, &trial->set.tensors, KV_V, (struct kv_place){s->b, s->g, j}, d,
                   j >= lo && j < hi && (j - lo) / width == d);
    tensors_seal(&trial->set, p);
}

/* Sets scales to 1, and poisoned keys that the row must not see to 0, so that a kernel which does see one
 * shows its weight. */
static void make_finite(struct trial *trial, const struct row_view *s)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    for (size_t j = 0; j < askable(s); j++) {
        const struct kv_place at = {s->b, s->g, j};
        if (attn_dtype_scaled(p->kv_dtype))
            kv_rescale(p, t, KV_V, at, 1);
        if (!row_view_hider(s, j))
            continue;
        if (attn_dtype_scaled(p->kv_dtype) && t->k_scale.stride[2])
            kv_rescale(p, t, KV_K, at, 0);
        for (size_t d = 0; !kv_integers(p->kv_dtype) && d < p->qk_dim; d++)
            if (!isfinite(kv_get(p, t, KV_K, at, d)))
                kv_set(p, t, KV_K, at, d, 0);
    }
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
        const size_t end = lo + (d + 1) * width < hi ? lo + (d + 1) * width : hi;
        for (size_t j = lo + d * width; j < end && j < p->kv_len; j++) /* others weigh nothing */
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

static bool narrow_down(struct trial *trial, const struct row_view *s, const double *weights,
                        size_t *key, double *got, double *expected)
{
    const struct attn_problem *p = &trial->problem;
    size_t lo = 0, hi = askable(s);
    do {
        const size_t width = (hi - lo + p->v_dim - 1) / p->v_dim;
        sort_into_bins(trial, s, lo, hi);
        trial_call(trial, trial->at);
        lo += width * worst_bin(trial, s->at, weights, lo, hi, got, expected);
        hi = lo + width < hi ? lo + width : hi;
        if (lo >= hi)
            return false;
    } while (hi - lo > 1);
    *key = lo;
    return true;
}

bool ask_weight(struct trial *trial, const struct mismatch *wrong, char *text, size_t size)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    const struct row_view view = row_view_of(p, t, tensors_place(p, t, wrong->row));
    const bool shared = p->options & ATTN_OPTION_SHARED_KV; /* V cannot change alone */
    struct reference_row row;
    size_t key = 0;
    double got = 0, expected = 0;
    bool told = false;
    if (reference_row_open(&row, p, REFERENCE_WEIGHTS) && p->v_dim > 1 && !shared &&
        askable(&view)) {
        reference_row_compute(&row, NULL, p, t, view.at);
        make_finite(trial, &view);
        told = narrow_down(trial, &view, row.reference.weights, &key, &got, &expected) &&
               !(fabs(got - expected) < TELLING);
    }
    if (told) {
        const char *hider = row_view_hider(&view, key);
        snprintf(text, size, "it gives key %zu%s%s%s the weight %.4g, expected %.4g", key,
                 hider ? ", " : "", hider ? hider : "", hider ? "," : "",
                 isnan(got) ? (double)NAN : got, expected);
    }
    reference_row_close(&row);
    return told;
}
