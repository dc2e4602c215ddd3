/*
 * judged_compare: what the reference says of a judged problem, and results compared with it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "judged_problem.h"
#include "reference.h"

void judged_fill(struct judged_problem *t)
{
    const struct attn_problem *p = &t->c.problem;
    const bool weights = p->outputs & ATTN_OUTPUT_WEIGHTS;
    if (t->judged)
        return;
    void *workspace = malloc(attn_reference_workspace(p));
    assert_non_null(workspace);
    size_t r = 0;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < attn_sequence(p, &t->tensors, b).q_len; i++, r++) {
                struct attn_reference_row row = {
                    .size = sizeof row,
                    .o = t->o + r * p->v_dim,
                    .bound = t->bound + r * p->v_dim,
                    .magnitude = t->magnitude + r * p->v_dim,
                    .weights = weights ? t->weights + r * p->kv_len : NULL,
                    .weights_bound = weights ? t->weights_bound + r * p->kv_len : NULL,
                };
                attn_reference(p, &t->tensors, b, h, i, ATTN_F32, 0, workspace, &row);
                t->lse[r] = row.lse;
                t->lse_bound[r] = row.lse_bound;
            }
    free(workspace);
    t->judged = true;
}

struct place {
    const struct judged_problem *t;
    const char *tensor;
    size_t b, h, i, d;
};

static void compare(const struct place *at, double got, double expected, double bound)
{
    const bool right =
        isnan(expected) ? isnan(got) : got == expected || fabs(got - expected) <= bound;
    if (right)
        return;
    char text[PARSE_TEXT];
    parse_print_problem(&at->t->c.problem, text);
    fail_msg("%s (%zu, %zu, %zu, %zu) is %.17g, not within %.3g of %.17g: %s", at->tensor, at->b,
             at->h, at->i, at->d, got, bound, expected, text);
}

static double factor_of(const struct attn_kernel *kernel)
{
    return kernel->caps.bound_factor > 0 ? kernel->caps.bound_factor : 1;
}

double judged_bound_o(const struct judged_problem *t, const struct attn_kernel *kernel, size_t row,
                      size_t d)
{
    const struct attn_problem *p = &t->c.problem;
    const size_t e = row * p->v_dim + d;
    const bool bf16 = kernel->caps.compute == ATTN_BF16;
    return factor_of(kernel) *
           (t->bound[e] + (bf16 ? attn_reference_bf16_extra(p, t->magnitude[e]) : 0));
}

double judged_bound_lse(const struct judged_problem *t, const struct attn_kernel *kernel,
                        size_t row)
{
    const bool bf16 = kernel->caps.compute == ATTN_BF16;
    return factor_of(kernel) * (t->lse_bound[row] + (bf16 ? attn_reference_bf16_extra_lse() : 0));
}

static double bound_of_weight(const struct judged_problem *t, const struct attn_kernel *kernel,
                              size_t e)
{
    const bool bf16 = kernel->caps.compute == ATTN_BF16;
    return factor_of(kernel) * (t->weights_bound[e] + (bf16 ? 0x1p-8 * t->weights[e] : 0));
}

static void compare_row(struct judged_problem *t, const struct attn_kernel *kernel, size_t r,
                        struct place at)
{
    const struct attn_problem *p = &t->c.problem;
    const struct attn_tensors *s = &t->tensors;
    const size_t i = attn_sequence(p, s, at.b).q_first + at.i;
    at.tensor = "o";
    for (at.d = 0; t->outputs & ATTN_OUTPUT_O && at.d < p->v_dim; at.d++)
        compare(&at, tensors_get(&s->o, at.b, at.h, i, at.d), t->o[r * p->v_dim + at.d],
                judged_bound_o(t, kernel, r, at.d));
    at.tensor = "lse";
    at.d = 0;
    if (t->outputs & ATTN_OUTPUT_LSE)
        compare(&at, tensors_get(&s->lse, at.b, at.h, i, 0), t->lse[r],
                judged_bound_lse(t, kernel, r));
    at.tensor = "weights";
    for (at.d = 0; t->outputs & ATTN_OUTPUT_WEIGHTS && at.d < p->kv_len; at.d++) {
        const size_t e = r * p->kv_len + at.d;
        compare(&at, tensors_get(&s->weights, at.b, at.h, i, at.d), t->weights[e],
                bound_of_weight(t, kernel, e));
    }
}

void judged_compare(struct judged_problem *t, const struct attn_kernel *kernel)
{
    const struct attn_problem *p = &t->c.problem;
    struct place at = {.t = t};
    size_t r = 0;
    judged_fill(t);
    for (at.b = 0; at.b < p->batch; at.b++)
        for (at.h = 0; at.h < p->q_heads; at.h++)
            for (at.i = 0; at.i < attn_sequence(p, &t->tensors, at.b).q_len; at.i++)
                compare_row(t, kernel, r++, at);
}

double judged_rms_error(struct judged_problem *t)
{
    const struct attn_problem *p = &t->c.problem;
    double sum = 0;
    size_t e = 0;
    judged_fill(t);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < attn_sequence(p, &t->tensors, b).q_len; i++)
                for (size_t d = 0; d < p->v_dim; d++, e++) {
                    const size_t row = attn_sequence(p, &t->tensors, b).q_first + i;
                    const double error = tensors_get(&t->tensors.o, b, h, row, d) - t->o[e];
                    sum += error * error;
                }
    return sqrt(sum / (double)e);
}
