/*
 * exp2_variant: 2^x and e^x as the kernels of one ISA compute it, for test_exp2.c.
 */
#pragma once

#include "isa.h"

#include <stdbool.h>
#include <stddef.h>

enum exp2_function {
    EXP2_ANY,         /* exp2_any() of exp2.h */
    EXP2_ABOVE_FLOOR, /* exp2_above_floor(): for EXP2_FLOOR <= x alone */
    EXP2_EXACTER,     /* exp2_precise() of exp2.h */
    EXP_EXACTER,      /* exp_precise(): e^x */
    EXP2_FUNCTIONS,
    EXP2_SCALED =
        EXP2_FUNCTIONS /* exp2_scaled(), which avx512 alone has: other things are asked of it */
};

struct exp2_variant {
    enum attn_isa isa;
    bool (*fuses)(void); /* products and sums into one rounding: not without optimisation */
    /* y[i] = 2^x[i], or e^x[i], for i < n, a multiple of 16. */
    void (*run[EXP2_FUNCTIONS + 1])(const float *x, float *y, size_t n);
};

extern const struct exp2_variant exp2_baseline, exp2_avx2, exp2_avx512, exp2_neon, exp2_sve128,
    exp2_sve256, exp2_sve512;
