/*
 * softcap_variant: softcap as the kernels of one ISA compute it, for test_softcap.c.
 */
#pragma once

#include <stddef.h>

#include "isa.h"

struct softcap_variant {
    enum attn_isa isa;
    /* y[i] = the score x[i] with the cap c, both times log2(e), for i < n, a multiple of 16. */
    void (*run)(float c, const float *x, float *y, size_t n);
};

extern const struct softcap_variant softcap_baseline, softcap_avx2, softcap_avx512, softcap_neon,
    softcap_sve128, softcap_sve256, softcap_sve512;
