/*
 * exp_lanes: 2^x by polynomials of each degree, in vectors; compiled once per ISA.
 *
 * As exp2_precise() of kernels/shared/exp2.h: x is rounded to a whole number by adding 1.5 * 2^23,
 * the rest goes through the polynomial, the whole number into the exponent.
 */
#include <string.h>

#include "exp_lanes.h"

#if defined __AVX512F__
#define BYTES 64
#elif defined __AVX__
#define BYTES 32
#else
#define BYTES 16
#endif
#define LANES (BYTES / sizeof(float))

typedef float vf __attribute__((vector_size(BYTES)));
typedef uint32_t vu __attribute__((vector_size(BYTES)));

static inline __attribute__((always_inline)) void loop(size_t degree, const float *c,
                                                       const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        vf v, p;
        memcpy(&v, x + i, sizeof v);
        const vf shifted = v + 12582912.0f;
        const vf r = v - (shifted - 12582912.0f);
        p = c[degree - 1] - (vf){0};
        for (size_t k = degree - 1; k > 0; k--)
            p = p * r + c[k - 1];
        p = p * r + 1.0f;
        const vu bits = (vu)p + ((vu)shifted << 23);
        memcpy(y + i, &bits, sizeof bits);
    }
}

static void run(size_t degree, const float *c, const float *x, float *y, size_t n)
{
    switch (degree) { /* a loop of its own for each, with its coefficients in registers */
    case 1:
        loop(1, c, x, y, n);
        break;
    case 2:
        loop(2, c, x, y, n);
        break;
    case 3:
        loop(3, c, x, y, n);
        break;
    case 4:
        loop(4, c, x, y, n);
        break;
    case 5:
        loop(5, c, x, y, n);
        break;
    case 6:
        loop(6, c, x, y, n);
        break;
    case 7:
        loop(7, c, x, y, n);
        break;
    default:
        loop(EXP_DEGREES, c, x, y, n);
    }
}

const struct exp_lanes EXP_LANES = {.isa = EXP_LANES_ISA, .run = run};
