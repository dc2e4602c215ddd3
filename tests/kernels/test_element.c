/*
 * Elements of 16 and 8 bits: every value widens exactly and comes back; floats round to the nearest, ties to
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

/* ---- 8 bits ---------------------------------------------------------------------------------- */

/* The value of a byte as OFP8 defines it: of E5M2 as IEEE 754 does, of E4M3 NaN where all ones follow the
 * sign, and numbers instead of infinities. */
static double value_of_byte(bool e4m3, unsigned bits)
{
    const int fraction_bits = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15;
    const int exponent = (int)(bits & 0x7f) >> fraction_bits;
    const int fraction = (int)bits & ((1 << fraction_bits) - 1);
    const double sign = bits & 0x80 ? -1 : 1;
    if (e4m3 && (bits & 0x7f) == 0x7f)
        return NAN;
    if (!e4m3 && exponent == 31)
        return fraction ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - fraction_bits);
    return sign * ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

static void every_byte_widens_and_returns(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 512; n++) {
        const bool e4m3 = n & 256;
        const uint8_t bits = (uint8_t)n;
        const double expected = value_of_byte(e4m3, bits);
        const float got = e4m3 ? attn_f8e4m3_to_f32(bits) : attn_f8e5m2_to_f32(bits);
        const uint8_t back = e4m3 ? attn_f32_to_f8e4m3(got) : attn_f32_to_f8e5m2(got);
        assert_true(!signbit(got) == !(bits & 0x80));
        if (isnan(expected)) {
            assert_true(isnan(got) && isnan(value_of_byte(e4m3, back)));
            assert_int_equal(back & 0x80, bits & 0x80);
        } else {
            assert_true((double)got == expected);
            assert_int_equal(back, bits);
        }
    }
    assert_true(attn_f8e4m3_to_f32(0x7e) == 448 && attn_f8e5m2_to_f32(0x7b) == 57344);
    assert_true(attn_byte_to_f32(ATTN_I8, 0x80) == -128);
}

/* Between neighbours: below, at and above the middle. */
static void floats_round_to_the_nearest_byte(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 2; n++) {
        uint8_t (*const narrow)(float) = n ? attn_f32_to_f8e4m3 : attn_f32_to_f8e5m2;
        const unsigned largest = n ? 0x7e : 0x7b;
        for (unsigned bits = 0; bits < largest; bits++) {
            const float middle = (float)((value_of_byte(n, bits) + value_of_byte(n, bits + 1)) / 2);
            const unsigned even = bits & 1 ? bits + 1 : bits;
            assert_int_equal(narrow(middle), even);
            assert_int_equal(narrow(-middle), even | 0x80);
            assert_int_equal(narrow(nextafterf(middle, 0)), bits);
            assert_int_equal(narrow(nextafterf(middle, INFINITY)), bits + 1);
        }
        assert_int_equal(narrow(1e-30f), 0);
    }
    assert_int_equal(attn_f32_to_f8e5m2(nextafterf(61440, 0)), 0x7b);
    assert_int_equal(attn_f32_to_f8e5m2(61440), 0x7c);
    assert_int_equal(attn_f32_to_f8e5m2(-INFINITY), 0xfc);
    assert_int_equal(attn_f32_to_f8e4m3(464), 0x7e);
    assert_int_equal(attn_f32_to_f8e4m3(-INFINITY), 0xfe);
}

/* The first of two elements lies in the lower half, and writing one leaves the other. */
static void two_elements_share_a_byte(void **state)
{
    (void)state;
    uint8_t row[2] = {0x21, 0x43};
    for (unsigned d = 0; d < 4; d++)
        assert_int_equal(attn_nibble(row, d), d + 1);
    attn_set_nibble(row, 1, 15);
    attn_set_nibble(row, 2, 0);
    assert_true(row[0] == 0xf1 && row[1] == 0x40);
    assert_true(attn_elements_bytes(ATTN_I4, 5) == 3 && attn_elements_bytes(ATTN_I4, -6) == -3);
    assert_true(attn_elements_bytes(ATTN_BF16, -5) == -10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_widens_and_returns),
        cmocka_unit_test(floats_round_to_nearest_even),
        cmocka_unit_test(large_and_tiny_floats_saturate),
        cmocka_unit_test(every_byte_widens_and_returns),
        cmocka_unit_test(floats_round_to_the_nearest_byte),
        cmocka_unit_test(two_elements_share_a_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
