/*
 * precision: compares the RMS error with that of the plain naive kernel, in f32, or in f64 for problems in
 * f64.
 *
 * The bound of the reference is loose on well-behaved data: a kernel that keeps P in f16 passes it from
 * S=1024 on.  So the RMS error of sampled rows must be at most 8 times the yardstick's, which is the naive
 * kernel run on the same rows, each as a problem of its own: one query, the keys that it sees, no mask, and
 * where storage has 8 or 16 bits the same values widened to f32 (single.c).
 *
 * 16-bit storage: every kernel must round O to its type, and one that multiplies in bf16 must round P.  Both
 * errors are known: that of the rounded reference, and rho^2 sum p^2 v^2 with rho the RMS of a relative
 * rounding error.  They are therefore allowed 1.25 times instead of 8 times:
 *
 *     E^2 <= (8 naive)^2 + 1.25^2 (round_O^2 + round_P^2)
 *
 * The reported ratio is 8 E over the root of the right side, which for f32 is E / naive.  LSE, which has at
 * least 32 bits, follows the same rule: it shows errors that the rounding of O hides, such as a scale folded into
 * bf16 Q.
 *
 * Products of 16-bit numbers are exact in f32, and so are most of naive's sums of them.  A kernel that folds
 * the scale into Q in f32 has products of 24 bits, whose sums round as those of f32 storage do: where all
 * products are equal, addition d of D rounds a number of |s| d / D, which makes an RMS of RHO u |s| sqrt(D /
 * 3).  Naive's error of LSE counts as at least that for 16-bit storage.
 *
 * Where each value has a scale, weight * scale is rounded to bf16.  In rows that see a single key, or in which
 * one key's weight rounds to 1 in bf16, all elements, in all heads of the key, share one rounding, that of its
 * scale, and nothing averages out.  So for them the largest rounding, u, is allowed, which is 1 / RHO times
 * the RMS.
 *
 * With few rows these roundings, of weights and then of O, may be few in all, and larger than their RMS by
 * chance: the sum of n equal squares has a variance of 2 n for a mean of n.  FEW_LIMIT standard deviations above
 * the mean are allowed.
 *
 * With few rows, naive's error may be close to 0 by chance: with one row, an equally precise kernel exceeds 8
 * times it in 8 of 100 cases.  So it counts as at least its expected value, which is computed score by score.
 */
#include "trial.h"

#include <math.h>
#include <stdlib.h>

#include "row_view.h"

#define LIMIT 8.0
#define ROUNDING_LIMIT 1.25
#define ROWS 256 /* sampled at most; at least 64, however long they are */
#define FEW 64   /* rows: with fewer, naive's error counts as at least its expected value */

/* RMS of a relative rounding error in units of the unit roundoff u: the error is uniform within
 * half a spacing and numbers are spread evenly over logarithms, 2 u sqrt(3 / (8 log 2) / 12). */
#define RHO 0.4247

#define FEW_LIMIT 5.0 /* standard deviations */

/* Sums of squared errors: of the kernel; of naive; the least that counts as naive's (of rounding the exact value
 * once, or its sums; for few rows its expected error); and of roundings that no kernel can avoid. */
struct squares {
    double kernel, naive, best, rounding;
    double few, few_spread; /* expected roundings of few rows, and their variance */
    size_t count;
};
enum { SQUARES_O, SQUARES_LSE, SQUARES };

static double squared(double x)
{
    return x * x;
}

static double unit_roundoff(const struct attn_problem *p)
{
    return p->dtype == ATTN_F64 ? 0x1p-53 : 0x1p-24;
}

/* A thread's buffers. */
struct yardstick {
    const struct attn_kernel *naive;
    void *naive_workspace, *o_naive;
    struct single single;
    struct reference_row
        row;        /* its weights are those of the keys that it sees, one behind the other */
    bool few;       /* there are few rows */
    double *losses; /* for few rows: expected squared errors of those keys' scores */
};

/* The naive kernel's scratch for a row of any length, with every option that a single problem has. */
static size_t naive_bytes(const struct attn_kernel *naive, const struct attn_problem *p)
{
    struct attn_problem one = *p;
    one.batch = one.q_heads = one.kv_heads = one.q_len = 1;
    one.dtype = one.kv_dtype = attn_statistics_dtype(p);
    one.mask = p->mask & ATTN_MASK_BIAS || p->options & ATTN_OPTION_ALIBI ? ATTN_MASK_BIAS : 0;
    one.options = p->options & (ATTN_OPTION_SOFTCAP | ATTN_OPTION_SINKS);
    return (attn_workspace_size(naive, &one, 1) / ATTN_WORKSPACE_ALIGN + 1) * ATTN_WORKSPACE_ALIGN;
}

static bool yardstick_open(struct yardstick *y, const struct attn_problem *p)
{
    y->naive = attn_find("naive", ATTN_ISA_BASELINE);
    y->naive_workspace = aligned_alloc(ATTN_WORKSPACE_ALIGN, naive_bytes(y->naive, p));
    y->losses = malloc(p->kv_len * sizeof *y->losses);
    y->o_naive = malloc(p->v_dim * sizeof(double));
    return y->naive_workspace && y->losses && y->o_naive && single_open(&y->single, p) &&
           reference_row_open(&y->row, p, REFERENCE_WEIGHTS);
}

static void yardstick_close(struct yardstick *y)
{
    single_close(&y->single);
    free(y->naive_workspace);
    free(y->losses);
    free(y->o_naive);
    reference_row_close(&y->row);
}

/* Runs naive on the single problem: O into y->o_naive; returns its LSE. */
static double run_naive(struct yardstick *y, struct attn_tensor *o)
{
    const struct attn_problem *one = &y->single.problem;
    const ptrdiff_t dv = (ptrdiff_t)one->v_dim;
    struct attn_tensors tensors = y->single.tensors;
    struct attn_plan plan;
    const char *why;
    double room;
    *o = tensors.o = (struct attn_tensor){y->o_naive, one->dtype, {dv, dv, dv, 1}};
    tensors.lse = (struct attn_tensor){&room, one->dtype, {1, 1, 1, 1}};
    tensors_set(&tensors.lse, 0, 0, 0, 0, NAN);
    if (attn_plan_init(&plan, y->naive, one, 1, y->naive_workspace,
                       attn_workspace_size(y->naive, one, 1), &why)) {
        attn_execute(&plan, &tensors);
        attn_plan_destroy(&plan);
    }
    return tensors_get(&tensors.lse, 0, 0, 0, 0);
}

/* Whether values have scales of their own. */
static bool own_scales(const struct trial *trial)
{
    return attn_dtype_scaled(trial->problem.kv_dtype) && trial->set.tensors.v_scale.stride[2] != 0;
}

/* Whether values have scales of their own and the weight of one of the row's keys rounds to 1 in bf16. */
static bool one_rounding(const struct yardstick *y, const struct trial *trial)
{
    const double *weights = y->row.reference.weights;
    double largest = 0;
    if (!own_scales(trial))
        return false;
    for (size_t j = 0; j < y->single.problem.kv_len; j++)
        largest = fmax(largest, weights[j]);
    return largest > 1 - 0x1p-9;
}

/* Squared error of an element of O from rounding P to bf16; of LSE with v = 1. */
static double rounding_p(const struct yardstick *y, size_t d, bool lse)
{
    const double *weights = y->row.reference.weights;
    double sum = 0;
    for (size_t j = 0; j < y->single.problem.kv_len; j++) {
        const double x = lse ? 1 : tensors_get(&y->single.tensors.v, 0, 0, j, d);
        sum += weights[j] * weights[j] * x * x;
    }
    return RHO * RHO * 0x1p-16 * sum;
}

/* Adds the squared errors that roundings to bf16 are expected to make in a row of O, of weights, which may be
 * alike in the `rows` of a KV head, and then of elements, and how they spread: as if the v were random, so that the
 * errors of two weights have 1 / D of their squares in common. */
static void add_few(const struct yardstick *y, size_t rows, struct squares *sum)
{
    const struct attn_problem *one = &y->single.problem;
    const double unit = RHO * RHO * 0x1p-16;
    double all = 0, squares = 0;
    for (size_t j = 0; j < one->kv_len; j++) {
        double x = 0;
        for (size_t d = 0; d < one->v_dim; d++)
            x += squared(tensors_get(&y->single.tensors.v, 0, 0, j, d));
        x *= unit * squared(y->row.reference.weights[j]);
        all += x;
        squares += x * x;
    }
    sum->few_spread += 2 * (double)rows * (squares + all * all / (double)one->v_dim);
    for (size_t d = 0; d < one->v_dim; d++) {
        const double x = unit * squared(y->row.reference.o[d]);
        all += x;
        sum->few_spread += 2 * x * x;
    }
    sum->few += all;
}

/* Expected squared errors of scores, whose D products are rounded and added one by one. */
static void expect_losses(struct yardstick *y)
{
    const struct attn_problem *one = &y->single.problem;
    const double scale = (double)attn_problem_scale(one), unit = RHO * unit_roundoff(one) * scale;
    for (size_t j = 0; j < one->kv_len; j++) {
        double sum = 0, squares = 0;
        for (size_t d = 0; d < one->qk_dim; d++) {
            const double product = tensors_get(&y->single.tensors.q, 0, 0, 0, d) *
                                   tensors_get(&y->single.tensors.k, 0, 0, j, d);
            sum += product;
            squares += product * product + sum * sum;
        }
        const double capped =
            one->options & ATTN_OPTION_SOFTCAP ? tanh(scale * sum / (double)one->softcap) : 0;
        const double passed = unit * (1 - capped * capped);
        y->losses[j] = passed * passed * squares;
    }
}

/* Squared error of an element of O, or of LSE, from those of the scores. */
static double lost_by_scores(const struct yardstick *y, size_t d, bool lse)
{
    const double *weights = y->row.reference.weights, *o = y->row.reference.o;
    double sum = 0;
    for (size_t j = 0; y->few && j < y->single.problem.kv_len; j++) {
        const double x = lse ? 1 : tensors_get(&y->single.tensors.v, 0, 0, j, d) - o[d];
        sum += weights[j] * weights[j] * x * x * y->losses[j];
    }
    return sum;
}

/* x as an output type of 16 bits holds it. */
static double rounded(enum attn_dtype dtype, double x)
{
    return attn_dtype_size(dtype) == 2 ? tensors_rounded(dtype, x) : x;
}

static void add(struct squares *sum, double expected, double kernel, double naive, double best,
                double rounding)
{
    sum->kernel += (kernel - expected) * (kernel - expected);
    sum->naive += (naive - expected) * (naive - expected);
    sum->best += best;
    sum->rounding += rounding;
    sum->count++;
}

static void close_up(struct yardstick *y, const struct row_view *view)
{
    double *weights = y->row.reference.weights, *next = weights;
    for (ptrdiff_t j = view->range.lo; j < view->range.hi; j++)
        if (!row_view_hider(view, (size_t)j))
            *next++ = weights[j];
}

static void square(const struct trial *trial, struct yardstick *y, size_t number,
                   struct squares sums[SQUARES])
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    const struct tensors_place at = tensors_place(p, t, number);
    const struct row_view view = row_view_of(p, t, at);
    const bool bf16 = attn_compute(trial->checker->kernel, p) == ATTN_BF16;
    const bool short_products = attn_dtype_size(p->dtype) == 2 && p->qk_dim > 3;
    if (!single_gather(&y->single, &view))
        return;
    const struct attn_reference_row *row = &y->row.reference;
    reference_row_compute(&y->row, NULL, p, t, at);
    close_up(y, &view);
    if (y->few)
        expect_losses(y);
    struct attn_tensor o;
    const double unit = RHO * unit_roundoff(p), lse = run_naive(y, &o);
    const double common = one_rounding(y, trial) ? RHO * RHO : 1;
    for (size_t d = 0; p->outputs & ATTN_OUTPUT_O && d < p->v_dim; d++) {
        const double rounding = rounded(p->dtype, row->o[d]) - row->o[d];
        add(&sums[SQUARES_O], row->o[d], tensors_get(&t->o, at.b, at.h, at.row, d),
            tensors_get(&o, 0, 0, 0, d), squared(unit * row->o[d]) + lost_by_scores(y, d, false),
            rounding * rounding + (bf16 ? rounding_p(y, d, false) / common : 0));
    }
    if (y->few && bf16 && common == 1)
        add_few(y, own_scales(trial) ? p->q_heads / p->kv_heads * p->q_len : 1, &sums[SQUARES_O]);
    if (p->outputs & ATTN_OUTPUT_LSE)
        add(&sums[SQUARES_LSE], row->lse, tensors_get(&t->lse, at.b, at.h, at.row, 0), lse,
            squared(unit * row->lse) * (short_products ? (double)p->qk_dim / 3 : 1) +
                lost_by_scores(y, 0, true),
            bf16 ? rounding_p(y, 0, true) : 0);
}

static bool square_rows(const struct trial *trial, const size_t *rows, size_t count,
                        struct squares total[SQUARES])
{
    bool memory = true;
    const double work = (double)count * (double)trial->problem.kv_len;
#pragma omp parallel num_threads(trial->checker->threads) if (work > COMPARE_PARALLEL)
    {
        struct yardstick y = {.few = count < FEW};
        struct squares mine[SQUARES] = {{0}};
        const bool ready = yardstick_open(&y, &trial->problem);
#pragma omp for schedule(dynamic)
        for (size_t k = 0; k < count; k++)
            if (ready)
                square(trial, &y, rows[k], mine);
        yardstick_close(&y);
#pragma omp critical
        {
            memory = memory && ready;
            for (int n = 0; n < SQUARES; n++) {
                total[n].kernel += mine[n].kernel;
                total[n].naive += mine[n].naive;
                total[n].best += mine[n].best;
                total[n].rounding += mine[n].rounding;
                total[n].few += mine[n].few;
                total[n].few_spread += mine[n].few_spread;
                total[n].count += mine[n].count;
            }
        }
    }
    return memory;
}

/* Squares of few roundings beyond what ROUNDING_LIMIT allows. */
static double few_roundings(const struct squares *s)
{
    const double chance = s->few + FEW_LIMIT * sqrt(s->few_spread);
    return fmax(0, chance - squared(ROUNDING_LIMIT) * s->few);
}

static double ratio_of(const struct squares *s)
{
    const double allowed = squared(LIMIT) * fmax(s->naive, s->best) +
                           squared(ROUNDING_LIMIT) * s->rounding + few_roundings(s);
    return s->kernel == 0 ? 0 : LIMIT * sqrt(s->kernel / allowed);
}

bool precision_judge(struct trial *trial, double *ratio)
{
    const struct attn_problem *p = &trial->problem;
    const double factor = trial->checker->kernel->caps.bound_factor;
    const double limit = LIMIT * (factor > 0 ? factor : 1);
    const double row_flops = attn_useful_flops(p) / (double)(p->batch * p->q_heads * p->q_len);
    struct squares sums[SQUARES] = {{0}};
    size_t *rows;
    const size_t count = pick_rows(p, &trial->set.tensors, trial->checker->threads,
                                   row_flops * ROWS > 1e9 ? 64 : ROWS, 1, &rows);
    const bool memory = rows && square_rows(trial, rows, count, sums);
    free(rows);
    if (!memory)
        return failure_give_up(trial, "no memory for the yardstick");
    *ratio = ratio_of(&sums[SQUARES_O]);
    for (int n = 0; n < SQUARES; n++)
        if (!(ratio_of(&sums[n]) <= limit))
            return failure_found(
                trial,
                "RMS error of %s over %zu rows is %.3g, %.3g times that of the plain "
                "naive kernel (at most %g): less precision than claimed",
                n == SQUARES_O ? "o" : "lse", count, sqrt(sums[n].kernel / (double)sums[n].count),
                ratio_of(&sums[n]), limit);
    return true;
}
