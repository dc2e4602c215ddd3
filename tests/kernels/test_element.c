/*
 * 16-bit elements: every value widens exactly and comes back; floats round to the nearest, ties to
 * even.  Judged by arithmetic on the definition (sign, exponent, fraction), not by bit tricks.
 */
#include "testing.h"

#include <math.h>

#include "element.h"

struct format {
    int exponent_bits, fraction_bits;
    float (*widen)(uint16_t);
    uint16_t (*narrow)(float);
};

static const struct format formats[] = {
    {8, 7, attn_bf16_to_f32, attn_f32_to_bf16},
    {5, 10, attn_f16_to_f32, attn_f32_to_f16},
};

/* The value of 16 bits, as IEEE 754 defines it. */
static double value(const struct format *f, uint16_t bits)
{
    const int bias = (1 << (f->exponent_bits - 1)) - 1;
    const int exponent = bits >> f->fraction_bits & ((1 << f->exponent_bits) - 1);
    const int fraction = bits & ((1 << f->fraction_bits) - 1);
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (1 << f->exponent_bits) - 1)
        return fraction ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - f->fraction_bits);
    return sign * ldexp(fraction + (1 << f->fraction_bits), exponent - bias - f->fraction_bits);
}

static void every_element_widens_and_returns(void **state)
{
    (void)state;
    for (size_t n = 0; n < 2; n++)
        for (uint32_t bits = 0; bits < 0x10000; bits++) {
            const struct format *f = &formats[n];
            const double expected = value(f, (uint16_t)bits);
            const float got = f->widen((uint16_t)bits);
            if (isnan(expected)) {
                assert_true(isnan(got));
                assert_true(isnan(value(f, f->narrow(got))));
            } else {
                assert_true((double)got == expected && !signbit(got) == !signbit(expected));
                assert_int_equal(f->narrow(got), bits);
            }
        }
}

/* Between neighbours: below, at and above the middle. */
static void floats_round_to_nearest_even(void **state)
{
    (void)state;
    for (size_t n = 0; n < 2; n++)
        for (uint32_t bits = 0; bits < 0x7fff; bits++) {
            const struct format *f = &formats[n];
            const double lo = value(f, (uint16_t)bits);
            double hi = value(f, (uint16_t)(bits + 1));
            if (isnan(hi) || isinf(lo))
                break;
            if (isinf(hi)) /* where the next number would be */
                hi = 2 * lo - value(f, (uint16_t)(bits - 1));
            const float middle = (float)((lo + hi) / 2);
            const uint32_t even = bits & 1 ? bits + 1 : bits;
            assert_int_equal(f->narrow(middle), even);
            assert_int_equal(f->narrow(-middle), even | 0x8000);
            if (n == 0 && bits < 0x80) /* neighbours of bf16 subnormals are float subnormals */
                continue;
            assert_int_equal(f->narrow(nextafterf(middle, 0)), bits);
            assert_int_equal(f->narrow(nextafterf(middle, INFINITY)), bits + 1);
        }
}

static void large_and_tiny_floats_saturate(void **state)
{
    (void)state;
    assert_int_equal(attn_f32_to_f16(1e30f), 0x7c00);
    assert_int_equal(attn_f32_to_f16(-INFINITY), 0xfc00);
    assert_int_equal(attn_f32_to_f16(1e-30f), 0);
    assert_int_equal(attn_f32_to_f16(-1e-30f), 0x8000);
    assert_int_equal(attn_f32_to_bf16(INFINITY), 0x7f80);
    assert_int_equal(attn_f32_to_bf16(3.4e38f), 0x7f80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_widens_and_returns),
        cmocka_unit_test(floats_round_to_nearest_even),
        cmocka_unit_test(large_and_tiny_floats_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
