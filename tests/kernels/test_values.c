/*
 * Every variant on values that are not finite or nearly so, on rows without keys, on unusual
 * scales; and no less precise than plain arithmetic.
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

static void set_row(const struct attn_tensor *t, size_t h, size_t i, size_t n, double x)
{
    for (size_t d = 0; d < n; d++)
        tensors_set(t, 0, h, i, d, x);
}

/* Rows that see the key must be what the reference says (NaN, or infinite), all others must not
 * know of it. */
static void not_finite_behind_the_mask(void **state)
{
    (void)state;
    static const char *const problems[] = {
        "sq=40,skv=40,d=16,mask=causal,outputs=o+lse+weights",
        "sq=70,skv=300,d=64,mask=causal,outputs=o+lse",
        "sq=200,skv=150,d=40,mask=causal,outputs=o+lse",
        "sq=260,skv=260,d=8,dv=20,mask=causal_top_left,outputs=o+lse+weights",
        "hq=6,hkv=2,sq=33,skv=90,d=24,mask=causal,outputs=o+lse",
        "sq=150,skv=150,d=16,window=20:5,outputs=o+lse+weights",
        "sq=100,skv=300,d=64,mask=causal,window=9,outputs=o+lse",
        "sq=20,skv=20,d=3,window=0:0,outputs=o+lse+weights",
        "sq=70,skv=301,d=64,mask=causal,dtype=bf16,outputs=o+lse",
        "hq=16,hkv=2,sq=3,skv=131,d=24,window=20:5,dtype=bf16,outputs=o+lse",
        "sq=33,skv=91,d=15,mask=causal,window=9,dtype=bf16,outputs=o+lse",
        "hq=8,hkv=1,sq=2,skv=200,d=33,mask=causal,dtype=f16,outputs=o+lse",
    };
    static const double values[] = {NAN, INFINITY, -INFINITY};
    for (size_t p = 0; p < COUNT(problems); p++)
        for (size_t v = 0; v < COUNT(values); v++)
            for (size_t at = 0; at < 4; at++) {
                struct judged_problem *t = tested_open(problems[p]);
                const struct attn_problem *q = &t->c.problem;
                const size_t key = at * (q->kv_len - 1) / 3, g = q->kv_heads - 1;
                if (at % 2)
                    tensors_set(&t->set.tensors.v, 0, g, key, q->v_dim - 1, values[v]);
                else
                    set_row(&t->set.tensors.v, g, key, q->v_dim, values[v]);
                if (isnan(values[v]))
                    set_row(&t->set.tensors.k, g, key, q->qk_dim, values[v]);
                judged_changed(t);
                tested_compare(t, 2);
                judged_close(t);
            }
    tested_skip_unless_ran();
}

/* A NaN in Q, K or V reaches the rows that see it and no other. */
static void visible_nan(void **state)
{
    (void)state;
    for (size_t which = 0; which < 3; which++)
        for (size_t at = 0; at < 5; at++) {
            struct judged_problem *t =
                tested_open("hq=4,hkv=2,sq=67,skv=131,d=40,outputs=o+lse+weights");
            const struct attn_tensor *const operands[] = {&t->set.tensors.q, &t->set.tensors.k,
                                                          &t->set.tensors.v};
            const size_t rows = which == 0 ? 67 : 131;
            tensors_set(operands[which], 0, which == 0 ? 3 : 1, at * (rows - 1) / 4, 39, NAN);
            judged_changed(t);
            tested_compare(t, 2);
            judged_close(t);
        }
    tested_skip_unless_ran();
}

static void rows_without_keys(void **state)
{
    (void)state;
    /* rows 0..29 see nothing; by window, all rows from 20 on */
    static const struct {
        const char *text;
        size_t empty_from, empty_to;
    } cases[] = {
        {"sq=70,skv=40,d=16,mask=causal,outputs=o+lse+weights", 0, 30},
        {"sq=50,skv=10,d=16,mask=causal_top_left,window=10,outputs=o+lse+weights", 20, 50},
        {"hq=4,hkv=1,sq=9,skv=3,d=16,mask=causal,outputs=o+lse+weights", 0, 6},
    };
    for (size_t c = 0; c < COUNT(cases); c++) {
        struct judged_problem *t = tested_open(cases[c].text);
        tested_compare(t, 2);
        for (size_t i = cases[c].empty_from; tested_ran && i < cases[c].empty_to; i++) {
            for (size_t d = 0; d < 16; d++)
                assert_true(tensors_get(&t->set.tensors.o, 0, 0, i, d) == 0);
            if (t->outputs & ATTN_OUTPUT_LSE)
                assert_true(tensors_get(&t->set.tensors.lse, 0, 0, i, 0) == -INFINITY);
        }
        judged_close(t);
    }
    tested_skip_unless_ran();
}

/* Infinite keys that no query can bear: a row whose scores are all -inf is one without keys. */
static void scores_of_minus_infinity(void **state)
{
    (void)state;
    struct judged_problem *t = tested_open("hq=2,sq=40,skv=70,d=16,outputs=o+lse+weights");
    const struct attn_tensors *s = &t->set.tensors;
    set_row(&s->q, 0, 17, 16, 1);
    set_row(&s->q, 1, 39, 16, 1e-3);
    for (size_t h = 0; h < 2; h++)
        for (size_t j = 0; j < 70; j++)
            set_row(&s->k, h, j, 16, -INFINITY);
    judged_changed(t);
    tested_compare(t, 2);
    for (size_t d = 0; tested_ran && d < 16; d++) {
        assert_true(tensors_get(&s->o, 0, 0, 17, d) == 0);
        assert_true(tensors_get(&s->o, 0, 1, 39, d) == 0);
    }
    judged_close(t);
    tested_skip_unless_ran();
}

/* One query whose scores are all NaN, or -inf as far as `minus` keys and then far below 0: parts of
 * a row are without keys, too. */
static void a_row_alone(void **state)
{
    (void)state;
    static const struct {
        double q;
        size_t minus;
    } cases[] = {{NAN, 0}, {1, 1100}, {1, 1300}};
    const size_t keys = 1300;
    for (size_t c = 0; c < COUNT(cases); c++) {
        struct judged_problem *t = tested_open("hq=2,sq=1,skv=1300,d=16,outputs=o+lse");
        set_row(&t->set.tensors.q, 1, 0, 16, cases[c].q);
        for (size_t j = 0; j < keys; j++)
            set_row(&t->set.tensors.k, 1, j, 16, j < cases[c].minus ? -INFINITY : -30);
        judged_changed(t);
        tested_compare(t, 2);
        judged_close(t);
    }
    tested_skip_unless_ran();
}

/* The first keys say nothing about the maximum: their scores are -inf, NaN for one query in three, or
 * far below the others. */
static void first_keys_far_below(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 8, 9, 136};
    static const double far[] = {-INFINITY, -1e30, -60};
    for (size_t c = 0; c < COUNT(counts); c++)
        for (size_t f = 0; f < COUNT(far); f++)
            for (size_t nan_every = 0; nan_every <= 3; nan_every += 3) {
                struct judged_problem *t = tested_open("sq=64,skv=256,d=64,outputs=o+lse");
                for (size_t i = 0; i < 64; i++)
                    set_row(&t->set.tensors.q, 0, i, 64, 0.01 * (double)(i + 1));
                for (size_t i = 0; nan_every && i < 64; i += nan_every)
                    tensors_set(&t->set.tensors.q, 0, 0, i, 63, far[f] < -60 ? -1 : 0);
                for (size_t j = 0; j < counts[c]; j++)
                    set_row(&t->set.tensors.k, 0, j, 64, far[f]);
                judged_changed(t);
                tested_compare(t, 1);
                judged_close(t);
            }
    tested_skip_unless_ran();
}

/* From scores that all underflow beside one, and beyond what exp could take, to ones near
 * FLT_MAX; from V that is subnormal to V whose sum would overflow before it is divided. */
static void extreme_magnitudes(void **state)
{
    (void)state;
    static const double scores[] = {0, 1e-30, 10, 60, 1e4, 1e18};
    static const double values[] = {1, 1e-40, FLT_MAX / (512.0 * 200)};
    for (size_t s = 0; s < COUNT(scores); s++)
        for (size_t v = 0; v < COUNT(values); v++) {
            struct judged_problem *t = tested_open("sq=50,skv=200,d=16,outputs=o+lse+weights");
            judged_magnify(t, &t->set.tensors.q, scores[s]);
            judged_magnify(t, &t->set.tensors.k, s + 1 < COUNT(scores) ? 1 : 1e18);
            judged_magnify(t, &t->set.tensors.v, values[v] / 5);
            judged_changed(t);
            tested_compare(t, 1);
            judged_close(t);
        }
    tested_skip_unless_ran();
}

static void scales(void **state)
{
    (void)state;
    static const char *const problems[] = {"sq=33,skv=65,d=16,scale=2.5,outputs=o+lse",
                                           "sq=33,skv=65,d=16,scale=-0.5,outputs=o+lse",
                                           "sq=33,skv=65,d=16,scale=1e-20,outputs=o+lse"};
    for (size_t p = 0; p < COUNT(problems); p++) {
        struct judged_problem *t = tested_open(problems[p]);
        tested_compare(t, 1);
        judged_close(t);
    }
    tested_skip_unless_ran();
}

/* No less precise than plain f32 arithmetic: at most 8 times its RMS error. */
static void precision(void **state)
{
    (void)state;
    static const char *const problems[] = {
        "sq=64,skv=1024,d=64", "sq=100,skv=300,d=128,mask=causal", "sq=16,skv=3000,d=40"};
    const struct attn_kernel *naive = attn_find("naive", ATTN_ISA_BASELINE);
    if (!(tested->caps.dtypes & 1u << ATTN_F32))
        skip(); /* of 16 bits there is nothing plain */
    for (size_t p = 0; p < COUNT(problems); p++) {
        struct judged_problem *t = tested_open(problems[p]);
        assert_true(judged_run(t, naive, 1));
        const double plain = judged_rms_error(t);
        assert_true(plain > 0);
        if (judged_run(t, tested, 1)) {
            tested_ran++;
            if (!(judged_rms_error(t) <= 8 * plain))
                fail_msg("RMS error %g, naive has %g", judged_rms_error(t), plain);
        }
        judged_close(t);
    }
    tested_skip_unless_ran();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(not_finite_behind_the_mask, tested_start),
        cmocka_unit_test_setup(visible_nan, tested_start),
        cmocka_unit_test_setup(rows_without_keys, tested_start),
        cmocka_unit_test_setup(scores_of_minus_infinity, tested_start),
        cmocka_unit_test_setup(a_row_alone, tested_start),
        cmocka_unit_test_setup(first_keys_far_below, tested_start),
        cmocka_unit_test_setup(extreme_magnitudes, tested_start),
        cmocka_unit_test_setup(scales, tested_start),
        cmocka_unit_test_setup(precision, tested_start),
    };
    const int status = tested_choose(argc, argv);
    return status ? status : cmocka_run_group_tests(tests, NULL, NULL);
}
