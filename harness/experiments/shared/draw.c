/*
 * draw: from random.h to the distributions that experiments take.
 */
#include "draw.h"

#include <math.h>

#include "base/random.h"

#define HEAVY_DEGREES 5

/* Student's t as a normal number over the root mean square of as many others as it has degrees. */
static void heavy(float *x, size_t n, uint64_t key, uint64_t first)
{
    float z[HEAVY_DEGREES + 1];
    for (size_t k = 0; k < n; k++) {
        double squares = 0;
        random_normal(z, HEAVY_DEGREES + 1, key, (first + k) * (HEAVY_DEGREES + 1));
        for (size_t i = 1; i <= HEAVY_DEGREES; i++)
            squares += (double)z[i] * (double)z[i];
        x[k] = (float)((double)z[0] / sqrt(squares / HEAVY_DEGREES));
    }
}

void draw_elements(enum distribution distribution, float *x, size_t n, uint64_t key, uint64_t first)
{
    switch (distribution) {
    case DISTRIBUTION_NORMAL:
        random_normal(x, n, key, first);
        break;
    case DISTRIBUTION_UNIFORM:
        random_uniform(x, n, key, first);
        break;
    case DISTRIBUTION_RADEMACHER:
        for (size_t k = 0; k < n; k++)
            x[k] = random_bits(key, first + k) >> 63 ? 1 : -1;
        break;
    default:
        heavy(x, n, key, first);
    }
}
