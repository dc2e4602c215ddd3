/*
 * judged_row: operands of a problem, and the reference's word on one row of it; for tests.
 *
 * Included after cmocka.h.
 */
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "reference.h"
#include "problem/tensors.h"

#define MOST 512 /* keys and dimensions at most */

struct judged {
    struct problem_case c;
    struct tensor_set set; /* normal input, seed 1, until changed */
    void *workspace;
    double o[MOST], bound[MOST], magnitude[MOST], weights[MOST], weights_bound[MOST];
    struct attn_reference_row row;
};

static inline struct judged *open_judged(const char *problem)
{
    struct judged *t = calloc(1, sizeof *t);
    struct parse_error error;
    char message[256];
    assert_non_null(t);
    if (!parse_problem(problem, &t->c.problem, &error))
        fail_msg("%s: %s", problem, error.message);
    t->c.input.seed = 1;
    const struct tensors_layout layout = {.guard = TENSORS_GUARD_BACK};
    assert_true(tensors_alloc(&t->set, &t->c.problem, &layout, MESSAGE(message)));
    assert_true(tensors_fill(&t->set, &t->c, 0, MESSAGE(message)));
    t->workspace = malloc(attn_reference_workspace(&t->c.problem));
    t->row = (struct attn_reference_row){
        .size = sizeof t->row,
        .o = t->o,
        .bound = t->bound,
        .magnitude = t->magnitude,
        .weights = t->weights,
        .weights_bound = t->weights_bound,
    };
    return t;
}

/* Two keys with logits 0 and x = log 3: weights 1/4 and 3/4, V = 1 and 5, so O = 4.  In each sequence
 * and head of a problem with sq=1,skv=2,d=1,scale=1. */
static inline struct judged *open_quarters(const char *options)
{
    char text[PARSE_TEXT];
    snprintf(text, sizeof text, "sq=1,skv=2,d=1,scale=1%s", options);
    struct judged *t = open_judged(text);
    const struct attn_problem *p = &t->c.problem;
    const struct attn_tensors *s = &t->set.tensors;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++) {
            tensors_set(&s->q, b, h, 0, 0, 1);
            for (size_t j = 0; j < 2; j++) {
                tensors_set(&s->k, b, h, j, 0, j ? log(3) : 0);
                tensors_set(&s->v, b, h, j, 0, j ? 5 : 1);
            }
        }
    return t;
}

static inline void close_judged(struct judged *t)
{
    tensors_free(&t->set);
    free(t->workspace);
    free(t);
}

/* Row (b, h, i) as a kernel that computes in f32 must have it. */
static inline void judge(struct judged *t, size_t b, size_t h, size_t i)
{
    attn_reference(&t->c.problem, &t->set.tensors, b, h, i, ATTN_F32, 0, t->workspace, &t->row);
}

static inline void assert_near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%.17g is not within %g of %.17g", got, tolerance, expected);
}
