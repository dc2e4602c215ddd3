/*
 * adversary_sums: the smallest and the largest sums of weights, to test the logarithm in LSE.
 *
 * O does not show a wrong logarithm, and on ordinary rows the sum lies between 10 and 1000.  (Sums that are
 * large because the maximum is updated late are tested by adversary_rises.c.)
 */
#include "adversary_inputs.h"

/* ---- one, and little more ------------------------------------------------------------------- */

#define FEW_KEYS 6
#define SUM_ROWS 128

/* One key has a score of exactly 0, as its K is 0, so that LSE is the logarithm alone; the others add from
 * 0.1 down to 1e-7 (f64: 1e-16) each to the sum. */
double adversary_sums_beside_one(const void *context, struct kv_place at)
{
    const struct trial *trial = context;
    const size_t top = at.b % 2 ? trial->problem.kv_len - 1 : 0;
    const double unit = adversary_unit(trial, at);
    const double most = trial->problem.dtype == ATTN_F64 ? 34 : 13.8;
    return at.j == top ? 0 : -2.3 - most * unit;
}

/* Few keys, so that the sum is rounded few times; many rows, so that their RMS error is a good estimate. */
bool adversary_sums_few_keys(struct problem_case *c)
{
    struct attn_problem *p = &c->problem;
    p->q_len = p->q_len > 4 ? 4 : p->q_len;
    p->batch = SUM_ROWS / p->q_len;
    p->kv_len = FEW_KEYS;
    return true;
}

/* ---- more than a 16-bit number holds ---------------------------------------------------------- */

#define MANY_KEYS 70001

/* Two rows of few dimensions, which is all that the sum needs.  Not where keys are hidden or their weights
 * differ: the sum would be smaller. */
bool adversary_sums_many_keys(struct problem_case *c)
{
    struct attn_problem *p = &c->problem;
    p->batch = p->kv_heads = p->q_len = 1;
    p->q_heads = 2;
    p->kv_len = MANY_KEYS;
    p->qk_dim = p->qk_dim > 4 ? 4 : p->qk_dim;
    p->v_dim = p->v_dim > p->qk_dim ? p->qk_dim : p->v_dim;
    return !p->mask && !p->options;
}
