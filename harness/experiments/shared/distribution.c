/*
 * distribution: facts about the distributions, and draws from them.
 */
#include "distribution.h"

#include <math.h>
#include <string.h>

#include "base/random.h"

/* Student's t with n degrees of freedom has variance n / (n - 2) and E x^4 = 3 n^2 / ((n - 2) (n - 4)). */
const struct distribution_facts distributions[DISTRIBUTION_COUNT] = {
    [DISTRIBUTION_NORMAL] = {"normal", 1, 3},
    [DISTRIBUTION_UNIFORM] = {"uniform", 1.0 / 3, 1.0 / 5},
    [DISTRIBUTION_RADEMACHER] = {"rademacher", 1, 1},
    [DISTRIBUTION_HEAVY] = {"heavy", 5.0 / 3, 25},
};

const char *const distribution_names[] = {"normal", "uniform", "rademacher", "heavy", NULL};

enum distribution distribution_find(const char *name)
{
    int i = 0;
    while (i < DISTRIBUTION_COUNT && strcmp(distributions[i].name, name) != 0)
        i++;
    return (enum distribution)i;
}

#define HEAVY_DEGREES 5

/* Student's t: a normal number over the root mean square of as many others as there are degrees of
 * freedom. */
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

void distribution_draw(enum distribution distribution, float *x, size_t n, uint64_t key,
                       uint64_t first)
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
