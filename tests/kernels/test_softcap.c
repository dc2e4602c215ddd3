/*
 * c * tanh(x / c) of the kernels against double precision, for every ISA of this host.
 *
 * Usage: test_softcap [STRIDE]
 *
 * Without STRIDE every 4001st positive float32 is looked at; with it every STRIDE-th, and the errors
 * found are printed: `test_softcap 1` looks at all of them.
 */
#include "testing.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/softcap/softcap_variant.h"

#define CHUNK 4096

static const struct softcap_variant *const variants[] = {
#ifdef TEST_BASELINE
    &softcap_baseline,
#endif
#ifdef TEST_NEON
    &softcap_neon,
#endif
#ifdef TEST_AVX2
    &softcap_avx2,
#endif
#ifdef TEST_AVX512
    &softcap_avx512,
#endif
#ifdef TEST_SVE128
    &softcap_sve128,
#endif
#ifdef TEST_SVE256
    &softcap_sve256,
#endif
#ifdef TEST_SVE512
    &softcap_sve512,
#endif
};

static unsigned long stride = 4001;

static float of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* |y - c tanh(x / c)| in ulp of the exact result. */
static double ulps(float c, float x, float y)
{
    const double limit = (double)c, exact = limit * tanh((double)x / limit);
    int exponent;
    (void)frexp(exact, &exponent);
    return fabs((double)y - exact) * ldexp(1, 24 - exponent);
}

/* ---- tests ----------------------------------------------------------------------------------- */

#define STATED 4.6 /* ulp, by softcap.h */

static void errors_are_as_stated(void **state)
{
    static float x[CHUNK], y[CHUNK];
    static const float caps[] = {1, 50};
    (void)state;
    for (size_t v = 0; v < COUNT(variants) && attn_isa_available(variants[v]->isa); v++)
        for (size_t c = 0; c < COUNT(caps); c++) {
            double worst = 0;
            float at = 0;
            const uint64_t from = bits_of(caps[c] * 0x1p-125f), to = bits_of(INFINITY);
            for (uint64_t bits = from; bits <= to; bits += CHUNK * stride) {
                for (size_t i = 0; i < CHUNK; i++)
                    x[i] = of_bits((uint32_t)(bits + i * stride < to ? bits + i * stride : to));
                variants[v]->run(caps[c], x, y, CHUNK);
                for (size_t i = 0; i < CHUNK; i++) {
                    const double error = ulps(caps[c], x[i], y[i]);
                    at = error <= worst ? at : x[i];
                    worst = error <= worst ? worst : error;
                }
            }
            if (stride < 4001)
                print_message("%-8s c = %g: %.4f ulp at %a\n", attn_isa_name(variants[v]->isa),
                              (double)caps[c], worst, (double)at);
            if (!(worst <= STATED && worst > 0.5 * STATED))
                fail_msg("%s errs by %.3f ulp at %a with c = %g", attn_isa_name(variants[v]->isa),
                         worst, (double)at, (double)caps[c]);
        }
}

/* One score, which must come out the same in every lane. */
static float one(const struct softcap_variant *variant, float c, float x)
{
    float in[16], out[16];
    for (int i = 0; i < 16; i++)
        in[i] = x;
    variant->run(c, in, out, 16);
    for (int i = 1; i < 16; i++)
        assert_int_equal(bits_of(out[i]), bits_of(out[0]));
    return out[0];
}

static void a_nan_stays_and_infinite_scores_are_the_cap(void **state)
{
    static const uint32_t nans[] = {0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001, 0x7fffffff};
    static const float caps[] = {0x1p-149f, 1e-30f, 1, 30, 1e30f, FLT_MAX};
    (void)state;
    for (size_t v = 0; v < COUNT(variants) && attn_isa_available(variants[v]->isa); v++)
        for (size_t c = 0; c < COUNT(caps); c++) {
            const float limit = caps[c];
            for (size_t n = 0; n < COUNT(nans); n++)
                assert_true(isnan(one(variants[v], caps[c], of_bits(nans[n]))));
            assert_int_equal(bits_of(one(variants[v], caps[c], 0)), bits_of(0));
            assert_int_equal(bits_of(one(variants[v], caps[c], -0.0f)), bits_of(-0.0f));
            assert_int_equal(bits_of(one(variants[v], caps[c], INFINITY)), bits_of(limit));
            assert_int_equal(bits_of(one(variants[v], caps[c], -INFINITY)), bits_of(-limit));
        }
}

/* Results are odd in x, and do not pass the limit. */
static void odd_and_bounded(void **state)
{
    (void)state;
    for (size_t v = 0; v < COUNT(variants) && attn_isa_available(variants[v]->isa); v++)
        for (uint32_t bits = bits_of(0x1p-20f); bits < bits_of(0x1p20f); bits += 20011) {
            const float x = of_bits(bits), y = one(variants[v], 30, x);
            assert_int_equal(bits_of(one(variants[v], 30, -x)), bits_of(-y));
            assert_true(y > 0 && y <= 30);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_as_stated),
        cmocka_unit_test(a_nan_stays_and_infinite_scores_are_the_cap),
        cmocka_unit_test(odd_and_bounded),
    };
    if (argc > 1)
        stride = strtoul(argv[1], NULL, 10);
    if (argc > 2 || stride == 0 || stride > 4001) {
        fprintf(stderr, "usage: %s [STRIDE], 1 to 4001\n", argv[0]);
        return 2;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
