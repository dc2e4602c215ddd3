/*
 * reference: one row of attention in float64, and the largest error that a correct kernel can
 * have there.
 *
 * Plain loops, so that they can be seen to be right; compiled once per ISA because a full check
 * spends its time here (reference_isa.c picks).  Every product of two f32 is exact in float64 and
 * sums of Skv terms lose at most Skv 2^-53, so that its own error is invisible beside the bound.
 *
 * The bound, with u = 2^-24, x_j the scaled scores, p_j the weights, m = max_j x_j, O = sum p_j v_j
 * and g(n) u the error of a sum of n terms relative to the sum of their magnitudes:
 *
 *   score      x_j is off by at most delta_j = (g(D) + 4u) (s_rj + m - x_j): the dot product (its
 *              magnitude s_rj = |scale| sum_d |q_d k_jd|), the scale and log2(e) folded in
 *              somewhere, the subtraction of the maximum and the product in front of exp2.
 *   softmax    to first order dO = sum_j p_j delta_j (v_j - O), hence sum_j p_j delta_j |v_j - O|.
 *   sums       of l and of P V: g(Skv) each; exp c_exp u in numerator and denominator; P rounded
 *              to bf16 u_p; all relative to sum_j p_j |v_j|.
 *   output     u_out |O|, where |O| counts at least as the smallest normal number of the type.
 *   underflow  a weight below 2^-126 may become 0: Skv 2^-126 max |v|.  A product or sum below
 *              2^-126 is off by half the smallest subnormal, 2^-150; bf16 dot products flush it
 *              to 0 and read subnormal operands as 0 (Intel SDM, VDPBF16PS): eta = 2^-126.  There
 *              are Skv products, sums and rescalings each and a division: (3 Skv + 1) eta.
 *
 *   LSE        dLSE = sum_j p_j delta_j + (the sum l: g(Skv) + c_exp u + u_p) + 4u (|m| + |log l|)
 *              (m and log2 l times ln 2, the logarithm itself) + u |LSE| + Skv 2^-126.
 *   weight j   p_j (delta_j + sum_k p_k delta_k + g(Skv) + 2 c_exp u + 2u + u_p) + 2^-126.
 *
 * g(n) = min(n, 6 sqrt(2n)) u: rounding errors of different sign cancel as a random walk does, of
 * which 6 standard deviations are allowed; n u, the worst case, for tied rows.  A row is tied where
 * keys holding half of the weight have a neighbour (or a rival for the maximum) within n u of their
 * own score: their roundings repeat and have one sign.
 */
#include <math.h>

#include "element.h"
#include "reference.h"

#define U 0x1p-24 /* unit roundoff of f32 */
#define C_EXP 8.0
#define SMALLEST_NORMAL 0x1p-126

/* One external symbol per object, as kernels have. */
void ATTN_REFERENCE(const struct attn_problem *, const struct attn_tensors *, size_t, size_t,
                    size_t, enum attn_dtype, double, void *, struct attn_reference_row *);

/* Half the spacing of the output type relative to its value, and its smallest normal number. */
static const struct {
    double unit_roundoff, smallest_normal;
} types[ATTN_DTYPE_COUNT] = {
    [ATTN_F32] = {0x1p-24, 0x1p-126},
    [ATTN_BF16] = {0x1p-8, 0x1p-126},
    [ATTN_F16] = {0x1p-11, 0x1p-14},
};

/* A row's keys and what is known of them; arrays are indexed by key, [lo, hi) is in use. */
struct keys {
    ptrdiff_t lo, hi;
    double *x;       /* scaled score */
    double *p;       /* weight */
    double *delta;   /* how far x may be off, first s_rj */
    double m, l;     /* maximum, sum of exp(x - m) */
    double mean_off; /* sum_j p_j delta_j */
    double g_keys;   /* g(Skv) */
};

/* Elements [at, at + n) of row (b, h, i) as float: where they are, or widened into buffer. */
static const float *row_f32(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t at,
                            size_t n, float *buffer)
{
    if (t->dtype == ATTN_F32)
        return (const float *)attn_row(t, b, h, i) + at;
    const uint16_t *row = (const uint16_t *)attn_row(t, b, h, i) + at;
    if (t->dtype == ATTN_BF16)
        for (size_t d = 0; d < n; d++)
            buffer[d] = attn_bf16_to_f32(row[d]);
    else
        for (size_t d = 0; d < n; d++)
            buffer[d] = attn_f16_to_f32(row[d]);
    return buffer;
}

static double dot(const double *q, const float *k, size_t n, double *magnitude)
{
    double sum = 0, absolute = 0;
#pragma omp simd reduction(+ : sum, absolute)
    for (size_t d = 0; d < n; d++) {
        const double product = q[d] * (double)k[d];
        sum += product;
        absolute += fabs(product);
    }
    *magnitude = absolute;
    return sum;
}

/* Scores, their magnitudes (in delta) and their maximum; a NaN score makes every weight NaN.  Where
 * every score is -inf no key has any weight: the row is one that sees no key, as if by the mask. */
static void scores(const struct attn_problem *problem, const struct attn_tensors *t, size_t b,
                   size_t g, const double *q, float *buffer, struct keys *keys)
{
    const double scale = (double)attn_problem_scale(problem);
    bool weighty = false;
    keys->m = -INFINITY;
    for (ptrdiff_t j = keys->lo; j < keys->hi; j++) {
        const float *k = row_f32(&t->k, b, g, (size_t)j, 0, problem->qk_dim, buffer);
        double magnitude;
        const double x = scale * dot(q, k, problem->qk_dim, &magnitude);
        keys->x[j] = x;
        keys->delta[j] = fabs(scale) * magnitude;
        keys->m = x > keys->m ? x : keys->m;
        weighty |= x != -INFINITY;
    }
    if (!weighty)
        keys->hi = keys->lo;
}

static bool tied(const struct keys *keys)
{
    const double near = (double)(keys->hi - keys->lo) * U;
    double weight = 0, top = 0;
    ptrdiff_t rivals = 0;
    for (ptrdiff_t j = keys->lo; j < keys->hi; j++) {
        const double x = keys->x[j];
        if (keys->m - x <= near) {
            rivals++;
            top += keys->p[j];
        } else if ((j > keys->lo && fabs(x - keys->x[j - 1]) <= near) ||
                   (j + 1 < keys->hi && fabs(x - keys->x[j + 1]) <= near)) {
            weight += keys->p[j];
        }
    }
    return weight + (rivals > 1 ? top : 0) >= 0.5;
}

/* g(n) of the header comment. */
static double growth(size_t n, bool aligned)
{
    const double walk = 6 * sqrt(2 * (double)n);
    return (aligned || walk > (double)n ? (double)n : walk) * U;
}

/* Weights from scores; then delta and the growth factors, which need to know of ties. */
static void softmax(const struct attn_problem *problem, struct keys *keys)
{
    double l = 0;
    for (ptrdiff_t j = keys->lo; j < keys->hi; j++)
        l += keys->p[j] = exp(keys->x[j] - keys->m);
    keys->l = l;
    for (ptrdiff_t j = keys->lo; j < keys->hi; j++)
        keys->p[j] /= l;

    const bool aligned = tied(keys);
    const double per_score = growth(problem->qk_dim, aligned) + 4 * U;
    keys->g_keys = growth((size_t)(keys->hi - keys->lo), aligned);
    keys->mean_off = 0;
    for (ptrdiff_t j = keys->lo; j < keys->hi; j++) {
        keys->delta[j] = per_score * (keys->delta[j] + keys->m - keys->x[j]);
        if (keys->p[j] > 0)
            keys->mean_off += keys->p[j] * keys->delta[j];
    }
}

#define CHUNK 32 /* elements of the output kept in registers at a time */

/* Sums over the keys of the output elements [at, at + n), n <= CHUNK. */
struct sums {
    double o[CHUNK];         /* p v */
    double magnitude[CHUNK]; /* p |v| */
    double off[CHUNK];       /* p delta |v - O| */
    double largest[CHUNK];   /* max |v| */
};

/* n is CHUNK wherever it can be, which the compiler is told by calling with the constant. */
static inline __attribute__((always_inline)) void
sum_elements(const struct attn_tensor *v, size_t b, size_t g, const struct keys *keys, size_t at,
             size_t n, float *buffer, struct sums *s)
{
    double o[CHUNK] = {0}, magnitude[CHUNK] = {0}, off[CHUNK] = {0}, largest[CHUNK] = {0};
    for (ptrdiff_t j = keys->lo; j < keys->hi; j++) {
        const float *row = row_f32(v, b, g, (size_t)j, at, n, buffer);
        const double p = keys->p[j];
        for (size_t d = 0; d < n; d++)
            o[d] += p * (double)row[d];
    }
    for (ptrdiff_t j = keys->lo; j < keys->hi; j++) {
        const float *row = row_f32(v, b, g, (size_t)j, at, n, buffer);
        const double p = keys->p[j], p_delta = p > 0 ? p * keys->delta[j] : 0;
        for (size_t d = 0; d < n; d++) {
            const double x = (double)row[d], size = fabs(x);
            magnitude[d] += p * size;
            off[d] += p_delta * fabs(x - o[d]);
            largest[d] = size > largest[d] ? size : largest[d];
        }
    }
    for (size_t d = 0; d < n; d++) {
        s->o[d] = o[d];
        s->magnitude[d] = magnitude[d];
        s->off[d] = off[d];
        s->largest[d] = largest[d];
    }
}

static void elements(const struct attn_problem *problem, const struct attn_tensors *t, size_t b,
                     size_t g, const struct keys *keys, double factor, bool bf16, float *buffer,
                     struct attn_reference_row *row)
{
    const double n_keys = (double)(keys->hi - keys->lo);
    const double relative = 2 * keys->g_keys + 2 * C_EXP * U;
    const double u_out = types[problem->dtype].unit_roundoff;
    const double normal = types[problem->dtype].smallest_normal;
    struct sums s;
    for (size_t at = 0; at < problem->v_dim; at += CHUNK) {
        const size_t n = problem->v_dim - at < CHUNK ? problem->v_dim - at : CHUNK;
        if (n == CHUNK)
            sum_elements(&t->v, b, g, keys, at, CHUNK, buffer, &s);
        else
            sum_elements(&t->v, b, g, keys, at, n, buffer, &s);
        for (size_t d = 0; d < n; d++) {
            double bound = s.off[d] + relative * s.magnitude[d] +
                           u_out * fmax(fabs(s.o[d]), normal) +
                           n_keys * SMALLEST_NORMAL * s.largest[d] + (3 * n_keys + 1) * 0x1p-150;
            if (bf16)
                bound += attn_reference_bf16_extra(problem, s.magnitude[d]);
            row->o[at + d] = s.o[d];
            if (row->bound)
                row->bound[at + d] = isnan(s.o[d]) ? s.o[d] : factor * bound;
            if (row->magnitude)
                row->magnitude[at + d] = s.magnitude[d];
        }
    }
}

static void weights(const struct attn_problem *problem, const struct keys *keys, double factor,
                    bool bf16, struct attn_reference_row *row)
{
    const double relative = keys->mean_off + keys->g_keys + (2 * C_EXP + 2) * U +
                            (bf16 ? types[ATTN_BF16].unit_roundoff : 0);
    for (ptrdiff_t j = 0; j < (ptrdiff_t)problem->kv_len; j++) {
        const bool seen = j >= keys->lo && j < keys->hi;
        const double p = seen ? keys->p[j] : 0;
        if (row->weights)
            row->weights[j] = p;
        if (row->weights_bound)
            row->weights_bound[j] =
                seen ? factor * (p * (keys->delta[j] + relative) + SMALLEST_NORMAL) : 0;
    }
}

/* A row that sees no key. */
static void empty(const struct attn_problem *problem, struct attn_reference_row *row)
{
    for (size_t d = 0; d < problem->v_dim; d++) {
        row->o[d] = 0;
        if (row->bound)
            row->bound[d] = 0;
        if (row->magnitude)
            row->magnitude[d] = 0;
    }
    row->lse = -INFINITY;
    row->lse_bound = 0;
}

void ATTN_REFERENCE(const struct attn_problem *problem, const struct attn_tensors *t, size_t b,
                    size_t h, size_t i, enum attn_dtype compute, double bound_factor,
                    void *workspace, struct attn_reference_row *row)
{
    const struct attn_range seen = attn_visible(problem, (ptrdiff_t)i);
    const size_t g = attn_kv_head(problem, h);
    const bool bf16 = compute == ATTN_BF16;
    const double factor = bound_factor > 0 ? bound_factor : 1;
    double *space = workspace;
    struct keys keys = {.lo = seen.lo, .hi = seen.hi, .x = space};
    keys.p = keys.x + problem->kv_len;
    keys.delta = keys.p + problem->kv_len;
    double *q = keys.delta + problem->kv_len;
    float *buffer = (float *)(q + problem->qk_dim);

    const float *q_row = row_f32(&t->q, b, h, i, 0, problem->qk_dim, buffer);
    for (size_t d = 0; d < problem->qk_dim; d++)
        q[d] = (double)q_row[d];
    scores(problem, t, b, g, q, buffer, &keys);
    softmax(problem, &keys);
    weights(problem, &keys, factor, bf16, row);
    if (keys.lo == keys.hi) {
        empty(problem, row);
        return;
    }
    elements(problem, t, b, g, &keys, factor, bf16, buffer, row);

    const double log_l = log(keys.l), n_keys = (double)(keys.hi - keys.lo);
    row->lse = keys.m + log_l;
    row->lse_bound =
        factor * (keys.mean_off + keys.g_keys + C_EXP * U + 4 * U * (fabs(keys.m) + log_l) +
                  U * fabs(row->lse) + n_keys * SMALLEST_NORMAL +
                  (bf16 ? attn_reference_bf16_extra_lse() : 0));
}
