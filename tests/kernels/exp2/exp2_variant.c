/*
 * exp2_variant: compiled once per ISA, as kernels are; EXP2_VARIANT and EXP2_VARIANT_ISA say which it is.
 */
#include "exp2_variant.h"

#include "shared/exp2.h"

#define RUN(name, function)                                                   \
    static void name(const float *x, float *y, size_t n)                      \
    {                                                                         \
        for (const float *end = x + n; x < end; x += VF_LANES, y += VF_LANES) \
            vf_store(y, function(vf_load(x)));                                \
    }
RUN(any, exp2_any)
RUN(above_floor, exp2_above_floor)
RUN(exacter, exp2_precise)
RUN(exacter_e, exp_precise)
#if EXP2_BITS == 5
RUN(scaled, exp2_scaled)
#else
#define scaled NULL
#endif

/* The square of 1 + 2^-12 has a bit too many for a float. */
static bool fuses(void)
{
    volatile float x = 1 + 0x1p-12f;
    const vf a = vf_set1(x), b = vf_set1(x), c = vf_set1(x * x);
    float rest[VF_LANES];
    vf_store(rest, a * b - c);
    return rest[0] != 0;
}

const struct exp2_variant EXP2_VARIANT = {
    .isa = EXP2_VARIANT_ISA,
    .fuses = fuses,
    .run = {[EXP2_ANY] = any,
            [EXP2_ABOVE_FLOOR] = above_floor,
            [EXP2_EXACTER] = exacter,
            [EXP_EXACTER] = exacter_e,
            [EXP2_SCALED] = scaled},
};
