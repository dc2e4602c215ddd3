/*
 * moments: variances and their intervals from sums of powers.
 */
#include "moments.h"

#include <math.h>

/* Power sums in double.  Means here are small beside the spread, so that central moments computed from sums
 * about 0 lose far less precision than the sampling error. */
void moments_add(struct moments *m, double x)
{
    double power = 1;
    m->n++;
    for (int i = 0; i < 4; i++)
        m->sum[i] += power *= x;
}

void moments_merge(struct moments *into, const struct moments *from)
{
    into->n += from->n;
    for (int i = 0; i < 4; i++)
        into->sum[i] += from->sum[i];
}

/* Var(s^2) = (m4 - s^4 (n - 3) / (n - 1)) / n. */
double moments_half_width(double n, double variance, double fourth)
{
    const double spread = (fourth - variance * variance * (n - 3) / (n - 1)) / n;
    return MOMENTS_NORMAL_975 * sqrt(fmax(0, spread));
}

struct variance moments_variance(const struct moments *m)
{
    const double n = m->n, mean = m->sum[0] / n;
    const double raw2 = m->sum[1] / n, raw3 = m->sum[2] / n, raw4 = m->sum[3] / n;
    const double variance = (raw2 - mean * mean) * n / (n - 1);
    const double fourth = raw4 - 4 * mean * raw3 + 6 * mean * mean * raw2 - 3 * pow(mean, 4);
    const double half = moments_half_width(n, variance, fourth);
    return (struct variance){mean, variance, variance - half, variance + half};
}
