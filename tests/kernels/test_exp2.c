/*
 * 2^x and e^x of the kernels against double precision, for every ISA of this host.
 *
 * Usage: test_exp2 [STRIDE [PART PARTS]]
 *
 * Without STRIDE all fractions of four exponents and every 1009th float32 of [-150, 0] are looked
 * at; with it every STRIDE-th, and the errors found are printed: `test_exp2 1` looks at all
 * 1,125,515,265 of them, the sweep that exp2.h quotes, in half a minute.  An emulator takes a quarter of an
 * hour: `test_exp2 1 2 8` is the second eighth of that.
 */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/exp2/exp2_variant.h"

#define CHUNK 4096

static const struct exp2_variant *const variants[] = {
#ifdef TEST_BASELINE
    &exp2_baseline,
#endif
#ifdef TEST_NEON
    &exp2_neon,
#endif
#ifdef TEST_AVX2
    &exp2_avx2,
#endif
#ifdef TEST_AVX512
    &exp2_avx512,
#endif
#ifdef TEST_SVE128
    &exp2_sve128,
#endif
#ifdef TEST_SVE256
    &exp2_sve256,
#endif
#ifdef TEST_SVE512
    &exp2_sve512,
#endif
};

static const char *const functions[] = {"exp2_any", "exp2_above_floor", "exp2_precise",
                                        "exp_precise"};

/* vf_fma(), which exp_precise() has, rounds once wherever there is FMA, optimised or not. */
static bool has_fma(const struct exp2_variant *v)
{
    return v->isa != ATTN_ISA_BASELINE || v->fuses();
}

/* What exp2.h says of their largest error for x in [-126, 0], in ulp of the result. */
static double stated(const struct exp2_variant *v, enum exp2_function f)
{
    const enum attn_isa isa = v->isa;
    if (f == EXP_EXACTER)
        return v->fuses() ? 1.25 : has_fma(v) ? 1.53 : 1.32;
    if (f == EXP2_EXACTER)
        return v->fuses() ? 0.97 : 1.23;
    switch (isa) {
    case ATTN_ISA_AVX512:
        return 2.66;
    case ATTN_ISA_AVX2:
        return 1.96;
    case ATTN_ISA_SVE128:
    case ATTN_ISA_SVE256:
    case ATTN_ISA_SVE512:
        return 2.02;
    default:
        return 2.30;
    }
}

/* What comes on top, in |x| 2^-24 of the result. */
static double stated_slope(const struct exp2_variant *v, enum exp2_function f)
{
    return f != EXP_EXACTER ? 0 : has_fma(v) ? 0.22 : 1.2;
}

static unsigned long stride; /* 0: the test's own choice */
static unsigned long part = 1, parts = 1;

/* ---- sweeps ---------------------------------------------------------------------------------- */

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

struct errors {
    double ulp;       /* largest where the result is normal, less what the slope allows */
    float at;         /* there */
    double subnormal; /* largest absolute one below, but above -127, in units of 2^-126 */
    size_t not_zero;  /* results other than +0 from -127 down */
};

static struct errors found[COUNT(variants)][EXP2_FUNCTIONS];

/* Arguments with their powers, of 2 and of e, and what makes ulps of an error there. */
struct chunk {
    size_t n;
    float x[CHUNK];
    double exact[2][CHUNK], per_ulp[2][CHUNK];
};

static void judge(struct errors *e, float x, double exact, double per_ulp, double slope, float y)
{
    const double error = fabs((double)y - exact);
    if (exact >= 0x1p-126) {
        const double ulp = (error - slope * fabs((double)x) * 0x1p-24 * exact) * per_ulp;
        if (!(ulp <= e->ulp)) {
            e->ulp = ulp;
            e->at = x;
        }
    } else if (x <= -127) {
        e->not_zero += bits_of(y) != 0;
    } else if (!(error * 0x1p126 <= e->subnormal)) {
        e->subnormal = error * 0x1p126;
    }
}

static void judge_chunk(const struct chunk *c)
{
    float y[CHUNK];
    for (size_t v = 0; v < COUNT(variants); v++)
        for (int f = 0; f < EXP2_FUNCTIONS && attn_isa_available(variants[v]->isa); f++) {
            const double slope = stated_slope(variants[v], (enum exp2_function)f);
            const int base = f == EXP_EXACTER;
            variants[v]->run[f](c->x, y, CHUNK);
            for (size_t i = 0; i < c->n; i++)
                if (f != EXP2_ABOVE_FLOOR || c->x[i] >= -127)
                    judge(&found[v][f], c->x[i], c->exact[base][i], c->per_ulp[base][i], slope,
                          y[i]);
        }
}

/* 1 over the unit in the last place of a float32 that is x, positive and normal in double. */
static double per_ulp(double x)
{
    uint64_t bits;
    double inverse;
    memcpy(&bits, &x, sizeof bits);
    bits = ((uint64_t)(2 * 1023 + 23) << 52) - (bits >> 52 << 52); /* 2^(23 - exponent of x) */
    memcpy(&inverse, &bits, sizeof inverse);
    return inverse;
}

/* All, or every step-th, of the negative floats from bits `from` to bits `to`. */
static void sweep(uint32_t from, uint32_t to, uint32_t step)
{
    static struct chunk c;
    for (uint64_t bits = from; bits <= to;) {
        for (c.n = 0; c.n < CHUNK && bits <= to; c.n++, bits += step) {
            c.x[c.n] = of_bits((uint32_t)bits);
            c.exact[0][c.n] = exp2((double)c.x[c.n]);
            c.exact[1][c.n] = exp((double)c.x[c.n]);
            for (int base = 0; base < 2; base++)
                c.per_ulp[base][c.n] = per_ulp(c.exact[base][c.n]);
        }
        judge_chunk(&c);
    }
}

/* All negative floats whose absolute value lies in [least, 2 least). */
static void sweep_exponent(float least)
{
    sweep(bits_of(-least), bits_of(-least) + (1u << 23) - 1, 1);
}

static void print_errors(void)
{
    for (size_t v = 0; v < COUNT(variants); v++)
        for (int f = 0; f < EXP2_FUNCTIONS && attn_isa_available(variants[v]->isa); f++) {
            const struct errors *e = &found[v][f];
            print_message("%-8s %-16s %.4f ulp at %a; below -126 %.3f * 2^-126; %zu not 0\n",
                          attn_isa_name(variants[v]->isa), functions[f], e->ulp, (double)e->at,
                          e->subnormal, e->not_zero);
        }
}

/* The part that was asked for of every stride-th float. */
static void sweep_part(void)
{
    const uint64_t first = bits_of(-0.0f), steps = (bits_of(-150.0f) - first) / stride + 1;
    const uint64_t from = steps * (part - 1) / parts, to = steps * part / parts;
    sweep((uint32_t)(first + from * stride), (uint32_t)(first + (to - 1) * stride),
          (uint32_t)stride);
    print_errors();
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void errors_are_as_stated(void **state)
{
    (void)state;
    if (stride) {
        sweep_part();
    } else {
        sweep_exponent(0x1p-4f); /* the largest errors of avx512, */
        sweep_exponent(0x1p-3f); /* of avx2, */
        sweep_exponent(0x1p-2f); /* and of baseline */
        sweep_exponent(64.0f);   /* normal, subnormal and 0 */
        sweep(bits_of(-0.0f), bits_of(-150.0f), 1009);
    }
    for (size_t v = 0; v < COUNT(variants); v++)
        for (int f = 0; f < EXP2_FUNCTIONS && attn_isa_available(variants[v]->isa); f++) {
            const struct errors *e = &found[v][f];
            const double most = stated(variants[v], (enum exp2_function)f);
            if (!(e->ulp <= most && e->subnormal < 1 && e->not_zero == 0)) {
                print_errors();
                fail_msg("%s/%s errs by more than is stated", functions[f],
                         attn_isa_name(variants[v]->isa));
            }
            assert_true(stride > 1 || parts > 1 ||
                        e->ulp > 0.75 * most); /* the statement is not too modest */
        }
}

/* 2^x of one x, which must be the same in every lane. */
static float one(const struct exp2_variant *variant, enum exp2_function f, float x)
{
    float in[16], out[16];
    for (int i = 0; i < 16; i++)
        in[i] = x;
    variant->run[f](in, out, 16);
    for (int i = 1; i < 16; i++)
        assert_int_equal(bits_of(out[i]), bits_of(out[0]));
    return out[0];
}

static void nans_stay_and_exact_powers_are_exact(void **state)
{
    (void)state;
    static const uint32_t nans[] = {0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001, 0x7fffffff};
    static const struct {
        float x, y;
    } exact[] = {
        {0.0f, 1.0f},         {-0.0f, 1.0f},   {-1.0f, 0.5f},      {-126.0f, 0x1p-126f},
        {-125.0f, 0x1p-125f}, {-127.0f, 0.0f}, {-0x1p-149f, 1.0f}, {-0x1.000002p-126f, 1.0f}};
    static const struct {
        float x, y;
    } exact_e[] = {{0.0f, 1.0f}, {-0.0f, 1.0f}, {-0x1p-149f, 1.0f}, {-0x1.000002p-126f, 1.0f}};
    static const float zero[] = {-0x1.fc0002p+6f, -128.0f, -149.0f, -150.0f, -1e30f, -INFINITY};
    for (size_t v = 0; v < COUNT(variants); v++)
        for (int i = 0; i < EXP2_FUNCTIONS && attn_isa_available(variants[v]->isa); i++) {
            const enum exp2_function f = (enum exp2_function)i;
            for (size_t n = 0; n < COUNT(nans); n++)
                assert_true(isnan(one(variants[v], f, of_bits(nans[n]))));
            assert_true(isnan(one(variants[v], f, INFINITY)));
            for (size_t n = 0; n < COUNT(exact) && f != EXP_EXACTER; n++)
                assert_int_equal(bits_of(one(variants[v], f, exact[n].x)), bits_of(exact[n].y));
            for (size_t n = 0; n < COUNT(exact_e) && f == EXP_EXACTER; n++)
                assert_int_equal(bits_of(one(variants[v], f, exact_e[n].x)), bits_of(exact_e[n].y));
            for (size_t n = 0; n < COUNT(zero) && f != EXP2_ABOVE_FLOOR; n++)
                assert_int_equal(bits_of(one(variants[v], f, zero[n])), 0);
        }
}

/* Just above the clamp the result is at most 2^-126, and not negative. */
static void above_the_clamp_results_are_tiny_and_not_negative(void **state)
{
    (void)state;
    for (size_t v = 0; v < COUNT(variants); v++)
        for (int f = 0; f < EXP2_FUNCTIONS && attn_isa_available(variants[v]->isa); f++)
            for (uint32_t n = 1; n < 1000; n++) {
                const float x = of_bits(bits_of(-127.0f) - n);
                const float y = one(variants[v], (enum exp2_function)f, x);
                assert_true(y >= 0 && y <= 0x1p-126f);
            }
}

/* exp2_scaled() has no clamp: powers may be subnormal, and scores above m make them large or infinite. */
static void scaled_has_no_clamp(void **state)
{
    (void)state;
    static const struct {
        float x, y;
    } exact[] = {{0, 1},          {-1, 0.5f},          {7, 128},
                 {127, 0x1p127f}, {-126, 0x1p-126f},   {-149, 0x1p-149f},
                 {-151, 0},       {-1e30f, 0},         {-INFINITY, 0},
                 {128, INFINITY}, {INFINITY, INFINITY}};
    for (size_t v = 0; v < COUNT(variants); v++) {
        if (!variants[v]->run[EXP2_SCALED] || !attn_isa_available(variants[v]->isa))
            continue;
        double worst = 0;
        for (float x = -126; x < 128; x += 0x1.3p-13f) {
            const double y = exp2((double)x);
            worst = fmax(worst, fabs((double)one(variants[v], EXP2_SCALED, x) - y) * per_ulp(y));
        }
        assert_true(worst > 2.2 && worst <= 2.79); /* as exp2.h says */
        for (size_t i = 0; i < COUNT(exact); i++)
            assert_int_equal(bits_of(one(variants[v], EXP2_SCALED, exact[i].x)),
                             bits_of(exact[i].y));
        assert_true(isnan(one(variants[v], EXP2_SCALED, NAN)));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_as_stated),
        cmocka_unit_test(nans_stay_and_exact_powers_are_exact),
        cmocka_unit_test(above_the_clamp_results_are_tiny_and_not_negative),
        cmocka_unit_test(scaled_has_no_clamp),
    };
    if (argc > 1)
        stride = strtoul(argv[1], NULL, 10);
    if (argc == 4) {
        part = strtoul(argv[2], NULL, 10);
        parts = strtoul(argv[3], NULL, 10);
    }
    if ((argc != 4 && argc > 2) || (argc > 1 && (stride == 0 || stride > 1u << 20)) || part == 0 ||
        part > parts || parts > 1000) {
        fprintf(stderr, "usage: %s [STRIDE [PART PARTS]]\n", argv[0]);
        return 2;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
