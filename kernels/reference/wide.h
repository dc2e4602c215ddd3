/*
 * wide: the numbers that the reference computes in, elements of every type as such numbers, and dot products.
 */
#pragma once

#include <assert.h>
#include <string.h>
#include <tgmath.h>

#include "attention.h"
#include "element.h"

/* For problems in f64 (ATTN_COMPUTE_F64) `wide` is x86's 80-bit type of 64 bits of precision, if there
 * is one, else the compiler's long double. */
#if defined ATTN_COMPUTE_F64
typedef long double wide;
#define U 0x1p-53 /* unit roundoff of what kernels compute in */
#else
typedef double wide;
#define U 0x1p-24
#endif

/* Elements of a row of the type as they are stored. */
static inline void widen(const void *row, enum attn_dtype dtype, size_t n, wide *to)
{
    const double *doubles = row;
    const float *floats = row;
    const uint16_t *halves = row;
    const uint8_t *bytes = row;
    switch (dtype) {
    case ATTN_F64:
        for (size_t d = 0; d < n; d++)
            to[d] = (wide)doubles[d];
        break;
    case ATTN_F32:
        for (size_t d = 0; d < n; d++)
            to[d] = (wide)floats[d];
        break;
    case ATTN_BF16:
        for (size_t d = 0; d < n; d++)
            to[d] = (wide)attn_bf16_to_f32(halves[d]);
        break;
    case ATTN_F16:
        for (size_t d = 0; d < n; d++)
            to[d] = (wide)attn_f16_to_f32(halves[d]);
        break;
    case ATTN_I8:
        for (size_t d = 0; d < n; d++)
            to[d] = (wide)(int8_t)bytes[d];
        break;
    case ATTN_F8E4M3:
        for (size_t d = 0; d < n; d++)
            to[d] = (wide)attn_f8e4m3_to_f32(bytes[d]);
        break;
    case ATTN_F8E5M2:
        for (size_t d = 0; d < n; d++)
            to[d] = (wide)attn_f8e5m2_to_f32(bytes[d]);
        break;
    case ATTN_I4:
        for (size_t d = 0; d + 1 < n; d += 2) {
            to[d] = (wide)(bytes[d / 2] & 15);
            to[d + 1] = (wide)(bytes[d / 2] >> 4);
        }
        if (n % 2)
            to[n - 1] = (wide)(bytes[n / 2] & 15);
        break;
    default:
        assert(!"a type of operands");
    }
}

/* Sums in lanes, which the compiler keeps in registers; its own reduction goes through memory.  No vector is
 * wider than the host's: wider ones GCC 12 takes apart, 244 ns instead of 30 for D = 128 (AMD Zen 3,
 * 2026-11-25).  Those of AVX-512 take 0.70 of the time of half as wide ones for a row of 156 keys, D = 128
 * (Intel Emerald Rapids, 2026-11-29). */
#if defined ATTN_COMPUTE_F64
enum { LANES = 1 };
typedef wide lanes;

static inline lanes absolute_of(lanes x)
{
    return fabs(x);
}

static inline wide sum_of(lanes x)
{
    return x;
}

static inline lanes larger_of(lanes x, lanes y)
{
    return x > y ? x : y;
}
#else
#if defined __AVX512F__
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
typedef wide lanes __attribute__((vector_size(LANES * sizeof(wide))));
typedef int64_t lanes_bits __attribute__((vector_size(LANES * sizeof(int64_t))));

static inline lanes absolute_of(lanes x)
{
    return (lanes)((lanes_bits)x & INT64_MAX);
}

static inline wide sum_of(lanes x)
{
    wide sums[2] = {x[0], x[1]};
    for (int i = 2; i < LANES; i++)
        sums[i % 2] += x[i];
    return sums[0] + sums[1];
}

/* y where x is NaN. */
static inline lanes larger_of(lanes x, lanes y)
{
    const lanes_bits larger = x > y;
    return (lanes)((larger & (lanes_bits)x) | (~larger & (lanes_bits)y));
}
#endif

static inline lanes lanes_at(const wide *x)
{
    lanes y;
    memcpy(&y, x, sizeof y);
    return y;
}

static inline wide dot(const wide *q, const wide *k, size_t n, wide *magnitude)
{
    lanes sums[2] = {0}, absolutes[2] = {0};
    size_t d = 0;
    for (; d + 2 * LANES <= n; d += 2 * LANES) {
        const lanes x = lanes_at(q + d) * lanes_at(k + d);
        const lanes y = lanes_at(q + d + LANES) * lanes_at(k + d + LANES);
        sums[0] += x;
        sums[1] += y;
        absolutes[0] += absolute_of(x);
        absolutes[1] += absolute_of(y);
    }
    wide sum = sum_of(sums[0] + sums[1]), absolute = sum_of(absolutes[0] + absolutes[1]);
    for (; d < n; d++) {
        const wide product = q[d] * k[d];
        sum += product;
        absolute += fabs(product);
    }
    *magnitude = absolute;
    return sum;
}
