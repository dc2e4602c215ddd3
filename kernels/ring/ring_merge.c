/*
 * ring_merge: two partial results of the same queries, of different keys, become one.
 *
 * With LSE the logarithm of a part's sum of exponentials, the whole is the mean of the parts, weighted by
 * exp(LSE); weights are taken relative to the larger one, so that none overflows.
 */
#include "ring_private.h"

#include <math.h>

void ring_merge(float *o, float *lse, const float *other_o, float other_lse, size_t dim)
{
    const double a = (double)*lse, b = (double)other_lse;
    const double most = a > b || isnan(a) ? a : b;
    if (most == -INFINITY) /* neither part sees a key: o is 0 */
        return;
    const double of_a = exp(a - most), of_b = exp(b - most), sum = of_a + of_b;
    const float wa = (float)(of_a / sum), wb = (float)(of_b / sum);
    *lse = (float)(most + log(sum));
    for (size_t d = 0; d < dim; d++)
        o[d] = wa * o[d] + wb * other_o[d];
}
