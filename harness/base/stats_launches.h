/*
 * stats_launches: a cell's samples, grouped by the launch (process) that took them.
 *
 * The statistics count launches, not samples: samples of one process share its memory layout, clock and
 * neighbours, so a thousand of them may tell no more than one.  How much they share is the part of the
 * variance that lies between launches. (Kalibera and Jones, ISMM 2013; Georges, Buytaert and Eeckhout, OOPSLA
 * 2007.)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct stats_launch {
    const double *x; /* samples in the order taken */
    size_t n;        /* at least one */
};

struct stats_launches {
    double median;        /* of the launch medians */
    double lo, hi;        /* its 95 % interval; NaN where interval is false */
    bool interval;        /* at least STATS_CI_MIN launches */
    double min, p05, p95; /* of all samples */
    size_t samples;

    /* One-way analysis of variance of log(sample) with launches as random groups: relative
     * standard deviations within a launch and between launches (0 where the samples within
     * explain everything), the share of the variance that lies between, and the design effect
     * 1 + (n - 1) * share, by which the variance of a mean exceeds that of as many independent
     * samples.  NaN below two launches, or where no launch has two samples. */
    double spread_within, spread_between;
    double share_between;
    double design_effect;
};

/* `dependence` of neighbouring launches, stats_dependence_of(); NaN unknown.  False where memory is
 * missing or n is 0. */
bool stats_of_launches(const struct stats_launch *launches, size_t n, double dependence,
                       struct stats_launches *s);
