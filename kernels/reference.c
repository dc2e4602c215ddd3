/*
 * reference: one row of attention in float64, and the largest error that a correct kernel can
 * have there.
 *
 * Plain loops, so that they can be seen to be right; compiled once per ISA because a full check
 * spends its time here (reference_isa.c picks).  Every product of two f32 is exact in float64 and
 * sums of Skv terms lose at most Skv 2^-53, so that its own error is invisible beside the bound.
 * Which keys a row sees and their scores: reference/visible_keys.h; their weights: reference/softmax_error.h.
 *
 * The bound, with u = 2^-24, x_j the scores, p_j the weights, m = max_j x_j, O = sum p_j v_j
 * and g(n) u the error of a sum of n terms relative to the sum of their magnitudes:
 *
 *   score      x_j is off by at most delta_j = (g(D) + 4u) (s_rj + m - x_j): the dot product (its
 *              magnitude s_rj = |scale| sum_d |q_d k_jd|), the scale and log2(e) folded in
 *              somewhere, the subtraction of the maximum and the product in front of exp2.
 *   softmax    dO = sum_j dp_j (v_j - O), with dp_j = p_j delta_j to first order; where delta_j +
 *              sum_k p_k delta_k is above 1, to all orders as for weight j: a key without one may gain all.
 *   sums       of l and of P V: g(Skv) each; exp c_exp u in numerator and denominator; P rounded
 *              to bf16 u_p; all relative to sum_j p_j |v_j|.
 *   output     u_out |O|, where |O| counts at least as the smallest normal number of the type.
 *   underflow  a weight below 2^-126 may become 0: Skv 2^-126 max |v|.  A product or sum below
 *              2^-126 is off by half the smallest subnormal, 2^-150; bf16 dot products flush it
 *              to 0 and read subnormal operands as 0 (Intel SDM, VDPBF16PS): eta = 2^-126.  There
 *              are Skv products, sums and rescalings each and a division: (3 Skv + 1) eta.
 *   range      Weights are never negative and sum to 1, so that O lies in the range of V whatever they
 *              are: softmax and sums together are at most |O| + (1 + 2 g(Skv) + 2 c_exp u + 2^-8) max |v|,
 *              with u_p for all.  Says more than delta where scores are so large that theirs is above 1.
 *
 *   LSE        dLSE = sum_j p_j delta_j + (the sum l: g(Skv) + c_exp u + u_p) + 4u (|m| + |log l|)
 *              (m and log2 l times ln 2, the logarithm itself) + u |LSE| + Skv 2^-126.
 *   weight j   p_j (delta_j + sum_k p_k delta_k + g(Skv) + 2 c_exp u + 2u + u_p) + 2^-126; where what is in
 *              brackets is above 1, to all orders: anything from 0 to p_j times its exponential, and at most
 *              1.
 *   score j    (D u + 4u) s_rj: delta_j without what softmax does to it, and with the worst case of g, as no
 *              other key averages it out; and (2 D + 4) max(1, |scale|) eta.  Infinite where it
 *              is beyond what rounds to the type's largest number.
 *
 * What options add to delta_j, and to the rest:
 *
 *   softcap    c tanh(x / c): of the error of x, its slope 1 - tanh^2; its own: x / c (in the 4u),
 *              tanh to 3u absolutely, the product with c, in all 4u c.
 *   ALiBi      slope and log2(e) are rounded, and both products: 3u |slope p|.  p itself is exact up to
 *              1/u = 2^24.  Beyond, it is rounded up to three times, as it is counted from the start of a
 *              tile: 4u |slope p| more, from 1/(2u) on, since tiles begin elsewhere.
 *   bias       times log2(e): 2u |bias|.
 *   additions  x_j = y + slope p + bias in any order rounds by u |x_j| at last, and before that by u
 *              times a part, which is at most |x_j| and the term that is not in it (or both terms):
 *              2u |x_j| + u (|slope p| + |bias|).  In all 2u |x_j| + 4u |slope p| + 3u |bias|.
 *   8 bits     s_rj counts what the elements stand for; the scale and the product with it, on K or
 *              on the score: 2u s_rj.  Of V, likewise: 2u sum_j p_j |v_j|; where V's
 *              scale is a factor of the weight, which below 2^-126 rounds by 2^-150, an element of
 *              up to e = 128 (int8), 448 (e4m3) or 57344 (e5m2) multiplies that: e Skv 2^-150.  A
 *              kernel may add 256ths of e4m3, whose products, sums and rescalings round by 256
 *              2^-150 each: e = 448 + 3 256.
 *   4 bits     The difference of element and zero point, 0 to 15 of f32, rounds once, the product with the
 *              scale once: 2u again, of s_rj and of sum_j p_j |v_j|, which count what the elements stand
 *              for; e = 15.  A kernel that takes the zero point from the sum instead (q k - z sum q) is
 *              off by more where they cancel, and not allowed to be.
 *   sink       a key whose score s is given and whose value is 0: delta = 4u (|s| + m - s), and Skv
 *              counts it.
 *
 * f64        All of this holds with u = 2^-53, 2^-1022 in place of 2^-126 and 2^-1075 of 2^-150: kernels
 *              do the same operations in double.  Here they have 64 bits (keys.h), so that sums of Skv
 *              terms lose Skv 2^-64: below 1/100 of g(Skv) up to Skv = 20000, and less than that
 *              where errors differ in sign.  What is handed on is rounded to double once more: u |O|,
 *              u |LSE| and u p_j are counted twice.  1/sqrt(D) is the same double for all.
 *
 * g(n) = min(n, 6 sqrt(2n)) u: rounding errors of different sign cancel as a random walk does, of
 * which 6 standard deviations are allowed; n u, the worst case, where they need not:
 *
 *   tied       Keys holding half of the weight have a neighbour (or a rival for the maximum) within
 *              n u of their own score: their roundings repeat and have one sign.  Holds for g(D) too.
 *   dominated  One key, or the sink, has more than half of the weight.  Once it is in, every partial
 *              sum of l lies between l / 2 and l, so that each addition of the rest rounds by up to
 *              u l: the spacing there is l's own.  And how l + p rounds is decided by p modulo that
 *              spacing, so like terms, added one after the other, round the same way every time:
 *              Skv u l, with one sign.  (The largest |p v| does the same to the sums of P V.)
 */
#include <tgmath.h>

#include "reference.h"
#include "reference/softmax_error.h"

#define C_EXP 8.0
#define HALF_SUBNORMAL ((wide)U * SMALLEST_NORMAL)

/* One external symbol per object, as kernels have. */
void ATTN_REFERENCE(const struct attn_problem *, const struct attn_tensors *, size_t, size_t,
                    size_t, enum attn_dtype, double, void *, struct attn_reference_row *);

/* Half the spacing of the output type relative to its value, and its smallest normal number; of types with
 * scales, their largest number, or e above. */
static const struct {
    double unit_roundoff, smallest_normal, largest_byte;
} types[ATTN_DTYPE_COUNT] = {
    [ATTN_F32] = {0x1p-24, 0x1p-126, 0},     [ATTN_BF16] = {0x1p-8, 0x1p-126, 0},
    [ATTN_F16] = {0x1p-11, 0x1p-14, 0},      [ATTN_F64] = {0x1p-53, 0x1p-1022, 0},
    [ATTN_I8] = {.largest_byte = 128},       [ATTN_F8E4M3] = {.largest_byte = 448 + 3 * 256},
    [ATTN_F8E5M2] = {.largest_byte = 57344}, [ATTN_I4] = {.largest_byte = 15},
};

/* Elements of the output kept in registers at a time. */
#if defined ATTN_COMPUTE_F64
#define CHUNK 1 /* with four sums; there are eight registers of 80 bits */
#else
#define CHUNK 32
#endif

/* Sums over the keys of the output elements [at, at + n), n <= CHUNK. */
struct sums {
    wide o[CHUNK];         /* p v */
    wide magnitude[CHUNK]; /* p |v| */
    wide off[CHUNK];       /* p delta |v - O|, and to all orders where delta is large */
    wide largest[CHUNK];   /* max |v| */
};

/* n is CHUNK wherever it can be, and scaled is set for types of 8 bits alone, which the compiler is told by
 * calling with the constants. */
static inline __attribute__((always_inline)) void sum_elements(const struct keys *keys,
                                                               enum attn_dtype dtype, size_t at,
                                                               size_t n, bool scaled,
                                                               element *buffer, struct sums *s)
{
    wide o[CHUNK] = {0}, magnitude[CHUNK] = {0}, off[CHUNK] = {0}, largest[CHUNK] = {0};
    for (size_t k = 0; k < keys->n; k++) {
        const element *row = row_of(keys->v[k], dtype, at, n, buffer);
        const wide p = scaled ? keys->p[k] * keys->v_scale[k] : keys->p[k];
        for (size_t d = 0; d < n; d++)
            o[d] += p * (wide)row[d];
    }
    for (size_t k = 0; k < keys->n; k++) {
        const element *row = row_of(keys->v[k], dtype, at, n, buffer);
        const wide p = keys->p[k], p_off = keys->delta[k]; /* weights_off() */
        const wide scale = scaled ? keys->v_scale[k] : 1;
        for (size_t d = 0; d < n; d++) {
            const wide x = scaled ? scale * (wide)row[d] : (wide)row[d], size = fabs(x);
            magnitude[d] += p * size;
            off[d] += p_off * fabs(x - o[d]);
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

/* The same of i4. */
static void sum_groups(const struct keys *keys, size_t at, size_t n, struct sums *s)
{
    const struct attn_tensors *t = keys->at->tensors;
    wide row[CHUNK];
    *s = (struct sums){{0}, {0}, {0}, {0}};
    for (int turn = 0; turn < 2; turn++)
        for (size_t k = 0; k < keys->n; k++) {
            groups_of(keys->at, &t->v_scale, &t->v_zero, keys->v[k], keys->j[k], at, n, row);
            for (size_t d = 0; d < n && !turn; d++)
                s->o[d] += keys->p[k] * row[d];
            for (size_t d = 0; d < n && turn; d++) {
                const wide size = fabs(row[d]);
                s->magnitude[d] += keys->p[k] * size;
                s->off[d] += keys->delta[k] * fabs(row[d] - s->o[d]);
                s->largest[d] = size > s->largest[d] ? size : s->largest[d];
            }
        }
}

static void sum_chunk(const struct attn_problem *problem, const struct keys *keys, size_t at,
                      size_t n, element *buffer, struct sums *s)
{
    if (problem->kv_dtype == ATTN_I4)
        sum_groups(keys, at, n, s);
    else if (attn_dtype_scaled(problem->kv_dtype))
        sum_elements(keys, problem->kv_dtype, at, n, true, buffer, s);
    else if (n == CHUNK)
        sum_elements(keys, problem->kv_dtype, at, CHUNK, false, buffer, s);
    else
        sum_elements(keys, problem->kv_dtype, at, n, false, buffer, s);
    if (keys->scores > keys->n) /* the sink's value is 0 */
        for (size_t d = 0; d < n; d++)
            s->off[d] += keys->delta[keys->n] * fabs(s->o[d]);
}

/* By how much a weight may be off, whose score and sum may be by `off` in all. */
static wide weight_off(const struct keys *keys, size_t n, wide off)
{
    const wide p = keys->p[n];
    if (p == 0 && keys->x[n] == -INFINITY)
        return 0;
    if (isnan(p) || !(off > 1))
        return p == 0 ? 0 : p * off;
    return fmax(p, exp(fmin(keys->x[n] - keys->m - log(keys->l) + off, 0)) - p);
}

/* Turns what each score may be off by into that of its weight, for O: sum_j (v_j - O) of the difference. */
static void weights_off(const struct keys *keys)
{
    for (size_t n = 0; n < keys->scores; n++) {
        const wide off = keys->delta[n] + keys->mean_off;
        keys->delta[n] = weight_off(keys, n, off > 1 ? off : keys->delta[n]);
    }
}

static void elements(const struct attn_problem *problem, const struct keys *keys, wide factor,
                     bool bf16, element *buffer, struct attn_reference_row *row)
{
    const wide n_keys = (wide)keys->scores;
    const wide relative =
        2 * keys->g_keys + 2 * C_EXP * U + (attn_dtype_scaled(problem->kv_dtype) ? 2 * U : 0);
    const wide u_out = types[problem->dtype].unit_roundoff + OWN_ROUNDING;
    const wide u_p = types[ATTN_BF16].unit_roundoff;
    const wide normal = types[problem->dtype].smallest_normal;
    const wide products = 3 + types[problem->kv_dtype].largest_byte;
    struct sums s;
    weights_off(keys);
    for (size_t at = 0; at < problem->v_dim; at += CHUNK) {
        const size_t n = problem->v_dim - at < CHUNK ? problem->v_dim - at : CHUNK;
        sum_chunk(problem, keys, at, n, buffer, &s);
        for (size_t d = 0; d < n; d++) {
            const wide range = fabs(s.o[d]) + (1 + relative + u_p) * s.largest[d];
            wide bound = fmin(s.off[d] + relative * s.magnitude[d], range) +
                         u_out * fmax(fabs(s.o[d]), normal) +
                         n_keys * SMALLEST_NORMAL * s.largest[d] +
                         (products * n_keys + 1) * HALF_SUBNORMAL;
            if (bf16)
                bound += attn_reference_bf16_extra(problem, (double)s.magnitude[d]);
            row->o[at + d] = (double)s.o[d];
            if (row->bound)
                row->bound[at + d] = (double)(isnan(s.o[d]) ? s.o[d] : factor * bound);
            if (row->magnitude)
                row->magnitude[at + d] = (double)s.magnitude[d];
        }
    }
}

static void weights(const struct attn_problem *problem, const struct keys *keys, wide factor,
                    bool bf16, struct attn_reference_row *row)
{
    const wide relative = keys->mean_off + keys->g_keys + (2 * C_EXP + 2) * U + OWN_ROUNDING +
                          (bf16 ? types[ATTN_BF16].unit_roundoff : 0);
    for (size_t j = 0; row->weights && j < problem->kv_len; j++)
        row->weights[j] = 0;
    for (size_t n = 0; row->weights && n < keys->n; n++)
        row->weights[keys->j[n]] = (double)keys->p[n];
    for (size_t j = 0; row->weights_bound && j < problem->kv_len; j++)
        row->weights_bound[j] = 0;
    for (size_t n = 0; row->weights_bound && n < keys->n; n++) {
        const wide off = weight_off(keys, n, keys->delta[n] + relative);
        row->weights_bound[keys->j[n]] = (double)(factor * (off + SMALLEST_NORMAL));
    }
}

static void lse(const struct keys *keys, wide factor, bool bf16, struct attn_reference_row *row)
{
    const wide log_l = log(keys->l), lse = keys->m + log_l;
    row->lse = (double)lse;
    row->lse_bound =
        (double)(factor *
                 (keys->mean_off + keys->g_keys + C_EXP * U + 4 * U * (fabs(keys->m) + log_l) +
                  (U + OWN_ROUNDING) * fabs(lse) + (wide)keys->scores * SMALLEST_NORMAL +
                  (bf16 ? attn_reference_bf16_extra_lse() : 0)));
    if (keys->scores == 0) {
        row->lse = -INFINITY;
        row->lse_bound = 0;
    }
}

/* O of a row that sees no key. */
static void empty(const struct attn_problem *problem, struct attn_reference_row *row)
{
    for (size_t d = 0; d < problem->v_dim; d++) {
        row->o[d] = 0;
        if (row->bound)
            row->bound[d] = 0;
        if (row->magnitude)
            row->magnitude[d] = 0;
    }
}

/* Cuts up a workspace of attn_reference_workspace() bytes. */
static struct dot_scratch carve(const struct attn_problem *problem, void *workspace,
                                struct keys *keys)
{
    const unsigned terms = ATTN_OPTION_SOFTCAP | ATTN_OPTION_ALIBI;
    const size_t n = problem->kv_len + 1; /* with the sink */
    char *space = (char *)workspace + -(uintptr_t)workspace % SCRATCH_ALIGN;
    struct dot_scratch scratch;
    scratch.row = (element *)space;
    scratch.q = (wide *)(space + scratch_row_bytes(problem));
    scratch.q_scaled = scratch.q + problem->qk_dim;
    keys->x = scratch.q_scaled + problem->qk_dim;
    keys->p = keys->x + n;
    keys->delta = keys->p + n;
    keys->extra = keys->delta + n;
    keys->v_scale = keys->extra + n;
    keys->j = (size_t *)(keys->v_scale + n);
    keys->v = (const void **)(keys->j + n);
    if (!(problem->options & terms) && !(problem->mask & ATTN_MASK_BIAS))
        keys->extra = NULL;
    return scratch;
}

void ATTN_REFERENCE(const struct attn_problem *problem, const struct attn_tensors *t, size_t b,
                    size_t h, size_t i, enum attn_dtype compute, double bound_factor,
                    void *workspace, struct attn_reference_row *row)
{
    const struct place at = place_of(problem, t, b, h, i);
    const bool bf16 = compute == ATTN_BF16;
    const wide factor = bound_factor > 0 ? bound_factor : 1;
    struct keys keys;
    const struct dot_scratch scratch = carve(problem, workspace, &keys);

    assert(i < at.sequence.q_len);
    const element *q = row_of(attn_row(&t->q, b, h, at.sequence.q_first + i), problem->dtype, 0,
                              problem->qk_dim, scratch.row);
    for (size_t d = 0; d < problem->qk_dim; d++)
        scratch.q[d] = (wide)q[d];
    keys_find(&keys, &at, &scratch);
    keys_scores(problem, &keys, factor, row);
    keys_weigh(problem, &keys);
    weights(problem, &keys, factor, bf16, row);
    lse(&keys, factor, bf16, row);
    if (keys.n)
        elements(problem, &keys, factor, bf16, scratch.row, row);
    else
        empty(problem, row);
}
