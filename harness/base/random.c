/*
 * random: a counter-based generator and the two distributions that inputs need.
 */
#define _DEFAULT_SOURCE
#include "random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GOLDEN 0x9e3779b97f4a7c15u /* 2^64 / golden ratio, odd */

/* The finaliser of SplitMix64. */
static inline uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t random_key(uint64_t seed, uint64_t stream)
{
    return mix(mix(seed + GOLDEN) + (stream + 1) * GOLDEN);
}

uint64_t random_bits(uint64_t key, uint64_t index)
{
    return mix(key + (index + 1) * GOLDEN);
}

uint64_t random_below(uint64_t key, uint64_t index, uint64_t n)
{
    return (uint64_t)((unsigned __int128)random_bits(key, index) * n >> 64);
}

double random_unit(uint64_t key, uint64_t index)
{
    return (double)(random_bits(key, index) >> 11) * 0x1p-53;
}

void random_uniform(float *x, size_t n, uint64_t key, uint64_t first)
{
    for (size_t k = 0; k < n; k++)
        x[k] = (float)((double)(int64_t)random_bits(key, first + k) * 0x1p-63);
}

void random_refine(double *x, size_t n, uint64_t key, uint64_t first)
{
    for (size_t k = 0; k < n; k++)
        x[k] *= 1 + (random_unit(key, first + k) - 0.5) * 0x1p-24;
}

/*
 * Box and Muller's transform with its own logarithm, sine and cosine: series short enough to
 * vectorise, the same on every host, with errors below 1e-6, far finer than a distribution shows.
 */

/* -2 log(u) for u in (0, 1]: u = 2^e m with m in [0.7, 1.5); log m = 2 atanh((m - 1) / (m + 1)). */
static inline float minus_two_log(float u)
{
    uint32_t bits;
    memcpy(&bits, &u, sizeof bits);
    const uint32_t above = bits - 0x3f333333; /* 0.7 */
    const int32_t e = (int32_t)above >> 23;
    bits = (above & 0x7fffff) + 0x3f333333;
    float m;
    memcpy(&m, &bits, sizeof m);
    const float s = (m - 1) / (m + 1), s2 = s * s;
    const float atanh_s = s * (1 + s2 * (1.0f / 3 + s2 * (1.0f / 5 + s2 * (1.0f / 7 + s2 / 9))));
    return -2 * (2 * atanh_s + (float)e * 0.693147181f);
}

/* Pairs [first, first + n) of independent normal numbers. */
static inline void draw_pairs(float *x, size_t n, uint64_t key, uint64_t first)
{
    for (size_t k = 0; k < n; k++) {
        const uint64_t bits = random_bits(key, first + k);
        const float u = ((float)(int32_t)(bits >> 33) + 0.5f) * 0x1p-31f;
        const float radius = sqrtf(minus_two_log(u));
        /* The angle: a multiple of pi/2 (two bits) and a rest within +-pi/4 (29 bits). */
        const uint32_t quarter = (uint32_t)bits >> 30;
        const int32_t rest = (int32_t)(bits & 0x3fffffff) - (1 << 29);
        const float t = (float)rest * (0x1p-29f * 0.785398163f), t2 = t * t;
        const float sine = t * (1 - t2 / 6 * (1 - t2 / 20 * (1 - t2 / 42 * (1 - t2 / 72))));
        const float cosine = 1 - t2 / 2 * (1 - t2 / 12 * (1 - t2 / 30 * (1 - t2 / 56)));
        const float a = radius * (quarter & 1 ? sine : cosine);
        const float b = radius * (quarter & 1 ? cosine : sine);
        x[2 * k] = quarter & 2 ? -a : a;
        x[2 * k + 1] = quarter & 2 ? -b : b;
    }
}

#ifdef __x86_64__
/* The same bits in 0.6 and 0.4 of the time, as this file is compiled without fused multiply-adds. */
__attribute__((target("avx2"))) static void draw_pairs_avx2(float *x, size_t n, uint64_t key,
                                                            uint64_t first)
{
    draw_pairs(x, n, key, first);
}

__attribute__((target("avx512dq,avx512vl"))) static void
draw_pairs_avx512(float *x, size_t n, uint64_t key, uint64_t first)
{
    draw_pairs(x, n, key, first);
}
#endif

static void normal_pairs(float *x, size_t n, uint64_t key, uint64_t first)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        draw_pairs_avx512(x, n, key, first);
        return;
    }
    if (__builtin_cpu_supports("avx2")) {
        draw_pairs_avx2(x, n, key, first);
        return;
    }
#endif
    draw_pairs(x, n, key, first);
}

void random_shuffle(size_t *numbers, size_t n, uint64_t key)
{
    for (size_t i = n; i > 1; i--) {
        const size_t j = (size_t)random_below(key, i, i), last = numbers[i - 1];
        numbers[i - 1] = numbers[j];
        numbers[j] = last;
    }
}

void random_normal(float *x, size_t n, uint64_t key, uint64_t first)
{
    float block[256];
    while (n) {
        const size_t skip = first & 1; /* first may be the second half of a pair */
        const size_t most = sizeof block / sizeof *block - skip;
        const size_t take = n < most ? n : most;
        normal_pairs(block, (skip + take + 1) / 2, key, first / 2);
        memcpy(x, block + skip, take * sizeof *x);
        x += take;
        n -= take;
        first += take;
    }
}

bool random_token(char token[RANDOM_TOKEN])
{
    unsigned char bytes[(RANDOM_TOKEN - 1) / 2];
    if (getentropy(bytes, sizeof bytes) != 0)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return true;
}
