/*
 * properties: identities of attention, each within the sum of the bounds of the results in it.
 *
 * They need only the reference's bound, not its O, and so do not share a mistake in its O.
 */
#include "phases.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "problem/patterns.h"
#include "base/random.h"

#define ROWS 128              /* sampled for each identity */
#define SHIFT 60.0            /* added to all scores of a query whose first element is 1 */
#define LARGEST_SHIFT 32768.0 /* of a key's element, so that f16 holds it */

/* Computes reference and bounds of a row; false where a caveat of the kernel allows any result. */
static bool bounds_of(struct reference_row *row, const struct trial *t, struct tensors_place at)
{
    const struct attn_kernel *kernel = t->checker->kernel;
    reference_row_compute(row, kernel, &t->problem, &t->set.tensors, at);
    return !(kernel->caps.caveats & ATTN_CAVEAT_EMPTY_ROWS && row->reference.lse == -INFINITY);
}

bool properties_look(struct trial *trials, size_t count, uint64_t stream, properties_look_at *look,
                     const void *context)
{
    struct reference_row bounds[PROPERTIES_TRIALS] = {{.block = NULL}};
    size_t *rows = NULL;
    const size_t row_count =
        pick_rows(&trials[0].problem, &trials[0].set.tensors, 1, ROWS, stream, &rows);
    bool right = true, memory = rows;
    assert(count);
    for (size_t k = 0; k < count; k++)
        memory = reference_row_open(&bounds[k], &trials[k].problem, REFERENCE_BOUND) && memory;
    if (!memory)
        right = failure_give_up(&trials[0], "no memory for bounds");
    for (size_t n = 0; right && memory && n < row_count; n++) {
        const struct tensors_place at =
            tensors_place(&trials[0].problem, &trials[0].set.tensors, rows[n]);
        bool judged = true;
        for (size_t k = 0; judged && k < count; k++)
            judged = bounds_of(&bounds[k], &trials[k], at);
        right = !judged || look(trials, bounds, at, context);
    }
    for (size_t k = 0; k < count; k++)
        reference_row_close(&bounds[k]);
    free(rows);
    return right;
}

bool properties_open_normal(struct trial *trial, struct checker *checker, const char *phase,
                            const struct attn_problem *problem, unsigned layout, uint64_t key,
                            double mean)
{
    struct problem_case c = shrink_case(checker, problem);
    c.input.prefix_keys = 0;
    if (!trial_open(trial, checker, phase, &c, trial_layout(layout), TRIAL_EVERY_COUNT))
        return false;
    for (unsigned n = PATTERNS_Q; n <= PATTERNS_V; n++)
        patterns_normal(&trial->set, problem, n, random_key(key, n), n == PATTERNS_V ? mean : 0, 1);
    tensors_seal(&trial->set, problem);
    return true;
}

/* ---- identities ---------------------------------------------------------------------------- */

/* The one of n keys that becomes key j. */
static size_t source_of(size_t j, size_t n, size_t first, bool backwards)
{
    return (backwards ? first - j : first + j) % n;
}

/* Copies an operand's elements of a key. */
static void copy_elements(const struct trial *from, struct kv_place at, struct trial *to,
                          struct kv_place key, enum kv_operand operand)
{
    const struct attn_problem *p = &to->problem;
    const struct attn_tensors *s = &from->set.tensors, *t = &to->set.tensors;
    const size_t n = operand == KV_K ? p->qk_dim : p->v_dim;
    for (size_t d = 0; d < n; d++) {
        if (attn_dtype_scaled(p->kv_dtype))
            *kv_scale(p, t, operand, key, d) = *kv_scale(&from->problem, s, operand, at, d);
        if (kv_zero(p, t, operand, key, d))
            *kv_zero(p, t, operand, key, d) = *kv_zero(&from->problem, s, operand, at, d);
        kv_set(p, t, operand, key, d, kv_get(&from->problem, s, operand, at, d));
    }
}

/* Columns of a boolean mask or a bias, of which each row has n in `from`. */
static void copy_columns(const struct attn_tensor *from, size_t n, const struct attn_tensor *to,
                         const size_t dims[4], size_t first, bool backwards)
{
    for (size_t b = 0; b < dims[0]; b++)
        for (size_t h = 0; h < dims[1]; h++)
            for (size_t i = 0; i < dims[2]; i++)
                for (size_t j = 0; j < dims[3]; j++)
                    tensors_set(to, b, h, i, j,
                                tensors_get(from, b, h, i, source_of(j, n, first, backwards)));
}

void properties_copy_keys(const struct trial *from, struct trial *to, size_t first, bool backwards)
{
    const struct attn_problem *p = &to->problem;
    const struct attn_tensors *s = &from->set.tensors, *t = &to->set.tensors;
    const size_t n = from->problem.kv_len;
    for (struct kv_place at = {0}; kv_reaches(p, t, &at); at.j++) {
        const struct kv_place source = {at.b, at.g, source_of(at.j, n, first, backwards)};
        copy_elements(from, source, to, at, KV_K);
        copy_elements(from, source, to, at, KV_V);
    }
    if (p->mask & ATTN_MASK_BOOL)
        copy_columns(&s->mask, n, &t->mask, to->set.shape.mask, first, backwards);
    if (p->mask & ATTN_MASK_BIAS)
        copy_columns(&s->bias, n, &t->bias, to->set.shape.bias, first, backwards);
}

/* Keys reversed and rotated. */
static void permute(struct trial *trials)
{
    const size_t n = trials[0].problem.kv_len;
    properties_copy_keys(&trials[0], &trials[1], n - 1 + n / 3, true);
}

static void set_in(struct trial *trial, enum kv_operand operand, struct kv_place at, size_t d,
                   double x)
{
    kv_set(&trial->problem, &trial->set.tensors, operand, at, d, x);
}

/* Dimension 0 of every key is 0 in the first trial and a constant in the second. */
static void shift(struct trial *trials)
{
    const struct attn_problem *p = &trials[0].problem;
    const double constant = fmin(SHIFT / fabs((double)attn_problem_scale(p)), LARGEST_SHIFT);
    for (struct kv_place at = {0}; kv_reaches(p, &trials[0].set.tensors, &at); at.j++) {
        set_in(&trials[0], KV_K, at, 0, 0);
        set_in(&trials[1], KV_K, at, 0, constant);
    }
}

/* O(V1) + O(V2) - O(V1 + V2): V of small multiples of 1/4, which every type holds exactly, and their sum (f8e5m2
 * up to eight of them, i4 seven). */
static void add_values(struct trial *trials)
{
    const struct attn_problem *p = &trials[0].problem;
    const uint64_t key = random_key(p->kv_len, p->v_dim);
    const unsigned most = p->kv_dtype == ATTN_F8E5M2 ? 4 : p->kv_dtype == ATTN_I4 ? 3 : 8;
    uint64_t number = 0;
    for (struct kv_place at = {0}; kv_reaches(p, &trials[0].set.tensors, &at); at.j++) {
        for (int n = 0; attn_dtype_scaled(p->kv_dtype) && n < 3; n++)
            kv_rescale(p, &trials[n].set.tensors, KV_V, at, 0.25F);
        for (size_t d = 0; d < p->v_dim; d++) {
            const double x = ((double)random_below(key, number++, 2 * most + 1) - most) / 4;
            const double y = ((double)random_below(key, number++, 2 * most + 1) - most) / 4;
            set_in(&trials[0], KV_V, at, d, x);
            set_in(&trials[1], KV_V, at, d, y);
            set_in(&trials[2], KV_V, at, d, x + y);
        }
    }
}

static void unplace(struct attn_problem *p)
{
    properties_unplace(p);
    /* A mask that all sequences share can be permuted in one way only. */
    p->options &= ~(unsigned)(ATTN_OPTION_RAGGED | ATTN_OPTION_PACKED);
}

/* Removes what a constant added to every score would change: a softcap, a sink, a V that is part of K; and
 * 8-bit types, which cannot hold every constant. */
static void let_shift(struct attn_problem *p)
{
    p->options &= ~(unsigned)(ATTN_OPTION_SOFTCAP | ATTN_OPTION_SINKS | ATTN_OPTION_SHARED_KV);
    kv_set_type(p, p->dtype);
}

static void part_values(struct attn_problem *p)
{
    p->options &= ~(unsigned)ATTN_OPTION_SHARED_KV; /* changing V would change K */
}

static const struct identity {
    const char *phase;
    size_t trials;
    void (*leave_out)(struct attn_problem *p); /* removes options with which it does not hold */
    void (*arrange)(struct trial *trials);
    double factors[PROPERTIES_TRIALS]; /* the O of the trials times these add up to 0 */
} identities[] = {
    {"keys permuted", 2, unplace, permute, {1, -1}},
    {"scores shifted", 2, let_shift, shift, {1, -1}},
    {"v linear", 3, part_values, add_values, {1, 1, -1}},
};

static bool sums_to_zero(struct trial *trials, const struct reference_row *bounds,
                         struct tensors_place at, const void *context)
{
    const struct identity *identity = context;
    for (size_t d = 0; d < trials[0].problem.v_dim; d++) {
        double sum = 0, allowed = 0;
        for (size_t k = 0; k < identity->trials; k++) {
            sum +=
                identity->factors[k] * tensors_get(&trials[k].set.tensors.o, at.b, at.h, at.row, d);
            allowed += fabs(identity->factors[k]) * bounds[k].reference.bound[d];
        }
        if (!(fabs(sum) <= allowed))
            return failure_found(&trials[0],
                                 "row (b %zu, h %zu, i %zu) element %zu is off by %.3g, bound %.3g",
                                 at.b, at.h, at.i, d, sum, allowed);
    }
    return true;
}

/* All trials start from the same normal input. */
static bool check_identity(struct checker *checker, const struct identity *identity,
                           const struct attn_problem *problem)
{
    struct trial trials[PROPERTIES_TRIALS];
    size_t opened = 0;
    bool right = true;
    for (; right && opened < identity->trials; opened += right)
        right = properties_open_normal(&trials[opened], checker, identity->phase, problem, 2, 7, 0);
    if (right)
        identity->arrange(trials);
    for (size_t k = 0; right && k < opened; k++) {
        tensors_seal(&trials[k].set, problem);
        right = trial_run(&trials[k]);
    }
    if (right)
        properties_look(trials, identity->trials, 2, sums_to_zero, identity);
    while (opened)
        trial_close(&trials[--opened]);
    return checker->result->ok;
}

void properties_unplace(struct attn_problem *problem)
{
    problem->mask &= ~(unsigned)(ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT | ATTN_MASK_TREE);
    parse_change("window=-1,alibi=0,keys=all", problem);
}

bool properties_run(struct checker *checker, const struct attn_problem *small)
{
    for (size_t n = 0; n < sizeof identities / sizeof *identities; n++) {
        struct attn_problem problem = *small;
        problem.outputs |= ATTN_OUTPUT_O;
        identities[n].leave_out(&problem);
        if (!check_identity(checker, &identities[n], &problem))
            return false;
    }
    return true;
}
