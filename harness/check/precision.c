/*
 * precision: the RMS error beside that of the plain f32 naive kernel.
 *
 * The bound of the reference is loose on well-behaved data: a kernel that keeps P in f16 passes it
 * from S=1024 on.  So the RMS error of sampled rows must be at most 8 times the yardstick's, which
 * is the naive kernel run on the same rows, each as a problem of its own: one query, the keys that
 * it sees, no mask, and where storage has 16 bits the same values widened to f32.
 *
 * 16-bit storage: no kernel can avoid rounding O to its type, and one that multiplies in bf16
 * cannot avoid rounding P.  Both errors are known (the reference rounded; rho^2 sum p^2 v^2 with
 * rho the RMS of a relative rounding error), so they are allowed 1.25 times instead of 8 times.
 * They dominate, so a kernel may lose little beyond them:
 *
 *     E^2 <= (8 naive)^2 + 1.25^2 (round_O^2 + round_P^2)
 *
 * and the ratio that is reported is 8 E over the root of the right side, which for f32 is
 * E / naive.  LSE, which is f32 whatever the storage, is held to the same rule: it shows what the
 * rounding of O hides, such as a scale that was folded into bf16 Q.
 */
#include "precision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "reference.h"

#define LIMIT 8.0
#define ROUNDING_LIMIT 1.25
#define ROWS 256 /* at most; at least 64 however long they are */
#define U 0x1p-24

/* (row, key) pairs below which waking other threads costs more than they save. */
#define WORTH_THREADS 20000

/* RMS of a relative rounding error in units of the unit roundoff u: the error is uniform within
 * half a spacing and numbers are spread evenly over logarithms, 2 u sqrt(3 / (8 log 2) / 12). */
#define RHO 0.4247

/* Sums of squared errors: of the kernel, of naive, of the best that f32 could do (rounding the
 * exact value once; naive is not counted below that), of roundings that no kernel can avoid. */
struct squares {
    double kernel, naive, best, rounding;
    size_t count;
};
enum { SQUARES_O, SQUARES_LSE, SQUARES };

/* What a thread needs; the first pointer owns the block. */
struct yardstick {
    const struct attn_kernel *naive;
    void *workspace, *naive_workspace;
    double *o, *weights;
    float *q, *k, *v, *o_naive;
};

/* The naive kernel's problem of one query and `keys` keys. */
static struct attn_problem single(const struct attn_problem *p, size_t keys)
{
    struct attn_problem one;
    attn_problem_init(&one);
    one.kv_len = keys;
    one.qk_dim = p->qk_dim;
    one.v_dim = p->v_dim;
    one.scale = attn_problem_scale(p);
    one.outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE;
    return one;
}

static bool yardstick_open(struct yardstick *y, const struct attn_problem *p)
{
    const struct attn_problem one = single(p, p->kv_len);
    y->naive = attn_find("naive", ATTN_ISA_BASELINE);
    const size_t align = ATTN_WORKSPACE_ALIGN;
    const size_t bytes = attn_workspace_size(y->naive, &one, 1) + align;
    y->naive_workspace = aligned_alloc(align, (bytes + align - 1) / align * align);
    y->workspace = malloc(attn_reference_workspace(p));
    y->o = malloc((p->v_dim + p->kv_len) * sizeof *y->o);
    y->q = malloc((p->qk_dim + p->v_dim + p->kv_len * (p->qk_dim + p->v_dim)) * sizeof *y->q);
    if (!y->naive_workspace || !y->workspace || !y->o || !y->q)
        return false;
    y->weights = y->o + p->v_dim;
    y->o_naive = y->q + p->qk_dim;
    y->k = y->o_naive + p->v_dim;
    y->v = y->k + p->kv_len * p->qk_dim;
    return true;
}

static void yardstick_close(struct yardstick *y)
{
    free(y->naive_workspace);
    free(y->workspace);
    free(y->o);
    free(y->q);
}

/* Rows [lo, hi) of a head as dense f32. */
static void widen(const struct attn_tensor *t, size_t b, size_t h, size_t lo, size_t hi, size_t n,
                  float *to)
{
    for (size_t j = lo; j < hi; j++, to += n) {
        const void *row = attn_row(t, b, h, j);
        const uint16_t *half = row;
        if (t->dtype == ATTN_F32)
            memcpy(to, row, n * sizeof *to);
        for (size_t d = 0; t->dtype != ATTN_F32 && d < n; d++)
            to[d] = t->dtype == ATTN_BF16 ? attn_bf16_to_f32(half[d]) : attn_f16_to_f32(half[d]);
    }
}

/* Runs naive on one row of the trial; returns its LSE. */
static double run_naive(struct yardstick *y, const struct attn_problem *p,
                        const struct attn_tensors *t, struct tensors_place at,
                        struct attn_range seen)
{
    const size_t keys = (size_t)(seen.hi - seen.lo), g = attn_kv_head(p, at.h);
    const struct attn_problem one = single(p, keys);
    struct attn_plan plan;
    const char *why;
    float lse = NAN;
    widen(&t->q, at.b, at.h, at.i, at.i + 1, p->qk_dim, y->q);
    widen(&t->k, at.b, g, (size_t)seen.lo, (size_t)seen.hi, p->qk_dim, y->k);
    widen(&t->v, at.b, g, (size_t)seen.lo, (size_t)seen.hi, p->v_dim, y->v);
    const ptrdiff_t d = (ptrdiff_t)p->qk_dim, dv = (ptrdiff_t)p->v_dim;
    const struct attn_tensors tensors = {
        .size = sizeof tensors,
        .q = {y->q, ATTN_F32, {d, d, d, 1}},
        .k = {y->k, ATTN_F32, {0, 0, d, 1}},
        .v = {y->v, ATTN_F32, {0, 0, dv, 1}},
        .o = {y->o_naive, ATTN_F32, {dv, dv, dv, 1}},
        .lse = {&lse, ATTN_F32, {1, 1, 1, 1}},
    };
    if (attn_plan_init(&plan, y->naive, &one, 1, y->naive_workspace,
                       attn_workspace_size(y->naive, &one, 1), &why)) {
        attn_execute(&plan, &tensors);
        attn_plan_destroy(&plan);
    }
    return (double)lse;
}

/* What rounding P to bf16 does to an element of O, squared; LSE: v = 1. */
static double rounding_p(const struct yardstick *y, const struct attn_problem *p,
                         struct attn_range seen, size_t d, bool lse)
{
    double sum = 0;
    for (ptrdiff_t j = seen.lo; j < seen.hi; j++) {
        const double v = lse ? 1 : (double)y->v[(size_t)(j - seen.lo) * p->v_dim + d];
        sum += y->weights[j] * y->weights[j] * v * v;
    }
    return RHO * RHO * 0x1p-16 * sum;
}

/* x as the output type holds it. */
static double rounded(enum attn_dtype dtype, double x)
{
    return dtype == ATTN_BF16  ? (double)attn_bf16_to_f32(attn_f32_to_bf16((float)x))
           : dtype == ATTN_F16 ? (double)attn_f16_to_f32(attn_f32_to_f16((float)x))
                               : x;
}

static void add(struct squares *sum, double expected, double kernel, double naive, double rounding)
{
    sum->kernel += (kernel - expected) * (kernel - expected);
    sum->naive += (naive - expected) * (naive - expected);
    sum->best += RHO * U * expected * RHO * U * expected;
    sum->rounding += rounding;
    sum->count++;
}

static void square(const struct trial *trial, struct yardstick *y, size_t number,
                   struct squares sums[SQUARES])
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    const struct tensors_place at = tensors_place(p, t, number);
    const struct attn_range seen = attn_visible(p, (ptrdiff_t)at.i);
    const bool bf16 = trial->checker->kernel->caps.compute == ATTN_BF16;
    if (seen.lo == seen.hi)
        return;
    struct attn_reference_row row = {.size = sizeof row, .o = y->o, .weights = y->weights};
    attn_reference(p, t, at.b, at.h, at.i, ATTN_F32, 0, y->workspace, &row);
    const double lse = run_naive(y, p, t, at, seen);
    for (size_t d = 0; p->outputs & ATTN_OUTPUT_O && d < p->v_dim; d++) {
        const double rounding = rounded(p->dtype, row.o[d]) - row.o[d];
        add(&sums[SQUARES_O], row.o[d], tensors_get(&t->o, at.b, at.h, at.row, d),
            (double)y->o_naive[d],
            rounding * rounding + (bf16 ? rounding_p(y, p, seen, d, false) : 0));
    }
    if (p->outputs & ATTN_OUTPUT_LSE)
        add(&sums[SQUARES_LSE], row.lse, tensors_get(&t->lse, at.b, at.h, at.row, 0), lse,
            bf16 ? rounding_p(y, p, seen, 0, true) : 0);
}

static bool square_rows(const struct trial *trial, const size_t *rows, size_t count,
                        struct squares total[SQUARES])
{
    bool memory = true;
    const double work = (double)count * (double)trial->problem.kv_len;
#pragma omp parallel num_threads(trial->checker->threads) if (work > WORTH_THREADS)
    {
        struct yardstick y = {0};
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
                total[n].count += mine[n].count;
            }
        }
    }
    return memory;
}

static double ratio(const struct squares *s)
{
    const double allowed =
        LIMIT * LIMIT * fmax(s->naive, s->best) + ROUNDING_LIMIT * ROUNDING_LIMIT * s->rounding;
    return s->kernel == 0 ? 0 : LIMIT * sqrt(s->kernel / allowed);
}

bool check_precision(struct trial *trial)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_caps *caps = &trial->checker->kernel->caps;
    const double limit = LIMIT * (caps->bound_factor > 0 ? caps->bound_factor : 1);
    const double row_flops = attn_useful_flops(p) / (double)(p->batch * p->q_heads * p->q_len);
    struct squares sums[SQUARES] = {{0}};
    size_t *rows;
    const size_t count = check_pick_rows(p, &trial->set.tensors, trial->checker->threads,
                                         row_flops * ROWS > 1e9 ? 64 : ROWS, 1, &rows);
    const bool memory = rows && square_rows(trial, rows, count, sums);
    free(rows);
    if (!memory)
        return check_fail(trial, "no memory for the yardstick");
    struct check_result *result = trial->checker->result;
    result->rms_ratio = fmax(result->rms_ratio, ratio(&sums[SQUARES_O]));
    for (int n = 0; n < SQUARES; n++)
        if (!(ratio(&sums[n]) <= limit))
            return check_fail(trial,
                              "RMS error of %s over %zu rows is %.3g, %.3g times that of the plain "
                              "f32 naive kernel (at most %g): less precision than claimed",
                              n == SQUARES_O ? "o" : "lse", count,
                              sqrt(sums[n].kernel / (double)sums[n].count), ratio(&sums[n]), limit);
    return true;
}
