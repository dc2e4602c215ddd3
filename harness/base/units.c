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

/* Prints x with `digits` digits in the first unit that is not larger than it; in the last one where all
 * are. */
static void scaled(double x, int digits, const struct prefix *units, size_t count, char *text)
{
    *text = 0;
    if (!isfinite(x))
        return;
    size_t u = 0;
    while (u + 1 < count && fabs(x) < units[u].factor * (1 - pow(10, -digits) / 2))
        u++;
    const double value = x / units[u].factor;
    int decimals = digits - 1;
    for (double most = 10; decimals && fabs(value) >= most - pow(10, -decimals) / 2; most *= 10)
        decimals--;
    snprintf(text, UNITS_TEXT, "%.*f %s", decimals, value, units[u].unit);
}

#define DIGITS 4
#define SCALED(x, digits, units, text) \
    scaled(x, digits, units, sizeof(units) / sizeof *(units), text)

static void seconds_to(double s, int digits, char text[UNITS_TEXT])
{
    static const struct prefix units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    SCALED(s, digits, units, text);
}

void units_seconds(double s, char text[UNITS_TEXT])
{
    seconds_to(s, DIGITS, text);
}

void units_seconds_known(double s, double half, char text[UNITS_TEXT])
{
    const double supported = 1 + floor(-log10(half / 2));
    seconds_to(s, half >= 0 ? (int)fmin(DIGITS, fmax(2, supported)) : 2, text);
}

void units_bytes(double bytes, char text[UNITS_TEXT])
{
    static const struct prefix units[] = {
        {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}, {1, "B"}};
    SCALED(bytes, DIGITS, units, text);
}

void units_flops(double flops, char text[UNITS_TEXT])
{
    static const struct prefix units[] = {
        {1e12, "TFLOP"}, {1e9, "GFLOP"}, {1e6, "MFLOP"}, {1e3, "kFLOP"}, {1, "FLOP"}};
    SCALED(flops, DIGITS, units, text);
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
