/*
 * The reference's scores as a result: after the scale, softcap, ALiBi and bias, and before softmax; with
 * bounds by hand.  What is lost of them in rounding, O's bound must know.
 *
 * Two keys of one dimension, products with the query 0 and L = log 3 (open_quarters()).  A bound is
 * (D + 4) u s_rj, here 5 L u, and what the options add.
 */
#include "testing.h"

#include <float.h>

#include "judged_row.h"

#define U 0x1p-24
#define L 1.0986122886681098 /* log 3 */

static double scores[2], bounds[2];

static struct judged *open_scores(const char *options)
{
    struct judged *t = open_quarters(options);
    t->row.scores = scores;
    t->row.scores_bound = bounds;
    return t;
}

/* Row (0, 0, 0): both scores, and both bounds in units of u. */
static void assert_scores(struct judged *t, double first, double second, double first_bound,
                          double second_bound)
{
    judge(t, 0, 0, 0);
    const double expected[] = {first, second}, expected_bound[] = {first_bound, second_bound};
    for (size_t j = 0; j < 2; j++) {
        if (isinf(expected[j]))
            assert_true(scores[j] == expected[j]);
        else
            assert_near(scores[j], expected[j], 1e-6);
        assert_near(bounds[j] / U, expected_bound[j], 1e-4);
    }
}

static void scores_are_scaled(void **state)
{
    (void)state;
    struct judged *t = open_scores(",outputs=scores");
    assert_scores(t, 0, L, 0, 5 * L);
    t->c.problem.scale = -2;
    assert_scores(t, 0, -2 * L, 0, 10 * L);
    close_judged(t);
}

/* tanh's slope at L is 1 - tanh^2; its own errors are 4 u c. */
static void a_softcap_is_in_them(void **state)
{
    (void)state;
    struct judged *t = open_scores(",softcap=1");
    const double slope = 1 - tanh(L) * tanh(L);
    assert_scores(t, 0, tanh(L), 4, 5 * L * slope + 4);
    close_judged(t);
}

/* 3 u |bias| and 2 u |x|. */
static void a_bias_is_in_them_and_hides(void **state)
{
    (void)state;
    struct judged *t = open_scores(",mask=bias");
    tensors_set(&t->set.tensors.bias, 0, 0, 0, 0, 8);
    tensors_set(&t->set.tensors.bias, 0, 0, 0, 1, 2);
    assert_scores(t, 8, L + 2, 3 * 8 + 2 * 8, 5 * L + 3 * 2 + 2 * (L + 2));
    tensors_set(&t->set.tensors.bias, 0, 0, 0, 1, -INFINITY);
    assert_scores(t, 8, -INFINITY, 3 * 8 + 2 * 8, 0);
    tensors_set(&t->set.tensors.bias, 0, 0, 0, 0, -INFINITY);
    assert_scores(t, -INFINITY, -INFINITY, 0, 0);
    close_judged(t);
}

/* The query stands at the last key: the first is at -1.  4 u |slope p| and 2 u |x|. */
static void alibi_is_in_them(void **state)
{
    (void)state;
    struct judged *t = open_scores(",alibi=1");
    *(float *)t->set.tensors.slopes.data = 3;
    assert_scores(t, -3, L, 4 * 3 + 2 * 3, 5 * L + 2 * L);
    close_judged(t);
}

static void a_sink_is_not_in_them(void **state)
{
    (void)state;
    struct judged *t = open_scores(",sinks=1");
    *(float *)t->set.tensors.sinks.data = 100;
    assert_scores(t, 0, L, 0, 5 * L);
    close_judged(t);
}

static void hidden_keys_are_minus_infinity_whatever_they_hold(void **state)
{
    (void)state;
    struct judged *t = open_scores(",mask=causal_top_left");
    tensors_set(&t->set.tensors.k, 0, 0, 1, 0, NAN);
    assert_scores(t, 0, -INFINITY, 0, 0);
    close_judged(t);
    t = open_scores(",mask=bool");
    *(uint8_t *)t->set.tensors.mask.data = 0;
    ((uint8_t *)t->set.tensors.mask.data)[1] = 1;
    assert_scores(t, -INFINITY, L, 0, 5 * L);
    close_judged(t);
}

/* Also where every weight of the row is NaN. */
static void a_nan_stays_with_its_key(void **state)
{
    (void)state;
    struct judged *t = open_scores("");
    tensors_set(&t->set.tensors.k, 0, 0, 1, 0, NAN);
    judge(t, 0, 0, 0);
    assert_true(isnan(t->o[0]) && scores[0] == 0 && bounds[0] < U && isnan(scores[1]));
    close_judged(t);
}

static void beyond_the_largest_float_is_infinite(void **state)
{
    (void)state;
    struct judged *t = open_scores("");
    tensors_set(&t->set.tensors.q, 0, 0, 0, 0, -3e38);
    tensors_set(&t->set.tensors.k, 0, 0, 1, 0, 2);
    judge(t, 0, 0, 0);
    assert_true(scores[1] == -INFINITY);
    close_judged(t);
}

/* Scores of 0 and 1e30 beside a bias that rounds to multiples of 2e31: float32 has two keys of equal weight,
 * where the definition gives all of it to one.  Without the bias nothing hides the difference. */
static void the_bound_knows_what_a_large_bias_hides(void **state)
{
    (void)state;
    for (int large = 0; large < 2; large++) {
        struct judged *t = open_judged("sq=1,skv=2,d=1,scale=1e30,mask=bias");
        tensors_set(&t->set.tensors.q, 0, 0, 0, 0, 1);
        for (size_t j = 0; j < 2; j++) {
            tensors_set(&t->set.tensors.k, 0, 0, j, 0, (double)j);
            tensors_set(&t->set.tensors.v, 0, 0, j, 0, 1 + 4 * (double)j);
            tensors_set(&t->set.tensors.bias, 0, 0, 0, j, large ? -FLT_MAX : 0);
        }
        judge(t, 0, 0, 0);
        assert_near(t->o[0], 5, 0);
        assert_int_equal(t->bound[0] >= 2, large); /* O is 3 where both have half */
        close_judged(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_scaled),
        cmocka_unit_test(a_softcap_is_in_them),
        cmocka_unit_test(a_bias_is_in_them_and_hides),
        cmocka_unit_test(alibi_is_in_them),
        cmocka_unit_test(a_sink_is_not_in_them),
        cmocka_unit_test(hidden_keys_are_minus_infinity_whatever_they_hold),
        cmocka_unit_test(a_nan_stays_with_its_key),
        cmocka_unit_test(beyond_the_largest_float_is_infinite),
        cmocka_unit_test(the_bound_knows_what_a_large_bias_hides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
