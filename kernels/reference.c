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
 *              do the same operations in double.  Here they have 64 bits (wide.h), so that sums of Skv
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

/* Vectors of the output in registers at a time, with one sum each and with three. */
#if defined ATTN_COMPUTE_F64 /* there are eight registers of 80 bits */
enum { PART_OF_ONE = 4, PART_OF_THREE = 1 };
#else
enum { PART_OF_ONE = 32 / LANES, PART_OF_THREE = 2 };
#endif

static void add_products(const struct keys *keys, size_t from, size_t count, const struct sums *s)
{
    for (size_t at = 0; at < s->n; at += PART_OF_ONE * LANES) {
        lanes o[PART_OF_ONE];
        memcpy(o, s->o + at, sizeof o);
        for (size_t k = 0; k < count; k++)
            for (size_t v = 0; v < PART_OF_ONE; v++)
                o[v] += keys->p[from + k] * lanes_at(s->block + k * s->n + at + v * LANES);
        memcpy(s->o + at, o, sizeof o);
    }
}

/* The other sums, which need the finished o; delta as weights_off() leaves it. */
static void add_sizes(const struct keys *keys, size_t from, size_t count, const struct sums *s)
{
    for (size_t at = 0; at < s->n; at += PART_OF_THREE * LANES) {
        lanes o[PART_OF_THREE], magnitude[PART_OF_THREE], off[PART_OF_THREE];
        lanes largest[PART_OF_THREE];
        memcpy(o, s->o + at, sizeof o);
        memcpy(magnitude, s->magnitude + at, sizeof magnitude);
        memcpy(off, s->off + at, sizeof off);
        memcpy(largest, s->largest + at, sizeof largest);
        for (size_t k = 0; k < count; k++)
            for (size_t v = 0; v < PART_OF_THREE; v++) {
                const lanes x = lanes_at(s->block + k * s->n + at + v * LANES);
                const lanes size = absolute_of(x);
                magnitude[v] += keys->p[from + k] * size;
                off[v] += keys->delta[from + k] * absolute_of(x - o[v]);
                largest[v] = larger_of(size, largest[v]);
            }
        memcpy(s->magnitude + at, magnitude, sizeof magnitude);
        memcpy(s->off + at, off, sizeof off);
        memcpy(s->largest + at, largest, sizeof largest);
    }
}

static void sum_values(const struct keys *keys, const struct sums *s)
{
    const struct attn_tensors *t = keys->at->tensors;
    const size_t v_dim = keys->at->problem->v_dim;
    memset(s->o, 0, (SUMS + SUM_KEYS) * s->n * sizeof(wide));
    for (int turn = 0; turn < 2; turn++)
        for (size_t from = 0; from < keys->n; from += SUM_KEYS) {
            const size_t count = keys->n - from < SUM_KEYS ? keys->n - from : SUM_KEYS;
            for (size_t k = 0; k < count; k++)
                row_of(keys->at, &t->v_scale, &t->v_zero, keys->v[from + k], keys->j[from + k],
                       v_dim, s->block + k * s->n);
            if (turn == 0)
                add_products(keys, from, count, s);
            else
                add_sizes(keys, from, count, s);
        }
    if (keys->scores > keys->n) /* the sink's value is 0 */
        for (size_t d = 0; d < v_dim; d++)
            s->off[d] += keys->delta[keys->n] * fabs(s->o[d]);
}

/* Largest error of a weight whose score and sum are off by at most `off` together. */
static wide weight_off(const struct keys *keys, size_t n, wide off)
{
    const wide p = keys->p[n];
    if (p == 0 && keys->x[n] == -INFINITY)
        return 0;
    if (isnan(p) || !(off > 1))
        return p == 0 ? 0 : p * off;
    return fmax(p, exp(fmin(keys->x[n] - keys->m - log(keys->l) + off, 0)) - p);
}

/* Turns the largest error of each score into that of its weight, for O: sum_j (v_j - O) of the difference. */
static void weights_off(const struct keys *keys)
{
    for (size_t n = 0; n < keys->scores; n++) {
        const wide off = keys->delta[n] + keys->mean_off;
        keys->delta[n] = weight_off(keys, n, off > 1 ? off : keys->delta[n]);
    }
}

static void elements(const struct attn_problem *problem, const struct keys *keys,
                     const struct sums *s, wide factor, bool bf16, struct attn_reference_row *row)
{
    const wide n_keys = (wide)keys->scores;
    const wide relative =
        2 * keys->g_keys + 2 * C_EXP * U + (attn_dtype_scaled(problem->kv_dtype) ? 2 * U : 0);
    const wide u_out = types[problem->dtype].unit_roundoff + OWN_ROUNDING;
    const wide u_p = types[ATTN_BF16].unit_roundoff;
    const wide normal = types[problem->dtype].smallest_normal;
    const wide products = 3 + types[problem->kv_dtype].largest_byte;
    weights_off(keys);
    sum_values(keys, s);
    for (size_t d = 0; d < problem->v_dim; d++) {
        const wide o = s->o[d];
        const wide range = fabs(o) + (1 + relative + u_p) * s->largest[d];
        wide bound = fmin(s->off[d] + relative * s->magnitude[d], range) +
                     u_out * fmax(fabs(o), normal) + n_keys * SMALLEST_NORMAL * s->largest[d] +
                     (products * n_keys + 1) * HALF_SUBNORMAL;
        if (bf16)
            bound += attn_reference_bf16_extra(problem, (double)s->magnitude[d]);
        row->o[d] = (double)o;
        if (row->bound)
            row->bound[d] = (double)(isnan(o) ? o : factor * bound);
        if (row->magnitude)
            row->magnitude[d] = (double)s->magnitude[d];
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

/* O of a row that sees no key: 0, and NaN where its sink, a key whose value is 0, makes its weights NaN. */
static void empty(const struct attn_problem *problem, const struct keys *keys,
                  struct attn_reference_row *row)
{
    const double o = isnan(keys->l) ? NAN : 0;
    for (size_t d = 0; d < problem->v_dim; d++) {
        row->o[d] = o;
        if (row->bound)
            row->bound[d] = o;
        if (row->magnitude)
            row->magnitude[d] = o;
    }
}

/* Cuts up a workspace of attn_reference_workspace() bytes. */
static void carve(const struct attn_problem *problem, void *workspace, struct keys *keys,
                  struct dot_scratch *scratch, struct sums *sums)
{
    const unsigned terms = ATTN_OPTION_SOFTCAP | ATTN_OPTION_ALIBI;
    const size_t n = problem->kv_len + 1; /* with the sink */
    wide *space = (wide *)((char *)workspace + -(uintptr_t)workspace % SCRATCH_ALIGN);
    sums->n = sums_row(problem);
    sums->o = space;
    sums->magnitude = sums->o + sums->n;
    sums->off = sums->magnitude + sums->n;
    sums->largest = sums->off + sums->n;
    sums->block = sums->largest + sums->n;
    scratch->k = sums->block + SUM_KEYS * sums->n;
    scratch->q = scratch->k + problem->qk_dim;
    keys->x = scratch->q + problem->qk_dim;
    keys->p = keys->x + n;
    keys->delta = keys->p + n;
    keys->extra = keys->delta + n;
    keys->j = (size_t *)(keys->extra + n);
    keys->v = (const void **)(keys->j + n);
    if (!(problem->options & terms) && !(problem->mask & ATTN_MASK_BIAS))
        keys->extra = NULL;
}

void ATTN_REFERENCE(const struct attn_problem *problem, const struct attn_tensors *t, size_t b,
                    size_t h, size_t i, enum attn_dtype compute, double bound_factor,
                    void *workspace, struct attn_reference_row *row)
{
    const struct place at = place_of(problem, t, b, h, i);
    const bool bf16 = compute == ATTN_BF16;
    const wide factor = bound_factor > 0 ? bound_factor : 1;
    struct keys keys;
    struct dot_scratch scratch;
    struct sums sums;
    carve(problem, workspace, &keys, &scratch, &sums);

    assert(i < at.sequence.q_len);
    widen(attn_row(&t->q, b, h, at.sequence.q_first + i), problem->dtype, problem->qk_dim,
          scratch.q);
    keys_find(&keys, &at, &scratch);
    keys_scores(problem, &keys, factor, row);
    keys_weigh(problem, &keys);
    weights(problem, &keys, factor, bf16, row);
    lse(&keys, factor, bf16, row);
    if (keys.n)
        elements(problem, &keys, &sums, factor, bf16, row);
    else
        empty(problem, &keys, row);
}
