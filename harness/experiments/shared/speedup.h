/*
 * speedup: laws of how work on n threads speeds up.
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_SPEEDUP_H
#define HARNESS_EXPERIMENTS_SHARED_SPEEDUP_H

#include <stddef.h>

/* A fraction and its 95 % interval, from Student's t. */
struct speedup_share {
    double value, lo, hi;
};

/* Thread counts, 1 included, below which a law is not fitted.  Amdahl's law from 3 ratios to one
 * thread has 2 degrees of freedom, the universal law from 5 has 3; Student's t is then 4.3 and 3.2,
 * and one degree less would make intervals two or three times as wide. */
#define SPEEDUP_AMDAHL_COUNTS 4
#define SPEEDUP_USL_COUNTS 6

/* Serial share a of speed-up 1 / (a + (1 - a) / n), by least squares of the time per work; of
 * `count` thread counts and speed-ups, those of 1 thread included.  NaN below
 * SPEEDUP_AMDAHL_COUNTS. */
struct speedup_share speedup_amdahl(const double *threads, const double *speedups, size_t count);

/* Contention a and coherency b of n / (1 + a (n - 1) + b n (n - 1)), by least squares of n /
 * speed-up, which is linear in both.  NaN below SPEEDUP_USL_COUNTS. */
struct speedup_usl {
    struct speedup_share contention, coherency;
};
struct speedup_usl speedup_usl(const double *threads, const double *speedups, size_t count);

#endif
