/*
 * simd_f16.h: products of f16 added in float32, for kernel files of ISAs that have them: FMLAL and FMLAL2 of
 * AArch64's FHM.
 *
 * The product of two f16 is exact in float32 (22 bits of 24), and the sum is rounded once: the result of
 * vf_fma() on widened elements, including subnormal ones, without widening.  x86's AVX512-FP16 has no such
 * instruction: its multiply-adds round each sum to 11 bits.
 */
#pragma once

#include "simd.h"

#if defined __ARM_FEATURE_FP16_FML && !VF_SVE
#define F16_PRODUCTS 1
#define F16_FACTORS (VF_BYTES / 2) /* in a register; a multiply-add takes one from its lane */

/* acc + a . b: lane i adds the products of elements i and i + VF_LANES. */
VF_INLINE vf f16_dot(vf a, vf b, vf acc)
{
    const float32x4_t lower = vfmlalq_low_f16((float32x4_t)acc, (float16x8_t)a, (float16x8_t)b);
    return (vf)vfmlalq_high_f16(lower, (float16x8_t)a, (float16x8_t)b);
}

/* Loads F16_FACTORS factors, into one of the lower sixteen registers, as factors must be. */
VF_INLINE vf f16_load_factors(const uint16_t *p)
{
    vf v;
    memcpy(&v, p, sizeof v);
    __asm__("" : "+x"(v));
    return v;
}

#define F16_FMLAL_LANE(half, lane)                                                         \
    case lane:                                                                             \
        __asm__("fmlal" half " %0.4s, %1.4h, %2.h[" #lane "]" : "+w"(c) : "w"(b), "x"(a)); \
        return c;
#define F16_FMLAL(half)         \
    switch (lane) {             \
        F16_FMLAL_LANE(half, 0) \
        F16_FMLAL_LANE(half, 1) \
        F16_FMLAL_LANE(half, 2) \
        F16_FMLAL_LANE(half, 3) \
        F16_FMLAL_LANE(half, 4) \
        F16_FMLAL_LANE(half, 5) \
        F16_FMLAL_LANE(half, 6) \
        F16_FMLAL_LANE(half, 7) \
    }

/* a's factor `lane`, a constant, times the lower half of b, plus c. */
VF_INLINE vf f16_fma_lane(vf a, const int lane, vf b, vf c)
{
    F16_FMLAL("")
    return c;
}

/* The same with b's upper half. */
VF_INLINE vf f16_fma_lane_upper(vf a, const int lane, vf b, vf c)
{
    F16_FMLAL("2")
    return c;
}

#else
#define F16_PRODUCTS 0
#endif

/* Whether the variant takes f16 tensors only, as for other types it would equal a weaker ISA's. */
#if F16_PRODUCTS || defined __AVX512FP16__
#define F16_ALONE 1
#else
#define F16_ALONE 0
#endif
