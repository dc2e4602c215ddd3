/*
 * The tiles of tiles.h by hand: those in C, and where this host has them the processor's.
 */
#include "testing.h"

#include <fenv.h>
#include <string.h>

#include "base/random.h"
#include "isa.h"
#include "kernels/tiles/tile_unit.h"

/* A tile's words as its rows of float, int32, pairs of bf16 or fours of int8. */
typedef uint32_t words[16][16];

static const struct tile_unit *units[] = {
    &tile_unit_emulated,
#ifdef TILES_HARDWARE
    &tile_unit_hardware,
#endif
};

/* Those that run here. */
static size_t unit_count(void)
{
    return attn_isa_available(ATTN_ISA_AMX) ? COUNT(units) : 1;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The bf16 of a float that is one. */
static uint32_t bf16_of(float x)
{
    assert_int_equal(bits_of(x) & 0xffff, 0);
    return bits_of(x) >> 16;
}

/* ---- by hand ------------------------------------------------------------------------------- */

/* A word of c before and after, and the first pairs of its row of a and its column of b; bits. */
struct by_hand {
    const char *what;
    uint32_t before;
    uint32_t a[3], b[3]; /* element 2k in the low half */
    uint32_t after;
};

/* Powers of two as bf16, and pairs of bf16. */
#define P(exponent) ((127u + (exponent)) << 7)
#define NEGATIVE 0x8000u
#define PAIR(even, odd) ((uint32_t)(even) | (uint32_t)(odd) << 16)
/* Powers of two as float. */
#define F(exponent) ((127u + (exponent)) << 23)

static const struct by_hand by_hand[] = {
    {"a sum of pairs", F(1), {PAIR(P(0), P(1)), P(3)}, {PAIR(P(0), P(2)), P(0)}, 0x41980000},
    /* (2^24 + 1) + (-2^24 + 1), of which the first is rounded; one chain would give 2 */
    {"even and odd apart",
     0,
     {PAIR(P(24), NEGATIVE | P(24)), PAIR(P(0), P(0))},
     {PAIR(P(0), P(0)), PAIR(P(0), P(0))},
     F(0)},
    /* 1 + (2^24 - 2^24); (1 + 2^24) - 2^24 would be 0 */
    {"c comes last", F(0), {PAIR(P(24), NEGATIVE | P(24))}, {PAIR(P(0), P(0))}, F(0)},
    /* (2^24 + 1) + 1; a chain that began with the last pair would give 2^24 + 2 */
    {"pairs in order", 0, {P(24), P(0), P(0)}, {P(0), P(0), P(0)}, F(24)},
    {"a tie to even, upwards", F(24) + 1, {P(0)}, {P(0)}, F(24) + 2},
    {"a tie to even, downwards", F(24), {P(0)}, {P(0)}, F(24)},
    {"an odd element alone", 0, {PAIR(0, P(3))}, {PAIR(P(9), P(2))}, F(5)},
    /* 2^127 * 2 - 2^127 */
    {"a product above all floats", 0, {NEGATIVE | P(127), P(127)}, {P(0), P(1)}, F(127)},
    {"overflow", 0, {P(127)}, {P(1)}, 0x7f800000},
    {"overflow on the way", 0, {P(127), NEGATIVE | P(127)}, {P(1), P(0)}, 0x7f800000},
    {"negative overflow", 0, {NEGATIVE | P(127)}, {P(1)}, 0xff800000},
    {"infinity stays", F(9), {0x7f80, P(127)}, {P(0), NEGATIVE | P(1)}, 0x7f800000},
    /* 2^-126 + 2^-130 */
    {"a product below all floats", 0, {P(-126), P(-65)}, {P(0), P(-65)}, 0x00880000},
    {"a denormal operand", F(0), {0x0040}, {P(100)}, F(0)},
    {"a denormal operand of b", F(0), {P(100)}, {0x807f}, F(0)},
    {"denormal c", 0x007fffff, {P(-126)}, {P(0)}, F(-126)},
    {"denormal c alone", 0x807fffff, {0}, {0}, 0},
    {"a denormal result", 0, {P(-65)}, {P(-65)}, 0},
    /* 2^-126 - 2^-150 has 24 bits; 2^-126 - 2^-151 lies between them and 2^-126, whose last bit is even */
    {"tiny after rounding", 0, {P(-126), NEGATIVE | P(-75)}, {P(0), P(-75)}, 0},
    {"not tiny after rounding", 0, {P(-126), NEGATIVE | P(-76)}, {P(0), P(-75)}, F(-126)},
    /* 2^-112 (1 + 2^-7)^2 - 2^-112 (1 + 2^-6), and half of it */
    {"the smallest of a difference",
     0,
     {P(-56) | 1, NEGATIVE | P(-56) | 2},
     {P(-56) | 1, P(-56)},
     F(-126)},
    {"half of the smallest", 0, {P(-57) | 1, NEGATIVE | P(-57) | 2}, {P(-56) | 1, P(-56)}, 0},
    {"the last place of c", F(-103) | 1, {NEGATIVE | P(-53)}, {P(-50)}, F(-126)},
    {"the last place of a smaller c", F(-104) | 1, {NEGATIVE | P(-54)}, {P(-50)}, 0},
    {"a bit below the tie", 0, {P(-126), NEGATIVE | P(-76) | 1}, {P(0), P(-75)}, 0},
    {"tiny, in the sum with c", 0x80800001, {P(-126)}, {P(0)}, 0x80000000},
    /* -2^-140 becomes -0, to which the next pair adds 0 */
    {"minus zero before zeros", 0x80000000, {NEGATIVE | P(-70)}, {P(-70)}, 0},
    {"NaN of a, before that of b", 0, {0x7f81}, {0xffc2}, 0x7fc10000},
    {"NaN of b, before that of the sum", 0, {0xff81, P(0)}, {P(0), 0x7f83}, 0x7fc30000},
    {"NaN of the sum", 0, {0xff81, P(0)}, {P(0), P(0)}, 0xffc10000},
    {"NaN of c, before that of the products", 0xff812345, {0x7fc1}, {P(0)}, 0xffc12345},
    {"NaN of the even elements, before the odd", 0, {PAIR(0x7f84, 0x7f85)}, {0}, 0x7fc40000},
    {"infinity times zero", 0, {0x7f80}, {0}, 0xffc00000},
    {"infinity times a denormal", 0, {0x7f80}, {0x0001}, 0xffc00000},
    {"infinity less infinity", 0, {0x7f80, 0xff80}, {P(0), P(0)}, 0xffc00000},
    {"infinity less infinity, odd", 0, {PAIR(0x7f80, 0xff80)}, {PAIR(P(0), P(0))}, 0xffc00000},
    {"infinity less infinity, c", 0x7f800000, {0xff80}, {P(0)}, 0xffc00000},
};

/* Row 11 of a and column 6 of b alone; the rest of c stays 0. */
static void check_by_hand(const struct tile_unit *unit, const struct by_hand *t)
{
    words a = {{0}}, b = {{0}}, c = {{0}};
    c[11][6] = t->before;
    for (size_t k = 0; k < COUNT(t->a); k++) {
        a[11][k] = t->a[k];
        b[k][6] = t->b[k];
    }
    unit->dot_bf16(c, a, b, 1);
    if (c[11][6] != t->after)
        fail_msg("%s, tiles %s: 0x%08x, not 0x%08x", t->what, unit->name, c[11][6], t->after);
    for (size_t i = 0; i < UNIT_WORDS; i++)
        if (i / 16 != 11 && i % 16 != 6)
            assert_int_equal(c[i / 16][i % 16], 0);
}

static void products_by_hand(void **state)
{
    (void)state;
    for (size_t u = 0; u < unit_count(); u++)
        for (size_t i = 0; i < COUNT(by_hand); i++)
            check_by_hand(units[u], &by_hand[i]);
}

/* Rounding is the unit's own, and the caller's stays. */
static void rounding_is_not_the_threads(void **state)
{
    (void)state;
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};
    for (size_t u = 0; u < unit_count(); u++)
        for (size_t m = 0; m < COUNT(modes); m++) {
            fesetround(modes[m]);
            for (size_t i = 0; i < COUNT(by_hand); i++)
                check_by_hand(units[u], &by_hand[i]);
            assert_int_equal(fegetround(), modes[m]);
        }
}

/* c[m][n] += sum of a[m][k] b[k][n], k < 32, which here is exact. */
static void every_element_has_its_place(void **state)
{
    (void)state;
    for (size_t u = 0; u < unit_count(); u++) {
        words a, b, c;
        for (int m = 0; m < 16; m++)
            for (int n = 0; n < 16; n++) {
                a[m][n] = bf16_of((float)(m - n)) | bf16_of((float)(m + 1)) << 16;
                b[m][n] = bf16_of((float)(m + 2 * n)) | bf16_of((float)(3 * n - m)) << 16;
                c[m][n] = bits_of((float)(100 * m + n));
            }
        units[u]->dot_bf16(c, a, b, 2);
        for (int m = 0; m < 16; m++)
            for (int n = 0; n < 16; n++) {
                int sum = 0;
                for (int k = 0; k < 16; k++)
                    sum += (m - k) * (k + 2 * n) + (m + 1) * (3 * n - k);
                assert_int_equal(c[m][n], bits_of((float)(100 * m + n + 2 * sum)));
            }
    }
}

static void products_of_int8(void **state)
{
    (void)state;
    for (size_t u = 0; u < unit_count(); u++) {
        int8_t a[16][64], b[16][16][4];
        int32_t c[16][16], expected[16][16];
        for (int m = 0; m < 16; m++)
            for (int n = 0; n < 64; n++) {
                a[m][n] = (int8_t)(m == 0 ? -128 : 7 * m + 13 * n - 128);
                b[m][n / 4][n % 4] = (int8_t)(n < 4 ? -128 : n < 8 ? 127 : 31 * m - 11 * n);
            }
        for (int m = 0; m < 16; m++)
            for (int n = 0; n < 16; n++) {
                c[m][n] = n == 2 ? INT32_MAX : n == 3 ? INT32_MIN : m - n;
                expected[m][n] = c[m][n];
                for (int k = 0; k < 64; k++)
                    expected[m][n] = (int32_t)((uint32_t)expected[m][n] +
                                               (uint32_t)(a[m][k] * b[k / 4][n][k % 4]));
            }
        units[u]->dot_i8(c, a, b, 1);
        assert_memory_equal(c, expected, sizeof c);
        assert_int_equal(c[0][0], 64 * 16384);
        assert_int_equal(c[0][1], -1 - 64 * 16256);
    }
}

/* ---- loads and stores ---------------------------------------------------------------------- */

/* Rows 100 bytes apart, forwards or backwards, to rows 67 bytes apart. */
static void check_copy(const struct tile_unit *unit, int past_l1, int back)
{
    enum { FROM = 100, TO = 67 };
    unsigned char from[15 * FROM + 64], to[15 * TO + 64];
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)random_bits(1, i);
    memset(to, 0xa5, sizeof to);
    unit->copy[past_l1](to, TO, from + (back ? 15 * FROM : 0), back ? -FROM : FROM);
    for (size_t i = 0; i < sizeof to; i++) {
        const size_t row = back ? 15 - i / TO : i / TO;
        assert_int_equal(to[i], i % TO < 64 ? from[row * FROM + i % TO] : 0xa5);
    }
}

static void strides_are_in_bytes(void **state)
{
    (void)state;
    for (size_t u = 0; u < unit_count(); u++)
        for (int way = 0; way < 4; way++)
            check_copy(units[u], way & 1, way >> 1);
}

static void zero_is_zero(void **state)
{
    (void)state;
    words filled, to;
    memset(filled, 0x5a, sizeof filled);
    for (size_t u = 0; u < unit_count(); u++)
        for (int configured = 0; configured < 2; configured++) {
            memset(to, 0xff, sizeof to);
            units[u]->zero(to, filled, configured);
            for (size_t i = 0; i < UNIT_WORDS; i++)
                assert_int_equal(to[i / 16][i % 16], 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_by_hand),
        cmocka_unit_test(rounding_is_not_the_threads),
        cmocka_unit_test(every_element_has_its_place),
        cmocka_unit_test(products_of_int8),
        cmocka_unit_test(strides_are_in_bytes),
        cmocka_unit_test(zero_is_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
