/*
 * tiles_emulated.h: part of tiles.h: the matrix unit in C, to the last bit.
 */
#pragma once

#include <assert.h>
#include <fenv.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define TILE_LOAD(t, p, stride) tile_load(t, p, stride)
#define TILE_LOAD_PAST_L1(t, p, stride) tile_load(t, p, stride)
#define TILE_STORE(t, p, stride) tile_store(t, p, stride)
#define TILE_ZERO(t) tile_zero(t)
#define TILE_DOT_BF16(c, a, b) tile_dot_bf16(c, a, b)
#define TILE_DOT_I8(c, a, b) tile_dot_i8(c, a, b)

/* Vectors that every processor of 64 bits has. */
typedef double tile_f64 __attribute__((vector_size(16)));
typedef float tile_f32 __attribute__((vector_size(16)));
typedef uint64_t tile_u64 __attribute__((vector_size(16)));
typedef int32_t tile_i32 __attribute__((vector_size(16)));
typedef uint32_t tile_u32 __attribute__((vector_size(16)));

/* A tile is [row][column]: 32-bit words, two bf16 or four int8 of which the first is the lowest. */
typedef uint32_t tile_words[TILE_ROWS][TILE_ROW_BYTES / 4];

static _Thread_local struct {
    bool configured;
    _Alignas(64) tile_words tile[TILE_COUNT];
} tile_unit;

static inline void tiles_configure(void)
{
    memset(&tile_unit, 0, sizeof tile_unit);
    tile_unit.configured = true;
}

static inline void tiles_release(void)
{
    tile_unit.configured = false;
}

/* Words of tile t, of which the processor makes an illegal instruction where they are not configured. */
static inline uint32_t (*tile_at(int t))[TILE_ROW_BYTES / 4]
{
    assert(tile_unit.configured && t >= 0 && t < TILE_COUNT);
    return tile_unit.tile[t];
}

static inline void tile_zero(int t)
{
    memset(tile_at(t), 0, sizeof(tile_words));
}

static inline void tile_load(int t, const void *from, ptrdiff_t stride)
{
    uint32_t(*tile)[TILE_ROW_BYTES / 4] = tile_at(t);
    for (int r = 0; r < TILE_ROWS; r++)
        memcpy(tile[r], (const char *)from + r * stride, TILE_ROW_BYTES);
}

static inline void tile_store(int t, void *to, ptrdiff_t stride)
{
    uint32_t(*tile)[TILE_ROW_BYTES / 4] = tile_at(t);
    for (int r = 0; r < TILE_ROWS; r++)
        memcpy((char *)to + r * stride, tile[r], TILE_ROW_BYTES);
}

/* ---- products of bf16 ---------------------------------------------------------------------- */

static inline float tile_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t tile_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The double of a float's bits; denormals are 0. */
static inline double tile_operand(uint32_t bits)
{
    return (double)tile_float(bits & 0x7f800000 ? bits : bits & 0x80000000);
}

/*
 * A double as the unit rounds it, which a float holds exactly: to 24 bits, ties to even; 0 below the smallest
 * normal float, infinity above the largest.
 *
 * For x = a b + sum this is the rounding of the exact sum: a product of two bf16 is exact in double, and a
 * sum of two numbers of 24 bits may be rounded to 53 first, since 53 >= 2 * 24 + 2 (Figueroa 1995,
 * doi:10.1145/221332.221334).
 */
static inline tile_f64 tile_rounded(tile_f64 x)
{
    const tile_u64 bits = (tile_u64)x;
    const tile_u64 rounded = (bits + 0xfffffff + (bits >> 29 & 1)) & ~(uint64_t)0x1fffffff;
    const tile_u64 sign = rounded & (uint64_t)1 << 63;
    const tile_u64 size = rounded ^ sign;
    const tile_u64 large = (tile_u64)((tile_f64)size >= 0x1p128);
    const tile_u64 small = (tile_u64)((tile_f64)size < 0x1p-126);
    const tile_u64 infinity = (tile_u64){0x7ff, 0x7ff} << 52;
    return (tile_f64)(sign | (size & ~small & ~large) | (infinity & large));
}

/* a b + sum with the rules for NaN; operands and result are bits of floats. */
static inline uint32_t tile_fma(uint32_t a, uint32_t b, uint32_t sum)
{
    const uint32_t operands[] = {a, b, sum}, quiet = 0x00400000;
    for (int i = 0; i < 3; i++)
        if ((operands[i] & 0x7fffffff) > 0x7f800000)
            return operands[i] | quiet;
    const double exact = tile_operand(a) * tile_operand(b) + tile_operand(sum);
    const float result = (float)tile_rounded((tile_f64){exact, exact})[0];
    return result != result ? 0xffc00000 : tile_bits(result);
}

/* Element n of a row of c, slowly. */
static inline uint32_t tile_element(uint32_t c, const uint32_t *a, tile_words b, int n)
{
    const uint32_t one = tile_bits(1);
    uint32_t even = 0, odd = 0;
    for (int k = 0; k < TILE_ROWS; k++) {
        even = tile_fma(a[k] << 16, b[k][n] << 16, even);
        odd = tile_fma(a[k] & 0xffff0000, b[k][n] & 0xffff0000, odd);
    }
    return tile_fma(one, c, tile_fma(one, even, odd));
}

enum { TILE_PAIRS = TILE_ROWS / 2 }; /* tile_f64 a row of c */

/* A row of c: false where NaN comes up, and then c is not changed.  b[k] are the columns of its elements
 * 2k, then those of 2k + 1. */
static inline bool tile_row(uint32_t *c, const uint32_t *a, tile_f64 b[][2 * TILE_PAIRS])
{
    tile_f64 even[TILE_PAIRS] = {{0}}, odd[TILE_PAIRS] = {{0}};
    for (int k = 0; k < TILE_ROWS; k++) {
        const double a0 = tile_operand(a[k] << 16), a1 = tile_operand(a[k] & 0xffff0000);
        for (int n = 0; n < TILE_PAIRS; n++) {
            even[n] = tile_rounded(a0 * b[k][n] + even[n]);
            odd[n] = tile_rounded(a1 * b[k][TILE_PAIRS + n] + odd[n]);
        }
    }
    float result[TILE_ROWS];
    bool number = true;
    for (int n = 0; n < TILE_PAIRS; n++) {
        const tile_f64 before = {tile_operand(c[2 * n]), tile_operand(c[2 * n + 1])};
        const tile_f64 after = tile_rounded(before + tile_rounded(even[n] + odd[n]));
        result[2 * n] = (float)after[0];
        result[2 * n + 1] = (float)after[1];
        number = number && after[0] == after[0] && after[1] == after[1];
    }
    if (number)
        memcpy(c, result, sizeof result);
    return number;
}

/* Any numbers. */
static inline void tile_product_in_double(tile_words c, tile_words a, tile_words b)
{
    tile_f64 columns[TILE_ROWS][2 * TILE_PAIRS];
    for (int k = 0; k < TILE_ROWS; k++)
        for (int n = 0; n < TILE_ROWS; n++) {
            columns[k][n / 2][n % 2] = tile_operand(b[k][n] << 16);
            columns[k][TILE_PAIRS + n / 2][n % 2] = tile_operand(b[k][n] & 0xffff0000);
        }
    for (int m = 0; m < TILE_ROWS; m++)
        if (!tile_row(c[m], a[m], columns))
            for (int n = 0; n < TILE_ROWS; n++)
                c[m][n] = tile_element(c[m][n], a[m], b, n);
}

/*
 * Usual numbers, ten times as fast: float holds the 16 bits of a product of two bf16, so that a product and a
 * sum in float are that fma, as long as nothing lies above all floats or below all normal ones.  Nothing does
 * where a and b are 0 or from 2^-56 up to 2^61, and c is 0 or from 2^-103 up to 2^126: sums are then below
 * 2^127 + 2^126, and multiples of 2^-126, as the last places of all products and of c are.
 */
enum { TILE_QUARTER = TILE_ROWS / 4, TILE_BIAS = 127 }; /* tile_f32 a row of c; of exponents */

/* Whether the exponents from bit `at` on are 0 (zeros and denormals) or from `least` to `most`. */
static inline bool tile_within(tile_words words, int at, int least, int most)
{
    tile_i32 beyond = {0};
    for (int r = 0; r < TILE_ROWS; r++)
        for (int n = 0; n < TILE_ROWS; n += 4) {
            tile_u32 x;
            memcpy(&x, words[r] + n, sizeof x);
            const tile_i32 exponent = (tile_i32)(x >> at & 0xff) - TILE_BIAS;
            beyond |= (exponent > most) | ((exponent < least) & (exponent != -TILE_BIAS));
        }
    return !(beyond[0] | beyond[1] | beyond[2] | beyond[3]);
}

/* Floats of their bits; denormals are 0. */
static inline tile_f32 tile_floats(tile_u32 bits)
{
    return (tile_f32)(bits & ((tile_u32)((bits & 0x7f800000) != 0) | 0x80000000));
}

static inline void tile_product_in_float(tile_words c, tile_words a, tile_words b)
{
    tile_f32 columns[2][TILE_ROWS][TILE_QUARTER]; /* of even elements and of odd ones */
    for (int k = 0; k < TILE_ROWS; k++)
        for (int n = 0; n < TILE_QUARTER; n++) {
            tile_u32 pairs;
            memcpy(&pairs, b[k] + 4 * n, sizeof pairs);
            columns[0][k][n] = tile_floats(pairs << 16);
            columns[1][k][n] = tile_floats(pairs & 0xffff0000);
        }
    for (int m = 0; m < TILE_ROWS; m++) {
        tile_f32 even[TILE_QUARTER] = {{0}}, odd[TILE_QUARTER] = {{0}};
        for (int k = 0; k < TILE_ROWS; k++) {
            const float a0 = (float)tile_operand(a[m][k] << 16);
            const float a1 = (float)tile_operand(a[m][k] & 0xffff0000);
            for (int n = 0; n < TILE_QUARTER; n++) {
                even[n] += a0 * columns[0][k][n];
                odd[n] += a1 * columns[1][k][n];
            }
        }
        for (int n = 0; n < TILE_QUARTER; n++) {
            tile_u32 before;
            memcpy(&before, c[m] + 4 * n, sizeof before);
            const tile_f32 after = tile_floats(before) + (even[n] + odd[n]);
            memcpy(c[m] + 4 * n, &after, sizeof after);
        }
    }
}

/* Not inlined: its arithmetic stays between the settings of the environment in tile_dot_bf16(). */
static __attribute__((noinline, unused)) void tile_product(tile_words c, tile_words a, tile_words b)
{
    enum { LEAST = -56, MOST = 60 };
    if (tile_within(a, 7, LEAST, MOST) && tile_within(a, 23, LEAST, MOST) &&
        tile_within(b, 7, LEAST, MOST) && tile_within(b, 23, LEAST, MOST) &&
        tile_within(c, 23, -103, 125))
        tile_product_in_float(c, a, b);
    else
        tile_product_in_double(c, a, b);
}

/* c = c + a b; of the same tile twice the processor makes an illegal instruction. */
static inline void tile_dot_bf16(int c, int a, int b)
{
    assert(a != b && b != c && c != a);
    fenv_t before;
    fegetenv(&before);
    fesetenv(FE_DFL_ENV);
    tile_product(tile_at(c), tile_at(a), tile_at(b));
    fesetenv(&before);
}

/* ---- products of int8 ---------------------------------------------------------------------- */

static inline void tile_dot_i8(int c, int a, int b)
{
    assert(a != b && b != c && c != a);
    for (int m = 0; m < TILE_ROWS; m++)
        for (int k = 0; k < TILE_ROWS; k++)
            for (int n = 0; n < TILE_ROWS; n += 4) {
                tile_u32 fours, sum;
                memcpy(&fours, tile_at(b)[k] + n, sizeof fours);
                memcpy(&sum, tile_at(c)[m] + n, sizeof sum);
                for (int i = 0; i < 4; i++) {
                    const tile_i32 y = (tile_i32)(fours << (24 - 8 * i)) >> 24;
                    sum += (tile_u32)(y * (int8_t)(tile_at(a)[m][k] >> 8 * i));
                }
                memcpy(tile_at(c)[m] + n, &sum, sizeof sum);
            }
}
