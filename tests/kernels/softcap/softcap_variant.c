/*
 * softcap_variant: compiled once per ISA, as kernels are; SOFTCAP_VARIANT and SOFTCAP_VARIANT_ISA say which
 * it is.
 */
#include "softcap_variant.h"

#include "shared/softcap.h"

static void run(float c, const float *x, float *y, size_t n)
{
    const struct attn_problem problem = {.softcap = c};
    const struct softcap cap = softcap_natural(&problem);
    for (const float *end = x + n; x < end; x += VF_LANES, y += VF_LANES)
        vf_store(y, softcap_each(&cap, vf_load(x)));
}

const struct softcap_variant SOFTCAP_VARIANT = {.isa = SOFTCAP_VARIANT_ISA, .run = run};
