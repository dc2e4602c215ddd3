/*
 * speedup: the reciprocal of each law is linear in its shares.
 */
#include "speedup.h"

#include <math.h>

#include "fit.h"

static const struct speedup_share none = {NAN, NAN, NAN};

static struct speedup_share share(double value, double half)
{
    return (struct speedup_share){value, value - half, value + half};
}

/* 1/S - 1/n = a (1 - 1/n); one thread adds nothing. */
struct speedup_share speedup_amdahl(const double *threads, const double *speedups, size_t count)
{
    double xx = 0, xy = 0, rest = 0;
    if (count < SPEEDUP_AMDAHL_COUNTS)
        return none;
    for (size_t i = 0; i < count; i++) {
        const double x = 1 - 1 / threads[i], y = 1 / speedups[i] - 1 / threads[i];
        xx += x * x;
        xy += x * y;
    }
    for (size_t i = 0; i < count; i++) {
        const double x = 1 - 1 / threads[i], y = 1 / speedups[i] - 1 / threads[i];
        rest += (y - xy / xx * x) * (y - xy / xx * x);
    }
    const size_t degrees = count - 2; /* ratios, less the share */
    return share(xy / xx, fit_student(degrees) * sqrt(rest / (double)degrees / xx));
}

/* n/S - 1 = a (n - 1) + b n (n - 1): the normal equations of two unknowns. */
struct speedup_usl speedup_usl(const double *threads, const double *speedups, size_t count)
{
    double uu = 0, uv = 0, vv = 0, uy = 0, vy = 0, rest = 0;
    if (count < SPEEDUP_USL_COUNTS)
        return (struct speedup_usl){none, none};
    for (size_t i = 0; i < count; i++) {
        const double u = threads[i] - 1, v = threads[i] * u, y = threads[i] / speedups[i] - 1;
        uu += u * u;
        uv += u * v;
        vv += v * v;
        uy += u * y;
        vy += v * y;
    }
    const double det = uu * vv - uv * uv;
    const double a = (uy * vv - vy * uv) / det, b = (vy * uu - uy * uv) / det;
    for (size_t i = 0; i < count; i++) {
        const double u = threads[i] - 1, v = threads[i] * u, y = threads[i] / speedups[i] - 1;
        rest += (y - a * u - b * v) * (y - a * u - b * v);
    }
    const size_t degrees = count - 3; /* ratios, less both shares */
    const double scale = rest / (double)degrees / det, t = fit_student(degrees);
    return (struct speedup_usl){share(a, t * sqrt(scale * vv)), share(b, t * sqrt(scale * uu))};
}
