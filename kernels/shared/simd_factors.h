/*
 * simd_factors.h: multiply-adds that take a factor from a lane of a register, as AArch64 has them
 * (VF_FACTOR_IN_LANE), for kernel files only.
 */
#pragma once

#include "simd.h"

#if VF_FACTOR_IN_LANE && REAL_BYTES == 4
/* Loads VF_FACTORS factors; GCC 12 would otherwise load each lane by itself. */
VF_INLINE vf vf_load_factors(const real *p)
{
#if VF_SVE && VF_BYTES > 16
    vf v = (vf)svld1rq_f32(svptrue_b32(), p);
#else
    vf v = vf_load(p);
#endif
    __asm__("" : "+w"(v));
    return v;
}

#define VF_FMUL_LANE(lane)                                                        \
    case lane:                                                                    \
        __asm__("fmul %0.4s, %1.4s, %2.s[" #lane "]" : "=w"(c) : "w"(b), "w"(a)); \
        return c;
#define VF_FMLA_LANE(lane)                                                        \
    case lane:                                                                    \
        __asm__("fmla %0.4s, %1.4s, %2.s[" #lane "]" : "+w"(c) : "w"(b), "w"(a)); \
        return c;

/* a's factor `lane`, a constant, times b. */
VF_INLINE vf vf_multiply_lane(vf a, const int lane, vf b)
{
    vf c = b;
#if VF_SVE && VF_BYTES > 16
#define VF_SVMUL_LANE(lane) svmul_lane_f32((svfloat32_t)b, (svfloat32_t)a, lane)
    c = (vf)(lane == 0   ? VF_SVMUL_LANE(0) /* which takes nothing but literals */
             : lane == 1 ? VF_SVMUL_LANE(1)
             : lane == 2 ? VF_SVMUL_LANE(2)
                         : VF_SVMUL_LANE(3));
#else
    switch (lane) {
        VF_FMUL_LANE(0)
        VF_FMUL_LANE(1)
        VF_FMUL_LANE(2)
        VF_FMUL_LANE(3)
    }
#endif
    return c;
}

/* a's factor `lane`, a constant, times b, plus c. */
VF_INLINE vf vf_fma_lane(vf a, const int lane, vf b, vf c)
{
#if VF_SVE && VF_BYTES > 16
#define VF_SVMLA_LANE(lane) svmla_lane_f32((svfloat32_t)c, (svfloat32_t)b, (svfloat32_t)a, lane)
    return (vf)(lane == 0   ? VF_SVMLA_LANE(0) /* which takes nothing but literals */
                : lane == 1 ? VF_SVMLA_LANE(1)
                : lane == 2 ? VF_SVMLA_LANE(2)
                            : VF_SVMLA_LANE(3));
#else
    switch (lane) { /* with the intrinsic GCC 12 copies sums between registers */
        VF_FMLA_LANE(0)
        VF_FMLA_LANE(1)
        VF_FMLA_LANE(2)
        VF_FMLA_LANE(3)
    }
    return c;
#endif
}
#endif
