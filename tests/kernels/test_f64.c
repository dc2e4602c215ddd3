/*
 * e^x and c * tanh(x / c) of the kernels in double, against long double, for every ISA of this host.
 *
 * Usage: test_f64 [CHUNKS]
 *
 * Without CHUNKS 100 chunks of 4096 random numbers each are looked at; with it as many, and the errors found
 * are printed.
 */
#include "testing.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "kernels/f64/f64_variant.h"

#define CHUNK 4096
#define CHUNKS 100

static const struct f64_variant *const variants[] = {
#ifdef TEST_BASELINE
    &f64_baseline,
#endif
#ifdef TEST_NEON
    &f64_neon,
#endif
#ifdef TEST_AVX2
    &f64_avx2,
#endif
#ifdef TEST_AVX512
    &f64_avx512,
#endif
#ifdef TEST_SVE128
    &f64_sve128,
#endif
#ifdef TEST_SVE256
    &f64_sve256,
#endif
#ifdef TEST_SVE512
    &f64_sve512,
#endif
};

static unsigned long chunks = CHUNKS;

/* |y - exact| in ulp of the exact result, whose 64 bits are enough here. */
static double ulps(double y, long double exact)
{
    int exponent;
    (void)frexpl(exact, &exponent);
    return (double)ldexpl(fabsl((long double)y - exact), 53 - exponent);
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* ---- errors ---------------------------------------------------------------------------------- */

#define SPREADS 3

/* Number i of a stream, of three spreads: over [-708.3964, 0], of any size down to 2^-60, and beside the
 * middles between multiples of ln 2, where the polynomial reaches furthest. */
static double argument(uint64_t i)
{
    const double unit = random_unit(1, 2 * i), other = random_unit(1, 2 * i + 1);
    if (i % SPREADS == 0)
        return -708.3964 * unit;
    if (i % SPREADS == 1)
        return -(1 + other) * exp2(-60 + floor(68 * unit));
    return -(floor(1021 * unit) + 0.5) * 0x1.62e42fefa39efp-1 + (other - 0.5) * 0x1p-10;
}

static double worst_exp(const struct f64_variant *variant, double *at)
{
    static double x[CHUNK], y[CHUNK];
    double worst = 0;
    for (uint64_t chunk = 0; chunk < chunks; chunk++) {
        for (size_t i = 0; i < CHUNK; i++)
            x[i] = argument(chunk * CHUNK + i);
        variant->exp(x, y, CHUNK);
        for (size_t i = 0; i < CHUNK; i++) {
            const double error = ulps(y[i], expl((long double)x[i]));
            *at = error <= worst ? *at : x[i];
            worst = error <= worst ? worst : error;
        }
    }
    return worst;
}

static double worst_softcap(const struct f64_variant *variant, double *at)
{
    static double x[CHUNK], y[CHUNK];
    double worst = 0;
    for (uint64_t chunk = 0; chunk < chunks; chunk++) {
        for (size_t i = 0; i < CHUNK; i++)
            x[i] = 50 * argument(SPREADS * (chunk * CHUNK + i) + 1);
        variant->softcap(50, x, y, CHUNK);
        for (size_t i = 0; i < CHUNK; i++) {
            const double error = ulps(y[i], 50 * tanhl((long double)x[i] / 50));
            *at = error <= worst ? *at : x[i];
            worst = error <= worst ? worst : error;
        }
    }
    return worst;
}

#define STATED_EXP 1.1     /* ulp, by exp_f64.h */
#define STATED_SOFTCAP 3.5 /* ulp, by softcap.h */

static void errors_are_as_stated(void **state)
{
    (void)state;
    for (size_t v = 0; v < COUNT(variants) && attn_isa_available(variants[v]->isa); v++) {
        const char *isa = attn_isa_name(variants[v]->isa);
        double at_exp = 0, at_cap = 0;
        const double exp_error = worst_exp(variants[v], &at_exp);
        const double cap_error = worst_softcap(variants[v], &at_cap);
        if (chunks != CHUNKS)
            print_message("%-8s exp %.4f ulp at %a, softcap %.4f ulp at %a\n", isa, exp_error,
                          at_exp, cap_error, at_cap);
        if (!(exp_error <= STATED_EXP && exp_error > 0.5 * STATED_EXP))
            fail_msg("%s: exp errs by %.3f ulp at %a", isa, exp_error, at_exp);
        if (!(cap_error <= STATED_SOFTCAP && cap_error > 0.5 * STATED_SOFTCAP))
            fail_msg("%s: softcap errs by %.3f ulp at %a", isa, cap_error, at_cap);
    }
}

/* ---- special values ---------------------------------------------------------------------------- */

static double exp_of(const struct f64_variant *variant, double x)
{
    double in[8], out[8];
    for (int i = 0; i < 8; i++)
        in[i] = x;
    variant->exp(in, out, 8);
    for (int i = 1; i < 8; i++)
        assert_int_equal(bits_of(out[i]), bits_of(out[0]));
    return out[0];
}

static double cap_of(const struct f64_variant *variant, float c, double x)
{
    double in[8], out[8];
    for (int i = 0; i < 8; i++)
        in[i] = x;
    variant->softcap(c, in, out, 8);
    for (int i = 1; i < 8; i++)
        assert_int_equal(bits_of(out[i]), bits_of(out[0]));
    return out[0];
}

static void special_values_of_exp(void **state)
{
    (void)state;
    for (size_t v = 0; v < COUNT(variants) && attn_isa_available(variants[v]->isa); v++) {
        assert_true(exp_of(variants[v], 0) == 1);
        assert_true(exp_of(variants[v], -0.0) == 1);
        assert_true(exp_of(variants[v], -INFINITY) == 0);
        assert_true(exp_of(variants[v], -DBL_MAX) == 0);
        assert_true(exp_of(variants[v], -0x1p-1074) == 1);
        assert_true(exp_of(variants[v], -708.39) >= DBL_MIN);
        assert_true(exp_of(variants[v], -708.4) == 0);
        assert_true(isnan(exp_of(variants[v], NAN)));
        assert_true(isnan(exp_of(variants[v], -NAN)));
    }
}

static void special_values_of_softcap(void **state)
{
    static const float caps[] = {0x1p-149f, 1e-30f, 1, 30, 1e30f, FLT_MAX};
    (void)state;
    for (size_t v = 0; v < COUNT(variants) && attn_isa_available(variants[v]->isa); v++)
        for (size_t c = 0; c < COUNT(caps); c++) {
            const double limit = (double)caps[c];
            assert_int_equal(bits_of(cap_of(variants[v], caps[c], 0)), bits_of(0));
            assert_int_equal(bits_of(cap_of(variants[v], caps[c], -0.0)), bits_of(-0.0));
            assert_int_equal(bits_of(cap_of(variants[v], caps[c], INFINITY)), bits_of(limit));
            assert_int_equal(bits_of(cap_of(variants[v], caps[c], -INFINITY)), bits_of(-limit));
            assert_true(isnan(cap_of(variants[v], caps[c], NAN)));
            for (double x = 1e-3 * limit; x < 1e6 * limit; x *= 1.7) {
                const double y = cap_of(variants[v], caps[c], x);
                assert_true(y > 0 && y <= limit);
                assert_int_equal(bits_of(cap_of(variants[v], caps[c], -x)), bits_of(-y));
            }
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_as_stated),
        cmocka_unit_test(special_values_of_exp),
        cmocka_unit_test(special_values_of_softcap),
    };
    if (argc > 1)
        chunks = strtoul(argv[1], NULL, 10);
    if (argc > 2 || chunks == 0) {
        fprintf(stderr, "usage: %s [CHUNKS]\n", argv[0]);
        return 2;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
