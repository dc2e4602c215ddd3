/*
 * fit: a straight line through logarithms.
 */
#include "fit.h"

#include <math.h>

double fit_student(size_t degrees)
{
    static const double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                   2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120};
    const size_t most = sizeof table / sizeof *table;
    return table[(degrees < most ? degrees : most) - 1];
}

struct fit fit_power(const double *x, const double *y, size_t n)
{
    const struct fit none = {NAN, NAN, NAN};
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, rest = 0;
    if (n < 3)
        return none;
    for (size_t i = 0; i < n; i++) {
        if (!(x[i] > 0) || !(y[i] > 0))
            return none;
        mean_x += log(x[i]) / (double)n;
        mean_y += log(y[i]) / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xx += (log(x[i]) - mean_x) * (log(x[i]) - mean_x);
        xy += (log(x[i]) - mean_x) * (log(y[i]) - mean_y);
    }
    const double b = xy / xx;
    for (size_t i = 0; i < n; i++) {
        const double e = log(y[i]) - mean_y - b * (log(x[i]) - mean_x);
        rest += e * e;
    }
    const double half = fit_student(n - 2) * sqrt(rest / (double)(n - 2) / xx);
    return (struct fit){b, b - half, b + half};
}
