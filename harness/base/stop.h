/*
 * stop: when a cell has been launched often enough.
 */
#pragma once

#include <stddef.h>

#include "stats_dependence.h"

enum stop {
    STOP_NOT,     /* go on */
    STOP_CI,      /* the 95 % interval's half-width is within 1 % of the median */
    STOP_PLATEAU, /* twice as many launches hardly narrowed the interval */
    STOP_CAP      /* launches or time are used up */
};

/* "ci", "plateau", "cap" */
const char *stop_name(enum stop stop);

/* Decides from the launch medians, in the order taken, and from the correlation of neighbours; until
 * enough is known of that correlation, only the cap ends a cell. */
enum stop stop_decide(const double *medians, size_t n, size_t cap,
                      const struct stats_dependence *known);

/* Half-width of the median's 95 % interval over the median; NaN where there is no interval. */
double stop_half_width(const double *medians, size_t n, double dependence);
