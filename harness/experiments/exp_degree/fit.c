/*
 * fit: the polynomials of exp-degree, and which variant to take.
 */
#include <math.h>

#include "exp_degree.h"

#define EXP_LANES(isa, ISA) extern const struct exp_lanes exp_##isa;
#include "exp_list.h"
#undef EXP_LANES

const struct exp_lanes *const exp_variants[] = {
#define EXP_LANES(isa, ISA) &exp_##isa,
#include "exp_list.h"
#undef EXP_LANES
};
const size_t exp_variant_count = sizeof exp_variants / sizeof *exp_variants;

#define PI 3.14159265358979323846
#define GRID 100000 /* points at which the error is looked at, a multiple of 16 */

const struct exp_lanes *exp_best(void)
{
    size_t best = 0;
    for (size_t i = 0; i < exp_variant_count; i++)
        if (attn_isa_available(exp_variants[i]->isa))
            best = i;
    return exp_variants[best];
}

/* (2^r - 1) / r, which is smooth: what the coefficients behind the constant 1 approximate. */
static double slope(double r)
{
    return r == 0 ? log(2) : expm1(r * log(2)) / r;
}

/* Newton's divided differences at the Chebyshev points, multiplied out. */
void exp_degree_fit(size_t degree, float c[EXP_DEGREES])
{
    double at[EXP_DEGREES] = {0}, divided[EXP_DEGREES] = {0}, powers[EXP_DEGREES] = {0};
    for (size_t i = 0; i < degree; i++) {
        at[i] = 0.5 * cos(PI * ((double)i + 0.5) / (double)degree);
        divided[i] = slope(at[i]);
    }
    for (size_t order = 1; order < degree; order++)
        for (size_t i = degree - 1; i >= order; i--)
            divided[i] = (divided[i] - divided[i - 1]) / (at[i] - at[i - order]);
    for (size_t i = degree; i-- > 0;) { /* powers = powers * (r - at[i]) + divided[i] */
        for (size_t k = degree - 1; k > 0; k--)
            powers[k] = powers[k - 1] - at[i] * powers[k];
        powers[0] = divided[i] - at[i] * powers[0];
    }
    for (size_t k = 0; k < degree; k++)
        c[k] = (float)powers[k];
}

double exp_degree_error(size_t degree)
{
    float c[EXP_DEGREES], x[16], y[16];
    double worst = 0;
    exp_degree_fit(degree, c);
    for (int i = 0; i < GRID; i += 16) {
        for (int k = 0; k < 16; k++)
            x[k] = (float)(-10.5 + (double)(i + k) / GRID);
        exp_best()->run(degree, c, x, y, 16);
        for (int k = 0; k < 16; k++)
            worst = fmax(worst, fabs((double)y[k] / exp2((double)x[k]) - 1));
    }
    return worst;
}
