/*
 * dots_lanes: random vectors and their products, one trial per lane; compiled once per ISA.
 *
 *   bits      xoshiro128++ (Blackman and Vigna 2018, arXiv:1805.01407), a state per trial, seeded
 *             by random.h from the stream's key and the trial's number
 *   normal    Box and Muller 1958: sqrt(-2 log u) times cosine and sine of a random angle
 *   heavy     Bailey 1994: Student's t as sqrt(n (u^(-2/n) - 1)) cos(angle)
 *
 * Polynomials: least squares at Chebyshev points; the errors stated below are far smaller than the sampling
 * error of a variance of a million trials (0.0014).
 */
#include "dots.h"

#include <math.h>
#include <string.h>

#include "base/random.h"

#if defined __AVX512F__
#define BYTES 64
#elif defined __AVX__
#define BYTES 32
#else
#define BYTES 16
#endif
#define LANES (BYTES / 4)

typedef float vf __attribute__((vector_size(BYTES)));
typedef int32_t vi __attribute__((vector_size(BYTES)));
typedef uint32_t vu __attribute__((vector_size(BYTES)));

#define INLINE static inline __attribute__((always_inline))

#define HEAVY_DEGREES 5.0f

/* ---- bits ------------------------------------------------------------------------------------ */

struct stream {
    vu s[4];
};

INLINE vu rotate(vu x, int by)
{
    return x << by | x >> (32 - by);
}

INLINE vu draw(struct stream *r)
{
    const vu result = rotate(r->s[0] + r->s[3], 7) + r->s[0];
    const vu t = r->s[1] << 9;
    r->s[2] ^= r->s[0];
    r->s[3] ^= r->s[1];
    r->s[1] ^= r->s[2];
    r->s[0] ^= r->s[3];
    r->s[2] ^= t;
    r->s[3] = rotate(r->s[3], 11);
    return result;
}

static void seed(struct stream *r, uint64_t key, uint64_t first)
{
    for (int lane = 0; lane < LANES; lane++)
        for (int half = 0; half < 2; half++) {
            const uint64_t bits = random_bits(key, 2 * (first + (uint64_t)lane) + (uint64_t)half);
            r->s[2 * half][lane] = (uint32_t)bits | (half == 0); /* not all zero */
            r->s[2 * half + 1][lane] = (uint32_t)(bits >> 32);
        }
}

/* ---- functions ------------------------------------------------------------------------------- */

/* In (0, 1]: 24 bits plus one half, so that it is never 0. */
INLINE vf unit(vu bits)
{
    return (__builtin_convertvector((vi)(bits >> 8), vf) + 0.5f) * 0x1p-24f;
}

INLINE vf root(vf x)
{
    vf y = x;
    for (int i = 0; i < LANES; i++)
        y[i] = sqrtf(x[i]);
    return y;
}

/* log u = e log 2 + log m with m in [0.7, 1.4); log(1 + f) / f has error 2e-7. */
INLINE vf logarithm(vf u)
{
    const vi above = (vi)u - 0x3f333333; /* 0.7 */
    const vf e = __builtin_convertvector(above >> 23, vf);
    const vf f = (vf)((above & 0x7fffff) + 0x3f333333) - 1.0f;
    vf p = f * -0.10888785f + 0.16503629f;
    p = p * f - 0.17148024f;
    p = p * f + 0.19866794f;
    p = p * f - 0.24973944f;
    p = p * f + 0.33336014f;
    p = p * f - 0.50000322f;
    p = p * f + 0.99999988f;
    return e * 0.69314718f + p * f;
}

/* 2^x for 0 <= x <= 20, as exp2_precise() of kernels/shared/exp2.h; error 1e-6. */
INLINE vf power_of_two(vf x)
{
    const vf shifted = x + 12582912.0f; /* 1.5 * 2^23 rounds to a whole number */
    const vf r = x - (shifted - 12582912.0f);
    vf p = r * 1.339887440e-3f + 9.618437358e-3f;
    p = p * r + 5.550332471e-2f;
    p = p * r + 2.402264791e-1f;
    p = p * r + 6.931472029e-1f;
    p = p * r + 1.0f;
    return (vf)((vu)p + ((vu)shifted << 23));
}

/* Cosine and sine of an angle from 32 bits: two choose the quadrant, 30 the angle within +-1/8 of a turn,
 * where the polynomials have error 3e-8. */
INLINE void turn(vu bits, vf *cosine, vf *sine)
{
    const vf t = __builtin_convertvector((vi)(bits << 2), vf) * 0x1p-34f, t2 = t * t;
    vf s = t2 * -75.401840f + 81.592548f;
    s = (s * t2 - 41.341663f) * t2 + 6.2831853f;
    s = s * t;
    vf c = t2 * -83.592214f + 64.921244f;
    c = (c * t2 - 19.739152f) * t2 + 1.0f;
    const vi swap = (vi)((bits & 0x40000000u) != 0u);
    const vi sign = (vi)(bits & 0x80000000u);
    *cosine = (vf)((((vi)c & ~swap) | ((vi)s & swap)) ^ sign);
    *sine = (vf)((((vi)s & ~swap) | ((vi)c & swap)) ^ sign);
}

/* ---- distributions --------------------------------------------------------------------------- */

INLINE vf heavy(struct stream *r)
{
    vf cosine, sine;
    const vf exponent = logarithm(unit(draw(r))) * (-2.0f / HEAVY_DEGREES * 1.44269504f);
    turn(draw(r), &cosine, &sine);
    return root(HEAVY_DEGREES * (power_of_two(exponent) - 1.0f)) * cosine;
}

/* Two independent elements. */
INLINE void two(enum distribution distribution, struct stream *r, vf x[2])
{
    if (distribution == DISTRIBUTION_NORMAL) {
        const vf radius = root(-2.0f * logarithm(unit(draw(r))));
        turn(draw(r), &x[0], &x[1]);
        x[0] *= radius;
        x[1] *= radius;
        return;
    }
    for (int i = 0; i < 2; i++)
        if (distribution == DISTRIBUTION_UNIFORM)
            x[i] = __builtin_convertvector((vi)draw(r), vf) * 0x1p-31f;
        else if (distribution == DISTRIBUTION_RADEMACHER)
            x[i] = (vf)((draw(r) & 0x80000000u) | 0x3f800000u);
        else
            x[i] = heavy(r);
}

/* ---- products -------------------------------------------------------------------------------- */

INLINE void sweep(enum distribution distribution, uint64_t key, uint64_t first, const size_t *dims,
                  size_t count, float *out)
{
    struct stream r;
    vf z = {0};
    size_t c = 0;
    seed(&r, key, first);
    for (size_t d = 0; c < count; d += 2) {
        vf q[2], k[2];
        two(distribution, &r, q);
        two(distribution, &r, k);
        for (size_t i = 0; i < 2 && c < count; i++) {
            z += q[i] * k[i];
            if (dims[c] == d + i + 1)
                memcpy(out + c++ * DOTS_TRIALS, &z, sizeof z);
        }
    }
}

static void run(enum distribution distribution, uint64_t key, uint64_t first, const size_t *dims,
                size_t count, float *z)
{
    for (size_t at = 0; at < DOTS_TRIALS; at += LANES)
        switch (distribution) {
        case DISTRIBUTION_NORMAL:
            sweep(DISTRIBUTION_NORMAL, key, first + at, dims, count, z + at);
            break;
        case DISTRIBUTION_UNIFORM:
            sweep(DISTRIBUTION_UNIFORM, key, first + at, dims, count, z + at);
            break;
        case DISTRIBUTION_RADEMACHER:
            sweep(DISTRIBUTION_RADEMACHER, key, first + at, dims, count, z + at);
            break;
        default:
            sweep(DISTRIBUTION_HEAVY, key, first + at, dims, count, z + at);
        }
}

const struct dots DOTS = {.isa = DOTS_ISA, .run = run};
