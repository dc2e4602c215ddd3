/*
 * The reference: numbers computed by hand, its rules for masks and NaN, its bound, and an
 * independent definition in long double.
 */
#include "testing.h"

#include <string.h>

#include "judged_row.h"

#define U 0x1p-24

/* ---- numbers by hand ----------------------------------------------------------------------- */

static void a_row_by_hand(void **state)
{
    (void)state;
    struct judged *t = open_quarters("");
    judge(t, 0, 0, 0);
    assert_near(t->o[0], 4, 1e-7); /* log 3 is rounded to f32 */
    assert_near(t->weights[0], 0.25, 1e-8);
    assert_near(t->weights[1], 0.75, 1e-8);
    assert_near(t->magnitude[0], 4, 1e-7);
    assert_near(t->row.lse, log(4), 1e-7);
    close_judged(t);
}

/*
 * g(1) = u, g(2) = 2u.  delta_0 = 5u (0 + x - 0), delta_1 = 5u (x + 0); |v - O| = 3 and 1:
 * 0.25 5ux 3 + 0.75 5ux = 7.5 ux.  Sums and exp: (2 2u + 2 8u) 4 = 80u.  Output: 4u.
 */
static void the_bound_by_hand(void **state)
{
    (void)state;
    struct judged *t = open_quarters("");
    const double x = log(3);
    judge(t, 0, 0, 0);
    assert_near(t->bound[0] / U, 7.5 * x + 84, 1e-5);
    assert_near(t->row.lse_bound / U, 5 * x + 2 + 8 + 4 * (x + log(4.0 / 3)) + log(4), 1e-5);
    /* weight 0: delta_0, the mean 5x, g(2), 2 c_exp, 2 */
    assert_near(t->weights_bound[0] / U, 0.25 * (5 * x + 5 * x + 2 + 16 + 2), 1e-5);

    struct attn_reference_row *row = &t->row;
    const double f32 = t->bound[0], lse = row->lse_bound;
    attn_reference(&t->c.problem, &t->set.tensors, 0, 0, 0, ATTN_F32, 3, t->workspace, row);
    assert_near(t->bound[0], 3 * f32, 1e-12);
    attn_reference(&t->c.problem, &t->set.tensors, 0, 0, 0, ATTN_BF16, 0, t->workspace, row);
    assert_near(t->bound[0], f32 + 0x1p-8 * t->magnitude[0], 1e-12);
    assert_near(t->bound[0], f32 + attn_reference_bf16_extra(&t->c.problem, t->magnitude[0]), 0);
    assert_near(row->lse_bound, lse + 0x1p-8, 1e-12);
    assert_near(row->lse_bound, lse + attn_reference_bf16_extra_lse(), 0);
    close_judged(t);
}

/* Equal scores of 2^30: delta is 5 2^30 u, so each of n weights may be anything from 0 to 1, 1 - 1/n away.
 * For values 1 and 5, 2 from O = 3, that comes to 2 (n - 1); but no weights make more of 1 and 5 than 5. */
static void the_bound_ends_with_the_range_of_v(void **state)
{
    (void)state;
    for (int n = 2; n <= 8; n += 6) {
        char text[64];
        snprintf(text, sizeof text, "sq=1,skv=%d,d=1,scale=1", n);
        struct judged *t = open_judged(text);
        tensors_set(&t->set.tensors.q, 0, 0, 0, 0, 0x1p30);
        for (size_t j = 0; j < (size_t)n; j++) {
            tensors_set(&t->set.tensors.k, 0, 0, j, 0, 1);
            tensors_set(&t->set.tensors.v, 0, 0, j, 0, j % 2 ? 1 : 5);
        }
        judge(t, 0, 0, 0);
        assert_near(t->o[0], 3, 0);
        const double sums = (2 * n + 16) * U, range = 3 + (1 + sums + 0x1p-8) * 5;
        assert_near(t->bound[0], (n == 2 ? 2 + sums * 3 : range) + 3 * U, 1e-12);
        close_judged(t);
    }
}

/* The output's own rounding: 2^-8 |O| for bf16, 2^-11 |O| for f16, never below the smallest
 * normal number's. */
static void the_bound_knows_the_output_type(void **state)
{
    (void)state;
    struct judged *t = open_quarters("");
    judge(t, 0, 0, 0);
    const double without = t->bound[0] - 4 * U;
    close_judged(t);
    t = open_quarters(",dtype=bf16");
    judge(t, 0, 0, 0);
    assert_near(t->bound[0], without + 0x1p-8 * t->o[0], 2 * U);
    close_judged(t);
    t = open_quarters(",dtype=f16");
    judge(t, 0, 0, 0);
    assert_near(t->bound[0], without + 0x1p-11 * t->o[0], 2 * U);
    for (size_t j = 0; j < 2; j++)
        tensors_set(&t->set.tensors.v, 0, 0, j, 0, 0x1p-24);
    judge(t, 0, 0, 0);
    assert_near(t->bound[0], 0x1p-25, 0x1p-40);
    close_judged(t);
}

/* Growth min(n, 6 sqrt(2n)), and n for ties and under a key with more than half of the weight: seen
 * through the LSE of keys that are all zero but for a difference that is, or is not, lost in rounding,
 * or leaves the first one 1 - 1/e of the weight. */
static void aligned_roundings_are_allowed_the_worst_case(void **state)
{
    (void)state;
    const struct {
        double difference;
        double growth;
    } table[] = {{0, 200}, {0x1p-30, 200}, {0.5, 6 * sqrt(2 * 200)}, {1, 200}};
    for (size_t n = 0; n < COUNT(table); n++) {
        struct judged *t = open_judged("sq=1,skv=200,d=1,scale=1");
        tensors_set(&t->set.tensors.q, 0, 0, 0, 0, 1);
        for (size_t j = 0; j < 200; j++)
            tensors_set(&t->set.tensors.k, 0, 0, j, 0, -table[n].difference * (double)(j + 1));
        judge(t, 0, 0, 0);
        const double l = exp(t->row.lse + table[n].difference);
        double delta = 0;
        for (size_t j = 0; j < 200; j++)
            delta += t->weights[j] * 5 * table[n].difference * (double)(2 * j + 1);
        const double expected =
            delta + table[n].growth + 8 + 4 * (table[n].difference + log(l)) + fabs(t->row.lse);
        assert_near(t->row.lse_bound / U, expected, 1e-4);
        close_judged(t);
    }
}

/* ---- masks and NaN ------------------------------------------------------------------------- */

static void rows_without_keys_are_zero(void **state)
{
    (void)state;
    struct judged *t = open_judged("sq=5,skv=2,d=3,mask=causal");
    for (size_t i = 0; i < 5; i++) {
        judge(t, 0, 0, i);
        const bool empty = i < 3; /* sees keys j <= i - 3 */
        assert_int_equal(isinf(t->row.lse) && t->row.lse < 0, empty);
        assert_int_equal(t->o[0] == 0 && t->bound[0] == 0, empty);
        assert_int_equal(t->row.lse_bound == 0, empty);
        assert_int_equal(t->weights[0] == 0, empty);
    }
    close_judged(t);
}

static void a_nan_is_seen_where_it_is_visible(void **state)
{
    (void)state;
    struct judged *t = open_judged("s=4,d=3,mask=causal");
    tensors_set(&t->set.tensors.k, 0, 0, 2, 1, NAN);
    for (size_t i = 0; i < 4; i++) {
        judge(t, 0, 0, i);
        assert_int_equal(isnan(t->o[0]) && isnan(t->bound[2]) && isnan(t->row.lse), i >= 2);
        assert_int_equal(isfinite(t->o[0]) && isfinite(t->bound[2]), i < 2);
    }
    close_judged(t);

    t = open_judged("s=4,d=3,mask=causal");
    tensors_set(&t->set.tensors.v, 0, 0, 1, 2, NAN);
    judge(t, 0, 0, 0);
    assert_true(isfinite(t->o[2]));
    judge(t, 0, 0, 1);
    assert_true(isnan(t->o[2]) && isnan(t->bound[2]));
    assert_true(isfinite(t->o[1]) && isfinite(t->row.lse));
    close_judged(t);
}

/* ---- an independent definition ------------------------------------------------------------- */

/* Whether query i sees key j, written apart from attn_visible(). */
static bool sees(const struct attn_problem *p, long i, long j)
{
    const long sq = (long)p->q_len, skv = (long)p->kv_len;
    const long at = p->mask & ATTN_MASK_CAUSAL_TOP_LEFT ? i : i + skv - sq;
    if (p->mask & (ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT) && j > at)
        return false;
    if (!(p->options & ATTN_OPTION_WINDOW))
        return true;
    return (p->window_left < 0 || j >= at - p->window_left) &&
           (p->window_right < 0 || j <= at + p->window_right);
}

static long double score(const struct judged *t, size_t b, size_t h, size_t i, size_t j)
{
    const struct attn_problem *p = &t->c.problem;
    long double x = 0;
    for (size_t d = 0; d < p->qk_dim; d++)
        x += (long double)tensors_get(&t->set.tensors.q, b, h, i, d) *
             (long double)tensors_get(&t->set.tensors.k, b, h / (p->q_heads / p->kv_heads), j, d);
    return x * (p->scale != 0 ? (long double)p->scale
                              : (long double)(float)(1 / sqrt((double)p->qk_dim)));
}

static void assert_row_is_its_definition(struct judged *t, size_t b, size_t h, size_t i)
{
    const struct attn_problem *p = &t->c.problem;
    const size_t g = h / (p->q_heads / p->kv_heads);
    judge(t, b, h, i);
    for (size_t d = 0; d < p->v_dim; d++) {
        long double l = 0, o = 0, magnitude = 0;
        double lo = INFINITY, hi = -INFINITY;
        for (size_t j = 0; j < p->kv_len; j++) {
            if (!sees(p, (long)i, (long)j))
                continue;
            const double v = tensors_get(&t->set.tensors.v, b, g, j, d);
            const long double e = expl(score(t, b, h, i, j));
            l += e;
            o += e * (long double)v;
            magnitude += e * (long double)fabs(v);
            lo = fmin(lo, v);
            hi = fmax(hi, v);
        }
        assert_near(t->o[d], l > 0 ? (double)(o / l) : 0, 1e-13);
        assert_near(t->magnitude[d], l > 0 ? (double)(magnitude / l) : 0, 1e-13);
        if (l > 0) {
            assert_near(t->row.lse, (double)logl(l), 1e-13);
            assert_true(t->o[d] >= lo - 1e-12 && t->o[d] <= hi + 1e-12);
            assert_true(t->bound[d] > 0);
        }
    }
}

static void rows_are_their_definition(void **state)
{
    (void)state;
    static const char *const problems[] = {
        "s=1,d=1",
        "b=2,h=3,sq=5,skv=9,d=8,dv=3",
        "hq=4,hkv=2,sq=7,skv=7,d=17,dv=33,mask=causal",
        "hq=6,hkv=1,sq=3,skv=11,d=64,dv=70,mask=causal,layout=bshd",
        "sq=9,skv=4,d=5,mask=causal_top_left,scale=-0.5",
        "sq=12,skv=12,d=40,window=3:2",
        "sq=12,skv=15,d=40,mask=causal,window=0",
        "b=2,hq=2,hkv=1,sq=4,skv=6,d=65,dv=5,dtype=bf16",
        "b=2,hq=2,hkv=1,sq=4,skv=6,d=5,dv=65,dtype=f16,layout=bshd",
    };
    for (size_t n = 0; n < COUNT(problems); n++) {
        struct judged *t = open_judged(problems[n]);
        const struct attn_problem *p = &t->c.problem;
        for (size_t b = 0; b < p->batch; b++)
            for (size_t h = 0; h < p->q_heads; h++)
                for (size_t i = 0; i < p->q_len; i++)
                    assert_row_is_its_definition(t, b, h, i);
        close_judged(t);
    }
}

/* ---- builds -------------------------------------------------------------------------------- */

typedef void reference_row(const struct attn_problem *, const struct attn_tensors *, size_t, size_t,
                           size_t, enum attn_dtype, double, void *, struct attn_reference_row *);

#define ATTN_REFERENCE(isa, ISA) reference_row attn_reference_##isa;
#include "reference_list.h"
#undef ATTN_REFERENCE

/* Only the order of sums differs between instruction sets. */
static void every_build_gives_the_same(void **state)
{
    (void)state;
    static const struct {
        enum attn_isa isa;
        reference_row *row;
    } builds[] = {
#define ATTN_REFERENCE(isa, ISA) {ATTN_ISA_##ISA, attn_reference_##isa},
#include "reference_list.h"
#undef ATTN_REFERENCE
    };
    struct judged *t = open_judged("sq=3,skv=200,d=70,dv=100,dtype=f16,mask=causal");
    judge(t, 0, 0, 1);
    const struct judged first = *t;
    for (size_t n = 0; n < COUNT(builds); n++) {
        if (!attn_isa_available(builds[n].isa))
            continue;
        memset(t->o, 0, sizeof t->o);
        builds[n].row(&t->c.problem, &t->set.tensors, 0, 0, 1, ATTN_F32, 0, t->workspace, &t->row);
        for (size_t d = 0; d < 100; d++) {
            assert_near(t->o[d], first.o[d], 1e-14);
            assert_near(t->bound[d], first.bound[d], 1e-18);
        }
        assert_near(t->row.lse, first.row.lse, 1e-14);
    }
    close_judged(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_by_hand),
        cmocka_unit_test(the_bound_by_hand),
        cmocka_unit_test(the_bound_ends_with_the_range_of_v),
        cmocka_unit_test(the_bound_knows_the_output_type),
        cmocka_unit_test(aligned_roundings_are_allowed_the_worst_case),
        cmocka_unit_test(rows_without_keys_are_zero),
        cmocka_unit_test(a_nan_is_seen_where_it_is_visible),
        cmocka_unit_test(rows_are_their_definition),
        cmocka_unit_test(every_build_gives_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
