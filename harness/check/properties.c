/*
 * properties: identities of attention, each within the sum of the bounds of the results in it.
 *
 * They need only the reference's bound, not its O, and so do not share a mistake in its O.
 */
#include "properties.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "problem/patterns.h"
#include "base/random.h"
#include "reference.h"

#define ROWS 128              /* looked at for each identity */
#define SHIFT 60.0            /* added to all scores of a query whose first element is 1 */
#define LARGEST_SHIFT 32768.0 /* of a key's element, so that f16 holds it */

bool check_bounds_open(struct check_bounds *bounds, const struct attn_problem *p)
{
    bounds->workspace = malloc(attn_reference_workspace(p));
    bounds->o = malloc(2 * p->v_dim * sizeof *bounds->o);
    bounds->bound = bounds->o ? bounds->o + p->v_dim : NULL;
    return bounds->workspace && bounds->o;
}

void check_bounds_close(struct check_bounds *bounds)
{
    free(bounds->workspace);
    free(bounds->o);
}

void check_bounds_of(struct check_bounds *bounds, const struct trial *t, struct tensors_place at)
{
    const struct attn_caps *caps = &t->checker->kernel->caps;
    struct attn_reference_row row = {.size = sizeof row, .o = bounds->o, .bound = bounds->bound};
    attn_reference(&t->problem, &t->set.tensors, at.b, at.h, at.i, caps->compute,
                   caps->bound_factor, bounds->workspace, &row);
    bounds->lse_bound = row.lse_bound;
}

/* ---- sums of results ----------------------------------------------------------------------- */

/* sum of factor * O over up to 3 trials of the same shape must be 0. */
struct term {
    struct trial trial;
    double factor;
};

static bool row_sums_to_zero(struct term *terms, size_t count, struct check_bounds *bounds,
                             size_t number)
{
    const struct tensors_place at =
        tensors_place(&terms[0].trial.problem, &terms[0].trial.set.tensors, number);
    for (size_t d = 0; d < terms[0].trial.problem.v_dim; d++) {
        double sum = 0, allowed = 0;
        for (size_t k = 0; k < count; k++) {
            const struct trial *t = &terms[k].trial;
            if (d == 0)
                check_bounds_of(&bounds[k], t, at);
            sum += terms[k].factor * tensors_get(&t->set.tensors.o, at.b, at.h, at.row, d);
            allowed += fabs(terms[k].factor) * bounds[k].bound[d];
        }
        if (!(fabs(sum) <= allowed))
            return check_fail(&terms[0].trial,
                              "row (b %zu, h %zu, i %zu) element %zu is off by %.3g, bound %.3g",
                              at.b, at.h, at.i, d, sum, allowed);
    }
    return true;
}

/* Runs the filled trials and looks at some rows. */
static bool sums_to_zero(struct term *terms, size_t count)
{
    const struct attn_problem *p = &terms[0].trial.problem;
    struct check_bounds bounds[3] = {{0}};
    size_t *rows = NULL;
    const size_t row_count = check_pick_rows(p, &terms[0].trial.set.tensors, 1, ROWS, 2, &rows);
    bool right = true, memory = rows;
    for (size_t k = 0; k < count; k++) {
        memory = check_bounds_open(&bounds[k], p) && memory;
        tensors_seal(&terms[k].trial.set, p);
        right = right && check_trial_run(&terms[k].trial);
    }
    if (right && !memory)
        right = check_fail(&terms[0].trial, "no memory for bounds");
    for (size_t n = 0; right && rows && n < row_count; n++)
        right = row_sums_to_zero(terms, count, bounds, rows[n]);
    for (size_t k = 0; k < count; k++)
        check_bounds_close(&bounds[k]);
    free(rows);
    return right;
}

/* ---- identities ---------------------------------------------------------------------------- */

/* Copies row `from` of an operand to row `to` of another trial's. */
static void copy_key(const struct attn_tensor *s, struct attn_tensor *t, size_t b, size_t g,
                     size_t from, size_t to, size_t n)
{
    for (size_t d = 0; d < n; d++)
        tensors_set(t, b, g, to, d, tensors_get(s, b, g, from, d));
}

/* The second trial has the first one's keys in reverse order, rotated. */
static void permute(struct term *terms)
{
    const struct attn_problem *p = &terms[0].trial.problem;
    struct attn_tensors *s = &terms[0].trial.set.tensors, *t = &terms[1].trial.set.tensors;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < p->kv_len; j++) {
                const size_t to = (2 * p->kv_len - 1 - j + p->kv_len / 3) % p->kv_len;
                copy_key(&s->k, &t->k, b, g, j, to, p->qk_dim);
                copy_key(&s->v, &t->v, b, g, j, to, p->v_dim);
            }
}

/* Dimension 0 of every key is 0 in the first trial and a constant in the second. */
static void shift(struct term *terms)
{
    const struct attn_problem *p = &terms[0].trial.problem;
    const double constant = fmin(SHIFT / fabs((double)attn_problem_scale(p)), LARGEST_SHIFT);
    for (int n = 0; n < 2; n++)
        for (size_t b = 0; b < p->batch; b++)
            for (size_t g = 0; g < p->kv_heads; g++)
                for (size_t j = 0; j < p->kv_len; j++)
                    tensors_set(&terms[n].trial.set.tensors.k, b, g, j, 0, n ? constant : 0);
}

/* O(V1) + O(V2) - O(V1 + V2): V of small multiples of 1/4, which every type holds exactly. */
static void add_values(struct term *terms)
{
    const struct attn_problem *p = &terms[0].trial.problem;
    const uint64_t key = random_key(p->kv_len, p->v_dim);
    uint64_t number = 0;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < p->kv_len; j++)
                for (size_t d = 0; d < p->v_dim; d++, number += 2) {
                    const double x = (double)random_below(key, number, 17) / 4 - 2;
                    const double y = (double)random_below(key, number + 1, 17) / 4 - 2;
                    tensors_set(&terms[0].trial.set.tensors.v, b, g, j, d, x);
                    tensors_set(&terms[1].trial.set.tensors.v, b, g, j, d, y);
                    tensors_set(&terms[2].trial.set.tensors.v, b, g, j, d, x + y);
                }
    terms[1].factor = 1;
}

static const struct identity {
    const char *phase;
    size_t trials;
    bool unmasked; /* holds only where every query sees every key */
    void (*arrange)(struct term *terms);
} identities[] = {
    {"keys permuted", 2, true, permute},
    {"scores shifted", 2, false, shift},
    {"v linear", 3, false, add_values},
};

/* All trials start from the same normal input; the last term has the factor -1. */
static bool check_identity(struct checker *checker, const struct identity *identity,
                           const struct attn_problem *problem)
{
    struct term terms[3] = {{.factor = 1}, {.factor = -1}, {.factor = -1}};
    size_t opened = 0;
    bool unsupported = false, right = true;
    const struct problem_case c = check_case_of(checker, problem);
    for (; right && opened < identity->trials; opened += right) {
        struct trial *trial = &terms[opened].trial;
        right = check_trial_open(trial, checker, identity->phase, &c, check_layout(2),
                                 CHECK_EVERY_COUNT, &unsupported);
        for (unsigned n = PATTERNS_Q; right && n <= PATTERNS_V; n++)
            patterns_normal(&trial->set, problem, n, random_key(7, n), 0, 1);
    }
    if (right) {
        identity->arrange(terms);
        right = sums_to_zero(terms, identity->trials);
    }
    while (opened)
        check_trial_close(&terms[--opened].trial);
    return right || unsupported;
}

void check_unmasked(struct attn_problem *problem)
{
    problem->mask &= ~(unsigned)(ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT);
    problem->options &= ~(unsigned)ATTN_OPTION_WINDOW;
}

bool check_identities(struct checker *checker, const struct attn_problem *small)
{
    for (size_t n = 0; check_is_plain(small) && n < sizeof identities / sizeof *identities; n++) {
        struct attn_problem problem = *small;
        problem.outputs |= ATTN_OUTPUT_O;
        if (identities[n].unmasked)
            check_unmasked(&problem);
        if (!check_identity(checker, &identities[n], &problem))
            return false;
    }
    return true;
}
