/*
 * f64_variant: compiled once per ISA with ATTN_COMPUTE_F64, as the f64 objects of kernels are; F64_VARIANT
 * and F64_VARIANT_ISA say which it is.
 */
#include "f64_variant.h"

#include "shared/exp_f64.h"
#include "shared/softcap.h"

static void run_exp(const double *x, double *y, size_t n)
{
    for (const double *end = x + n; x < end; x += VF_LANES, y += VF_LANES)
        vf_store(y, exp_precise(vf_load(x)));
}

static void run_softcap(float c, const double *x, double *y, size_t n)
{
    const struct attn_problem problem = {.softcap = c};
    const struct softcap cap = softcap_natural(&problem);
    for (const double *end = x + n; x < end; x += VF_LANES, y += VF_LANES)
        vf_store(y, softcap_each(&cap, vf_load(x)));
}

const struct f64_variant F64_VARIANT = {
    .isa = F64_VARIANT_ISA, .exp = run_exp, .softcap = run_softcap};
