/*
 * Every variant on what options may hold: biases as large as floats are, sinks that take all or nothing,
 * scores beyond a cap, scales of 0; and on what masks hide from some rows and not from others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>

#include "judged_problem.h"
#include "tested_kernel.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void near(double got, double expected, double tolerance)
{
    if (!(got == expected || fabs(got - expected) <= tolerance))
        fail_msg("%.9g is not within %g of %.9g", got, tolerance, expected);
}

/* x, or the largest number of the tensor's type. */
static double held(const struct attn_tensor *t, double x)
{
    const double largest = t->dtype == ATTN_BF16 ? 0x1.fep127 : FLT_MAX;
    return isinf(x) ? x : fmax(-largest, fmin(largest, x));
}

/* The bound of a row with such a bias lets anything but NaN through: what must come out is said here.
 * Keys 0..last have one bias, the others another one. */
static void huge_biases(void **state)
{
    (void)state;
    enum { KEYS = 70, LAST = 2 };
    static const struct {
        double first, others;
        size_t from, to; /* keys that share the row: LSE is their bias, less ln of their number */
    } cases[] = {
        {-FLT_MAX, -FLT_MAX, 0, KEYS}, /* torch.finfo.min at each key: their mean */
        {-FLT_MAX, -INFINITY, 0, LAST + 1},
        {-FLT_MAX, -3e38, LAST + 1, KEYS},
        {-1e30, -1e30, 0, KEYS},
        {3e38, -FLT_MAX, 0, LAST + 1},
        {3e38, 3e38, 0, KEYS},
        {-INFINITY, -INFINITY, 0, 0},
    };
    for (size_t c = 0; c < COUNT(cases); c++) {
        struct judged_problem *t =
            tested_open("hq=2,hkv=1,sq=5,skv=70,d=16,mask=bias,outputs=o+lse+weights");
        const struct attn_tensors *s = &t->set.tensors;
        for (size_t h = 0; h < 2; h++)
            for (size_t j = 0; j < KEYS; j++)
                tensors_set(&s->bias, 0, h, 3, j,
                            held(&s->bias, j <= LAST ? cases[c].first : cases[c].others));
        judged_changed(t);
        /* a bias of f16 is not large beside a score */
        if (s->bias.dtype != ATTN_F16 && tested_compare(t, 2)) {
            const double n = (double)(cases[c].to - cases[c].from);
            const double lse = tensors_get(&s->bias, 0, 1, 3, cases[c].from);
            for (size_t d = 0; d < 16; d++) {
                double mean = 0;
                for (size_t j = cases[c].from; j < cases[c].to; j++)
                    mean += tensors_get(&s->v, 0, 0, j, d) / n;
                near(tensors_get(&s->o, 0, 1, 3, d), mean,
                     s->o.dtype == ATTN_F32 ? 1e-5 : 0x1p-8 * fabs(mean));
            }
            if (t->outputs & ATTN_OUTPUT_LSE)
                near(tensors_get(&s->lse, 0, 1, 3, 0), lse, 1e-6 * fabs(lse));
        }
        judged_close(t);
    }
    tested_skip_unless_ran();
}

/* Keys that some rows see are NaN or infinite: those rows must be what the reference says, the others
 * must not know of it, nor may weights of hidden keys be anything but 0 in rows that are NaN. */
static void not_finite_behind_operands(void **state)
{
    (void)state;
    static const char *const problems[] = {
        "sq=40,skv=70,d=16,mask=bool,outputs=o+lse+weights",
        "sq=70,skv=300,d=64,mask=bias,outputs=o+lse+weights",
        "hq=6,hkv=2,sq=33,skv=90,d=24,mask=causal+bias+bool,outputs=o+lse+weights",
        "hq=4,hkv=1,sq=3,skv=200,d=33,mask=bool,page=16,outputs=o+lse",
        "b=2,hq=4,hkv=2,sq=1,skv=600,d=40,mask=bool,window=100,sinks=1,outputs=o+lse",
        "hq=4,hkv=1,sq=9,skv=131,d=24,mask=bool,softcap=3,alibi=1,dtype=bf16,outputs=o+lse",
        "hq=2,sq=70,skv=261,d=64,mask=bool+bias,dtype=bf16,outputs=o+lse",
        "sq=20,skv=91,d=15,mask=bool,dtype=f16,outputs=o+lse",
    };
    static const double values[] = {NAN, INFINITY, -INFINITY};
    for (size_t p = 0; p < COUNT(problems); p++)
        for (size_t v = 0; v < COUNT(values); v++)
            for (size_t at = 0; at < 3; at++) {
                struct judged_problem *t = tested_open(problems[p]);
                const struct attn_problem *q = &t->c.problem;
                const struct attn_tensors *s = &t->set.tensors;
                const struct attn_sequence all = attn_sequence(q, s, 0);
                const size_t key = at * (q->kv_len - 1) / 2, g = q->kv_heads - 1;
                float *k = attn_kv_row(q, s, &s->k, &all, 0, g, key);
                float *w = attn_kv_row(q, s, &s->v, &all, 0, g, key);
                const struct attn_tensor k_row = {k, s->k.dtype, {0}}, v_row = {w, s->v.dtype, {0}};
                tensors_set(&v_row, 0, 0, 0, q->v_dim - 1, values[v]);
                if (isnan(values[v]))
                    tensors_set(&k_row, 0, 0, 0, 0, values[v]);
                judged_changed(t);
                tested_compare(t, 2);
                judged_close(t);
            }
    tested_skip_unless_ran();
}

/* A NaN in the bias of one pair: its row alone is NaN, and not where the boolean mask hides the key. */
static void nan_in_the_bias(void **state)
{
    (void)state;
    for (size_t j = 0; j < 91; j += 9) {
        struct judged_problem *t =
            tested_open("hq=2,sq=19,skv=91,d=20,mask=bias+bool,outputs=o+lse+weights");
        const struct attn_tensors *s = &t->set.tensors;
        const bool seen = tensors_get(&s->mask, 0, 1, 7, j) != 0;
        tensors_set(&s->bias, 0, 1, 7, j, NAN);
        judged_changed(t);
        if (tested_compare(t, 1)) {
            assert_int_equal(isnan(tensors_get(&s->o, 0, 1, 7, 3)), seen);
            assert_false(isnan(tensors_get(&s->o, 0, 0, 7, 3)));
            assert_false(isnan(tensors_get(&s->o, 0, 1, 8, 3)));
        }
        judged_close(t);
    }
    tested_skip_unless_ran();
}

/* A sink of every size, in rows that see keys and in rows that see none: 0 to 6 by the causal mask. */
static void sinks(void **state)
{
    (void)state;
    static const double values[] = {-INFINITY, -1e30, -90, 0, 15, 90, 1e30};
    for (size_t v = 0; v < COUNT(values); v++) {
        struct judged_problem *t =
            tested_open("hq=4,hkv=2,sq=70,skv=64,d=24,mask=causal,sinks=1,outputs=o+lse+weights");
        const struct attn_tensors *s = &t->set.tensors;
        ((float *)s->sinks.data)[3] = (float)values[v];
        judged_changed(t);
        if (tested_compare(t, 2)) {
            for (size_t d = 0; d < 24; d++)
                assert_true(tensors_get(&s->o, 0, 3, 2, d) == 0);
            if (t->outputs & ATTN_OUTPUT_LSE)
                assert_true(tensors_get(&s->lse, 0, 3, 2, 0) == (double)(float)values[v]);
            if (values[v] >= 90) /* it takes all */
                near(tensors_get(&s->o, 0, 3, 69, 0), 0, 1e-30);
        }
        judged_close(t);
    }
    tested_skip_unless_ran();
}

/* Scores far beyond the cap, infinite ones, and all of one size. */
static void beyond_the_cap(void **state)
{
    (void)state;
    static const char *const problems[] = {
        "sq=33,skv=90,d=16,softcap=0.001,outputs=o+lse+weights",
        "sq=33,skv=90,d=16,softcap=30,scale=50,outputs=o+lse+weights",
        "sq=33,skv=90,d=16,softcap=1e6,outputs=o+lse+weights",
        "hq=8,hkv=1,sq=1,skv=500,d=64,softcap=2,scale=1e10,outputs=o+lse",
    };
    for (size_t p = 0; p < COUNT(problems); p++)
        for (size_t infinite = 0; infinite < 2; infinite++) {
            struct judged_problem *t = tested_open(problems[p]);
            for (size_t d = 0; infinite && d < t->c.problem.qk_dim; d++)
                tensors_set(&t->set.tensors.k, 0, 0, 7, d, d ? 0 : INFINITY);
            for (size_t i = 0; infinite && i < t->c.problem.q_len; i++)
                tensors_set(&t->set.tensors.q, 0, 0, i, 0, i % 2 ? -1 : 1);
            judged_changed(t);
            tested_compare(t, 2);
            judged_close(t);
        }
    tested_skip_unless_ran();
}

static void scales_of_int8(void **state)
{
    (void)state;
    static const double scales[] = {0, 1, 1e-30, 1e4, NAN};
    for (size_t n = 0; n < COUNT(scales); n++) {
        struct judged_problem *t =
            tested_open("hq=4,hkv=2,sq=9,skv=70,d=24,kv_dtype=i8,mask=causal,outputs=o+lse");
        const struct attn_tensors *s = &t->set.tensors;
        *(float *)attn_row(&s->k_scale, 0, 1, 66) = (float)scales[n];
        *(float *)attn_row(&s->v_scale, 0, 1, 65) = (float)scales[n];
        judged_changed(t);
        tested_compare(t, 2);
        judged_close(t);
    }
    tested_skip_unless_ran();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(huge_biases, tested_start),
        cmocka_unit_test_setup(not_finite_behind_operands, tested_start),
        cmocka_unit_test_setup(nan_in_the_bias, tested_start),
        cmocka_unit_test_setup(sinks, tested_start),
        cmocka_unit_test_setup(beyond_the_cap, tested_start),
        cmocka_unit_test_setup(scales_of_int8, tested_start),
    };
    const int status = tested_choose(argc, argv);
    return status ? status : cmocka_run_group_tests(tests, NULL, NULL);
}
