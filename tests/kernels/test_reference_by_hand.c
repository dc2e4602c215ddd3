/*
 * The reference with each option alone: rows and bounds computed by hand, and keys that do not enter.
 *
 * Two keys of one dimension, scores 0 and L = log 3, values 1 and 5 (open_quarters()).  Bounds are in
 * units of u; where nothing is said the output's rounding is |O|, and sums and exponentials are
 * (2 g(2) + 2 8) sum p |v| = 20 O.
 */
#include "testing.h"

#include "element.h"
#include "judged_row.h"

#define U 0x1p-24
#define L 1.0986122886681098 /* log 3 */

static void set(const struct attn_tensor *t, size_t j, double x)
{
    tensors_set(t, 0, 0, 0, j, x);
}

static void assert_o(const struct judged *t, double o, double lse)
{
    assert_near(t->o[0], o, 1e-6); /* log 3 is rounded to f32 */
    assert_near(t->row.lse, lse, 1e-6);
}

static void assert_empty(const struct judged *t)
{
    assert_true(t->o[0] == 0 && t->bound[0] == 0 && t->magnitude[0] == 0);
    assert_true(t->row.lse == -INFINITY && t->row.lse_bound == 0);
    assert_true(t->weights[0] == 0 && t->weights[1] == 0);
}

/* Scores L and L: delta 5 0 + 5L and 5L + 2L, both 2 from O = 3. */
static void a_bias_adds_to_scores_and_bound(void **state)
{
    (void)state;
    struct judged *t = open_quarters(",mask=bias");
    const struct attn_tensor *bias = &t->set.tensors.bias;
    set(bias, 0, L);
    set(bias, 1, 0);
    judge(t, 0, 0, 0);
    assert_o(t, 3, log(6));
    assert_near(t->bound[0] / U, 5 * L + 7 * L + 20 * 3 + 3, 1e-4);
    assert_near(t->row.lse_bound / U, 6 * L + 2 + 8 + 4 * (L + log(2)) + log(6), 1e-4);
    assert_near(t->weights_bound[1] / U, 0.5 * (7 * L + 6 * L + 2 + 16 + 2), 1e-4);
    set(bias, 1, -INFINITY);
    judge(t, 0, 0, 0);
    assert_o(t, 1, L);
    assert_true(t->weights[1] == 0 && t->weights_bound[1] == 0);
    set(bias, 0, -INFINITY);
    judge(t, 0, 0, 0);
    assert_empty(t);
    set(bias, 0, NAN);
    judge(t, 0, 0, 0);
    assert_true(isnan(t->o[0]) && isnan(t->row.lse) && t->weights[1] == 0);
    close_judged(t);
}

/* Finite is not masked: it shifts the row, or leaves the rest no weight. */
static void large_biases_shift_a_row_and_mask_nothing(void **state)
{
    (void)state;
    struct judged *t = open_quarters(",mask=bias");
    const struct attn_tensor *bias = &t->set.tensors.bias;
    set(bias, 0, -0x1p20);
    set(bias, 1, -0x1p20);
    judge(t, 0, 0, 0);
    assert_o(t, 4, -0x1p20 + log(4));
    set(bias, 0, 3e38);
    judge(t, 0, 0, 0);
    assert_true(t->o[0] == 1 && t->weights[1] == 0 && isfinite(t->bound[0]));
    assert_near(t->row.lse / 3e38, 1, 1e-6);
    set(bias, 0, -1e30);
    judge(t, 0, 0, 0);
    assert_true(t->o[0] == 5 && t->weights[0] == 0 && isfinite(t->bound[0]));
    set(bias, 0, -3e38);
    set(bias, 1, -3e38); /* which leaves nothing of the scores, but keys to see */
    judge(t, 0, 0, 0);
    assert_true(t->o[0] == 3 && isfinite(t->bound[0]));
    close_judged(t);
}

static void a_boolean_mask(void **state)
{
    (void)state;
    struct judged *t = open_quarters(",mask=bool");
    uint8_t *mask = t->set.tensors.mask.data;
    mask[0] = mask[1] = 1;
    judge(t, 0, 0, 0);
    assert_o(t, 4, log(4));
    assert_near(t->bound[0] / U, 7.5 * L + 84, 1e-4); /* as without it */
    mask[1] = 0;
    judge(t, 0, 0, 0);
    assert_o(t, 1, 0);
    mask[0] = 0;
    judge(t, 0, 0, 0);
    assert_empty(t);
    close_judged(t);
}

/* Whatever the bits of a hidden key: the row is that of the other one, to the last bit. */
static void hidden_keys_do_not_enter(void **state)
{
    (void)state;
    static const double values[] = {NAN, INFINITY, -INFINITY};
    for (size_t n = 0; n < 3; n++) {
        struct judged *t = open_quarters(",mask=bias+bool");
        struct attn_tensors *s = &t->set.tensors;
        uint8_t *mask = s->mask.data;
        mask[0] = 1, mask[1] = 0;
        set(&s->bias, 0, 0);
        set(&s->bias, 1, 0);
        judge(t, 0, 0, 0);
        const double o = t->o[0], bound = t->bound[0], lse = t->row.lse_bound;
        tensors_set(&s->k, 0, 0, 1, 0, values[n]);
        tensors_set(&s->v, 0, 0, 1, 0, values[n]);
        set(&s->bias, 1, values[n]);
        judge(t, 0, 0, 0);
        assert_true(t->o[0] == o && t->bound[0] == bound && t->row.lse_bound == lse);
        mask[1] = 1; /* now the bias hides it, or nothing does */
        judge(t, 0, 0, 0);
        assert_int_equal(t->o[0] == o && t->bound[0] == bound, values[n] == -INFINITY);
        assert_int_equal(isnan(t->o[0]), values[n] != -INFINITY);
        close_judged(t);
    }
}

/* tanh L = 4/5, where tanh has the slope 9/25. */
static void a_softcap_scales_errors_by_its_slope(void **state)
{
    (void)state;
    struct judged *t = open_quarters(",softcap=1");
    judge(t, 0, 0, 0);
    const double l = 1 + exp(0.8), p = exp(0.8) / l, o = 1 + 4 * p;
    assert_o(t, o, log(l));
    assert_near(t->bound[0] / U,
                (1 - p) * (5 * 0.8 + 4) * (o - 1) + p * (5 * 0.36 * L + 4) * (5 - o) + 21 * o,
                1e-4);
    tensors_set(&t->set.tensors.k, 0, 0, 1, 0, INFINITY); /* the cap itself */
    judge(t, 0, 0, 0);
    assert_o(t, (1 + 5 * exp(1)) / (1 + exp(1)), log(1 + exp(1)));
    assert_true(isfinite(t->bound[0]));
    tensors_set(&t->set.tensors.k, 0, 0, 1, 0, NAN);
    judge(t, 0, 0, 0);
    assert_true(isnan(t->o[0]));
    close_judged(t);
}

/* The query stands at key 1: scores -L and L.  Aligned to the first key it stands there: 0 and 2L. */
static void alibi_counts_from_where_the_query_stands(void **state)
{
    (void)state;
    struct judged *t = open_quarters(",alibi=1");
    set(&t->set.tensors.slopes, 0, L);
    judge(t, 0, 0, 0);
    assert_o(t, 4.6, L + log(10.0 / 9));
    assert_near(t->bound[0] / U, 0.1 * (5 * 2 + 4 + 2) * L * 3.6 + 0.9 * 7 * L * 0.4 + 21 * 4.6,
                1e-4);
    close_judged(t);
    t = open_quarters(",alibi=1,mask=causal_top_left,window=-1:1");
    set(&t->set.tensors.slopes, 0, L);
    judge(t, 0, 0, 0);
    assert_o(t, 1, 0); /* it sees key 0 alone */
    t->c.problem.mask = 0;
    t->c.problem.options &= ~(unsigned)ATTN_OPTION_WINDOW;
    t->c.problem.q_len = 2; /* the second one of two stands where the one did */
    t->set.tensors.q.stride[2] = 0;
    judge(t, 0, 0, 1);
    assert_o(t, 4.6, L + log(10.0 / 9));
    judge(t, 0, 0, 0);
    assert_o(t, 4.6, 2 * L + log(10.0 / 9));
    close_judged(t);
}

/* A term of 1 both times: at 2^23 keys its distance is exact in f32, at 2^24 it need not be. */
static void alibi_rounds_far_positions(void **state)
{
    (void)state;
    double bound[2];
    struct judged *t = open_quarters(",alibi=1");
    t->set.tensors.q.stride[2] = 0;
    for (int far = 0; far < 2; far++) {
        const size_t distance = (size_t)1 << (23 + far);
        set(&t->set.tensors.slopes, 0, 1 / (double)distance);
        t->c.problem.q_len =
            distance + 1; /* the first query stands so far in front of the last key */
        judge(t, 0, 0, 0);
        assert_near(t->row.lse, 1 + log(4), 1e-6);
        bound[far] = t->row.lse_bound / U;
    }
    assert_near(bound[1] - bound[0], 4, 1e-4);
    close_judged(t);
}

/* Weights 1/5 and 3/5, and 1/5 of the sink, whose delta is 4L and whose value is 3.2 from O. */
static void a_sink_takes_weight_and_adds_no_value(void **state)
{
    (void)state;
    struct judged *t = open_quarters(",sinks=1");
    float *sink = t->set.tensors.sinks.data;
    *sink = 0;
    judge(t, 0, 0, 0);
    assert_o(t, 3.2, log(5));
    assert_near(t->weights[0], 0.2, 1e-7);
    assert_near(t->weights[1], 0.6, 1e-7);
    const double mean = 0.2 * 5 * L + 0.6 * 5 * L + 0.2 * 4 * L;
    assert_near(
        t->bound[0] / U,
        0.2 * 5 * L * 2.2 + 0.6 * 5 * L * 1.8 + 0.2 * 4 * L * 3.2 + (2 * 3 + 16) * 3.2 + 3.2, 1e-4);
    assert_near(t->row.lse_bound / U, mean + 3 + 8 + 4 * (L + log(5.0 / 3)) + log(5), 1e-4);
    *sink = 100;
    judge(t, 0, 0, 0);
    assert_o(t, 0, 100);
    *sink = -INFINITY;
    judge(t, 0, 0, 0);
    assert_o(t, 4, log(4));
    assert_near(t->bound[0] / U, 7.5 * L + 84, 1e-4);
    close_judged(t);
}

/* Without keys O is 0 and LSE the sink: 4u |s| for its product with log2(e), g(1), and what LSE costs.  NaN makes
 * both NaN. */
static void a_sink_alone(void **state)
{
    (void)state;
    struct judged *t = open_quarters(",sinks=1,ragged=1");
    *(float *)t->set.tensors.sinks.data = -3;
    *(int32_t *)t->set.tensors.kv_lens.data = 0;
    judge(t, 0, 0, 0);
    assert_true(t->o[0] == 0 && t->bound[0] == 0 && t->row.lse == -3);
    assert_near(t->row.lse_bound / U, 4 * 3 + 1 + 8 + 4 * 3 + 3, 1e-9);
    *(float *)t->set.tensors.sinks.data = NAN;
    judge(t, 0, 0, 0);
    assert_true(isnan(t->o[0]) && isnan(t->row.lse));
    close_judged(t);
}

/* Under a sink with more than half of the weight g is linear in the keys, and only there. */
static void sinks_may_align_roundings(void **state)
{
    (void)state;
    struct judged *t = open_judged("sq=1,skv=500,d=1,scale=1,sinks=1");
    tensors_set(&t->set.tensors.q, 0, 0, 0, 0, 1);
    for (size_t j = 0; j < 500; j++) {
        tensors_set(&t->set.tensors.k, 0, 0, j, 0, -0.01 * (double)j);
        tensors_set(&t->set.tensors.v, 0, 0, j, 0, 1);
    }
    float *sink = t->set.tensors.sinks.data;
    *sink = -100;
    judge(t, 0, 0, 0);
    const double few = t->row.lse_bound;
    *sink = 12;
    judge(t, 0, 0, 0);
    assert_true(few < (double)300 * U && t->row.lse_bound > (double)501 * U);
    close_judged(t);
}

/* K = 0 and 1 with a scale of L, V = 1 and 5 with one of 2: delta 7L twice, 22 instead of 20. */
static void elements_of_8_bits_stand_for_their_products_with_scales(void **state)
{
    static const struct {
        const char *dtype;
        uint8_t one, five; /* as bits */
    } types[] = {{"i8", 1, 5}, {"f8e4m3", 0x38, 0x4a}, {"f8e5m2", 0x3c, 0x45}};
    (void)state;
    for (size_t n = 0; n < 6; n++) {
        char text[64];
        snprintf(text, sizeof text, "sq=1,skv=2,d=1,scale=1,kv_dtype=%s", types[n / 2].dtype);
        struct judged *t = open_judged(text);
        struct attn_tensors *s = &t->set.tensors;
        tensors_set(&s->q, 0, 0, 0, 0, 1);
        for (size_t j = 0; j < 2; j++) {
            *(uint8_t *)attn_row(&s->k, 0, 0, j) = j ? types[n / 2].one : 0;
            *(uint8_t *)attn_row(&s->v, 0, 0, j) = j ? types[n / 2].five : types[n / 2].one;
            *(float *)attn_row(&s->k_scale, 0, 0, j) = (float)L;
            *(float *)attn_row(&s->v_scale, 0, 0, j) = 2;
        }
        if (n % 2) /* one a channel: of key 0, for all */
            *(float *)attn_row(&s->k_scale, 0, 0, 1) = NAN, s->k_scale.stride[2] = 0;
        judge(t, 0, 0, 0);
        assert_o(t, 8, log(4));
        assert_near(t->bound[0] / U, 7 * L * (0.25 * 6 + 0.75 * 2) + 22 * 8 + 8, 1e-4);
        close_judged(t);
    }
}

/* Weights of 1/4 and 3/4.  V has two groups: of 32 elements with a scale of 0.5, 2 above the zero point, or
 * 6 in even ones of the second key; of one element with a scale of 2, 1 and 2 above it.  The other half of a
 * row's last byte is nobody's. */
static void elements_of_4_bits_stand_for_their_distance_from_the_zero_point(void **state)
{
    (void)state;
    for (int zeros = 0; zeros < 2; zeros++) {
        const unsigned zero = zeros ? 7 : 8;
        struct judged *t = open_judged(zeros ? "sq=1,skv=2,d=1,dv=33,scale=1,kv_dtype=i4,kv_zeros=1"
                                             : "sq=1,skv=2,d=1,dv=33,scale=1,kv_dtype=i4");
        struct attn_tensors *s = &t->set.tensors;
        tensors_set(&s->q, 0, 0, 0, 0, 1);
        for (unsigned j = 0; j < 2; j++) {
            void *v = attn_row(&s->v, 0, 0, j);
            float *v_scale = attn_row(&s->v_scale, 0, 0, j);
            attn_set_nibble(attn_row(&s->k, 0, 0, j), 0, zero + j);
            attn_set_nibble(attn_row(&s->k, 0, 0, j), 1, 15 - j);
            for (size_t d = 0; d < 32; d++)
                attn_set_nibble(v, d, zero + 2 + 4 * (unsigned)(d % 2 ? 0 : j));
            attn_set_nibble(v, 32, zero + 1 + j);
            attn_set_nibble(v, 33, 15 * j);
            *(float *)attn_row(&s->k_scale, 0, 0, j) = (float)L;
            v_scale[0] = 0.5F;
            v_scale[1] = 2;
            if (zeros) {
                float *v_zero = attn_row(&s->v_zero, 0, 0, j);
                *(float *)attn_row(&s->k_zero, 0, 0, j) = v_zero[0] = v_zero[1] = 7;
            }
        }
        judge(t, 0, 0, 0);
        assert_near(t->row.lse, log(4), 1e-6);
        for (size_t d = 0; d < 32; d++)
            assert_near(t->o[d], d % 2 ? 1 : 0.25 * 1 + 0.75 * 3, 1e-6);
        assert_near(t->o[32], 0.25 * 2 + 0.75 * 4, 1e-6);
        close_judged(t);
    }
}

/* Sequences with both keys, one, and none; the causal mask counts from their own last key. */
static void each_sequence_has_its_own_last_key(void **state)
{
    (void)state;
    struct judged *t = open_quarters(",b=3,ragged=1,mask=causal");
    int32_t *lens = t->set.tensors.kv_lens.data;
    lens[0] = 2, lens[1] = 1, lens[2] = 0;
    tensors_set(&t->set.tensors.k, 1, 0, 1, 0, NAN);
    tensors_set(&t->set.tensors.v, 1, 0, 1, 0, NAN);
    judge(t, 0, 0, 0);
    assert_o(t, 4, log(4));
    judge(t, 1, 0, 0);
    assert_o(t, 1, 0);
    assert_true(t->weights[1] == 0 && t->weights_bound[1] == 0);
    judge(t, 2, 0, 0);
    assert_empty(t);
    close_judged(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bias_adds_to_scores_and_bound),
        cmocka_unit_test(large_biases_shift_a_row_and_mask_nothing),
        cmocka_unit_test(a_boolean_mask),
        cmocka_unit_test(hidden_keys_do_not_enter),
        cmocka_unit_test(a_softcap_scales_errors_by_its_slope),
        cmocka_unit_test(alibi_counts_from_where_the_query_stands),
        cmocka_unit_test(alibi_rounds_far_positions),
        cmocka_unit_test(a_sink_takes_weight_and_adds_no_value),
        cmocka_unit_test(a_sink_alone),
        cmocka_unit_test(sinks_may_align_roundings),
        cmocka_unit_test(elements_of_8_bits_stand_for_their_products_with_scales),
        cmocka_unit_test(elements_of_4_bits_stand_for_their_distance_from_the_zero_point),
        cmocka_unit_test(each_sequence_has_its_own_last_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
