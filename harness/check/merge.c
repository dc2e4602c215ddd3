/*
 * merge: checks that O lies in the range of the V that a row sees, and that it is the mean of O over two
 * parts of the keys, weighted by their LSE.
 */
#include <math.h>

#include "phases.h"
#include "row_view.h"

/* ---- the hull ------------------------------------------------------------------------------ */

/* The range of element d of the V that a row sees; a sink's value is 0. */
static void range_of(const struct single *seen, size_t d, double *lo, double *hi)
{
    const struct attn_problem *one = &seen->problem;
    const bool sink = one->options & ATTN_OPTION_SINKS && seen->sink > -INFINITY;
    *lo = sink ? 0 : INFINITY;
    *hi = sink ? 0 : -INFINITY;
    for (size_t j = 0; j < one->kv_len; j++) {
        const double v = tensors_get(&seen->tensors.v, 0, 0, j, d);
        *lo = fmin(*lo, v);
        *hi = fmax(*hi, v);
    }
}

static bool in_hull(struct trial *trial, const struct reference_row *bounds,
                    struct tensors_place at, const void *context)
{
    (void)context;
    const struct attn_problem *p = &trial->problem;
    const struct row_view view = row_view_of(p, &trial->set.tensors, at);
    struct single seen;
    bool right = single_open(&seen, p) || failure_give_up(trial, "no memory for a row");
    const bool any = right && single_gather(&seen, &view);
    for (size_t d = 0; right && any && d < p->v_dim; d++) {
        const double o = tensors_get(&trial->set.tensors.o, at.b, at.h, at.row, d);
        double lo, hi;
        range_of(&seen, d, &lo, &hi);
        right = (o >= lo - bounds->reference.bound[d] && o <= hi + bounds->reference.bound[d]) ||
                failure_found(trial,
                              "row (b %zu, h %zu, i %zu) element %zu is %.9g, but the V that it "
                              "sees lies in [%.9g, %.9g]",
                              at.b, at.h, at.i, d, o, lo, hi);
    }
    single_close(&seen);
    return right;
}

bool merge_hull(struct checker *checker, const struct attn_problem *small)
{
    struct trial trial;
    struct attn_problem problem = *small;
    problem.outputs |= ATTN_OUTPUT_O;
    if (!properties_open_normal(&trial, checker, "within the range of v", &problem, 3, 11, 2))
        return checker->result->ok;
    const bool right = trial_run(&trial) && properties_look(&trial, 1, 3, in_hull, NULL);
    trial_close(&trial);
    return right;
}

/* ---- split and merge ----------------------------------------------------------------------- */

enum { WHOLE, FIRST, SECOND, PARTS };

/*
 * O = w1 O1 + w2 O2 with w1 = 1 / (1 + exp(LSE2 - LSE1)).  An error e of LSE2 - LSE1 changes w1 by at most w1
 * w2 e (and a term of second order), hence O by w1 w2 e |O1 - O2|.  In long double: w2 = 1 - w1 is small
 * where one part has most of the weight, and the bound of a kernel in double has no room for its rounding.
 */
static bool is_merged(struct trial *trials, const struct reference_row *bounds,
                      struct tensors_place at, const void *context)
{
    (void)context;
    double o[PARTS], lse[PARTS];
    for (int k = WHOLE; k < PARTS; k++)
        lse[k] = tensors_get(&trials[k].set.tensors.lse, at.b, at.h, at.row, 0);
    const long double apart = (long double)lse[SECOND] - lse[FIRST];
    const long double w1 = isinf(lse[FIRST]) ? 0 : 1 / (1 + expl(apart)), w2 = 1 - w1;
    const double e =
        1.01 * (bounds[FIRST].reference.lse_bound + bounds[SECOND].reference.lse_bound);
    for (size_t d = 0; d < trials[WHOLE].problem.v_dim; d++) {
        for (int k = WHOLE; k < PARTS; k++)
            o[k] = tensors_get(&trials[k].set.tensors.o, at.b, at.h, at.row, d);
        const long double merged = w1 * o[FIRST] + w2 * o[SECOND];
        const long double allowed =
            bounds[WHOLE].reference.bound[d] + w1 * bounds[FIRST].reference.bound[d] +
            w2 * bounds[SECOND].reference.bound[d] + w1 * w2 * e * fabs(o[FIRST] - o[SECOND]);
        if (!(fabsl(merged - o[WHOLE]) <= allowed))
            return failure_found(
                &trials[WHOLE],
                "row (b %zu, h %zu, i %zu) element %zu is %.9g, merged from keys [0, "
                "%zu) and the others %.9g, bound %.3g",
                at.b, at.h, at.i, d, o[WHOLE], trials[FIRST].problem.kv_len, (double)merged,
                (double)allowed);
    }
    return true;
}

/* Sets the length of each sequence to the number of its keys that lie in the part. */
static void cut_lengths(const struct trial *whole, struct trial *part, size_t first)
{
    const struct attn_problem *p = &part->problem;
    for (size_t b = 0; p->options & ATTN_OPTION_RAGGED && b < p->batch; b++) {
        const size_t all = attn_sequence(&whole->problem, &whole->set.tensors, b).kv_len;
        const size_t left = all > first ? all - first : 0;
        ((int32_t *)part->set.tensors.kv_lens.data)[b] =
            (int32_t)(left < p->kv_len ? left : p->kv_len);
    }
}

/* Fills the part's operands: all queries, and the keys from number `first` on; the first part has the
 * sink. */
static void fill_part(const struct trial *whole, struct trial *part, size_t first)
{
    const struct attn_problem *p = &part->problem;
    const struct attn_tensors *from = &whole->set.tensors, *to = &part->set.tensors;
    invariant_copy_rows(&to->q, &from->q, p->batch, p->q_heads, p->q_len, p->qk_dim);
    cut_lengths(whole, part, first);
    properties_copy_keys(whole, part, first, false);
    for (size_t h = 0; p->options & ATTN_OPTION_SINKS && h < p->q_heads; h++)
        tensors_set(&to->sinks, 0, 0, 0, h,
                    first ? -INFINITY : tensors_get(&from->sinks, 0, 0, 0, h));
    tensors_seal(&part->set, p);
}

/* Removes options with which lengths also say how many rows or pages there are, so that a part can have
 * its own. */
static void let_split(struct attn_problem *p)
{
    properties_unplace(p);
    p->options &= ~(unsigned)ATTN_OPTION_PACKED;
    if (p->options & ATTN_OPTION_PAGED)
        p->options &= ~(unsigned)ATTN_OPTION_RAGGED;
}

bool merge_split(struct checker *checker, const struct attn_problem *small)
{
    struct trial trials[PARTS];
    bool right = true;
    struct attn_problem problem = *small;
    const size_t cut = small->kv_len / 3 + 1, first[PARTS] = {0, 0, cut};
    const size_t keys[PARTS] = {small->kv_len, cut, small->kv_len - cut};
    let_split(&problem);
    if (keys[SECOND] == 0)
        return true;
    problem.outputs |= ATTN_OUTPUT_O | ATTN_OUTPUT_LSE;
    size_t opened = 0;
    for (; right && opened < PARTS; opened += right) {
        problem.kv_len = keys[opened];
        right = properties_open_normal(&trials[opened], checker, "split and merged", &problem, 3,
                                       11, 0);
        if (right && opened)
            fill_part(&trials[WHOLE], &trials[opened], first[opened]);
    }
    for (size_t k = 0; right && k < PARTS; k++)
        right = trial_run(&trials[k]);
    if (right)
        properties_look(trials, PARTS, 3, is_merged, NULL);
    while (opened)
        trial_close(&trials[--opened]);
    return checker->result->ok;
}
