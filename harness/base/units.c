/*
 * units: prefixes and digits.
 */
#include "units.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

struct prefix {
    double factor;
    const char *unit;
};

/* The largest unit that x reaches, the last one for anything smaller. */
static void scaled(double x, const struct prefix *units, size_t count, char *text)
{
    *text = 0;
    if (!isfinite(x))
        return;
    size_t u = 0;
    while (u + 1 < count && fabs(x) < units[u].factor * 0.99995)
        u++;
    const double value = x / units[u].factor;
    const int digits = fabs(value) < 9.9995 ? 3 : fabs(value) < 99.995 ? 2 : fabs(value) < 999.95;
    snprintf(text, UNITS_TEXT, "%.*f %s", digits, value, units[u].unit);
}

#define SCALED(x, units, text) scaled(x, units, sizeof(units) / sizeof *(units), text)

void units_seconds(double s, char text[UNITS_TEXT])
{
    static const struct prefix units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    SCALED(s, units, text);
}

void units_bytes(double bytes, char text[UNITS_TEXT])
{
    static const struct prefix units[] = {
        {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}, {1, "B"}};
    SCALED(bytes, units, text);
}

void units_flops(double flops, char text[UNITS_TEXT])
{
    static const struct prefix units[] = {
        {1e12, "TFLOP"}, {1e9, "GFLOP"}, {1e6, "MFLOP"}, {1e3, "kFLOP"}, {1, "FLOP"}};
    SCALED(flops, units, text);
}

void units_number(double x, char text[UNITS_TEXT])
{
    *text = 0;
    if (isfinite(x))
        snprintf(text, UNITS_TEXT, "%.*f", fabs(x) < 9.995 ? 2 : fabs(x) < 99.95, x);
}

void units_span(double s, char text[UNITS_TEXT])
{
    static const struct {
        double from_s, unit_s;
        int digits;
        const char *name;
    } spans[] = {{7200, 3600, 1, "h"}, {120, 60, 0, "min"}, {-INFINITY, 1, 0, "s"}};
    size_t u = 0;
    while (s < spans[u].from_s)
        u++;
    snprintf(text, UNITS_TEXT, "%.*f %s", spans[u].digits, s / spans[u].unit_s, spans[u].name);
}

void units_clock(double s, char text[UNITS_TEXT])
{
    const long t = s > 0 && s < 1e9 ? lround(s) : 0;
    if (t >= 3600)
        snprintf(text, UNITS_TEXT, "%ld:%02ld:%02ld", t / 3600, t / 60 % 60, t % 60);
    else
        snprintf(text, UNITS_TEXT, "%ld:%02ld", t / 60, t % 60);
}
