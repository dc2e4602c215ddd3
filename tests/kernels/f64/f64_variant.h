/*
 * f64_variant: functions of vectors of double as the kernels of one ISA compute them, for test_f64.c.
 */
#pragma once

#include <stddef.h>

#include "isa.h"

struct f64_variant {
    enum attn_isa isa;
    /* y[i] = e^x[i], and c tanh(x[i] / c), for i < n, a multiple of 8. */
    void (*exp)(const double *x, double *y, size_t n);
    void (*softcap)(float c, const double *x, double *y, size_t n);
};

extern const struct f64_variant f64_baseline, f64_avx2, f64_avx512, f64_neon, f64_sve128,
    f64_sve256, f64_sve512;
