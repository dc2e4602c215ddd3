/*
 * simd_types.h: GNU C vectors of `real` as wide as the variant's ISA, and how functions and loops that hold
 * them are compiled; for kernel files only.  simd.h has their operations.
 */
#pragma once

#include <stdint.h>

#include "real.h"

/* Intrinsics, for what C cannot express or compilers miss. */
#if defined __SSE__
#include <immintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>
#endif

/* SVE with a fixed vector length (kernel.cmake): GNU C vectors of this size live in its registers, and a
 * predicate for all lanes costs nothing. */
#if defined __ARM_FEATURE_SVE && __ARM_FEATURE_SVE_BITS
#include <arm_sve.h>
#define VF_SVE 1
#else
#define VF_SVE 0
#endif

#if defined __AVX512F__
#define VF_BYTES 64
#define VF_REGISTERS 32
#elif defined __AVX__
#define VF_BYTES 32
#define VF_REGISTERS 16
#elif VF_SVE
#define VF_BYTES (__ARM_FEATURE_SVE_BITS / 8)
#define VF_REGISTERS 32
#elif defined __aarch64__
#define VF_BYTES 16
#define VF_REGISTERS 32
#else
#define VF_BYTES 16
#define VF_REGISTERS 16
#endif

/* Whether a multiply-add takes a factor from a lane of a register, so that one load replaces VF_FACTORS
 * broadcasts (vf_load_factors, vf_fma_lane): 128 bits of factors, which SVE repeats along the vector. */
#if defined __aarch64__
#define VF_FACTOR_IN_LANE 1
#define VF_FACTORS (16 / REAL_BYTES)
#else
#define VF_FACTOR_IN_LANE 0
#endif

#define VF_LANES (VF_BYTES / REAL_BYTES)

/* Intrinsics and instructions of the type. */
#if REAL_BYTES == 8
typedef uint64_t vu __attribute__((vector_size(VF_BYTES))); /* wraps where vi must not */
#define VF_OF_TYPE(name) name##pd
#define VF_MASK __mmask8 /* a bit per lane */
#define VF_FMA "vfmadd231pd"
#define VF_SVE_REAL svfloat64_t
#define VF_SVE_FMA "fmla %0.d, %3/m, %1.d, %2.d"
#else
typedef uint32_t vu __attribute__((vector_size(VF_BYTES)));
#define VF_OF_TYPE(name) name##ps
#define VF_MASK __mmask16
#define VF_FMA "vfmadd231ps"
#define VF_SVE_REAL svfloat32_t
#define VF_SVE_FMA "fmla %0.s, %3/m, %1.s, %2.s"
#endif
typedef real vf __attribute__((vector_size(VF_BYTES)));
typedef real_int vi __attribute__((vector_size(VF_BYTES)));

/* Before a loop over a register tile: unrolls it completely, so that the tile stays in registers. */
#if defined __clang__
#define VF_UNROLL _Pragma("clang loop unroll(full)")
#else
#define VF_UNROLL _Pragma("GCC unroll 32")
#endif

/* A function to be specialised for constant arguments. */
#define VF_INLINE static inline __attribute__((always_inline))

/* A function whose loops need all registers: inlined, they would share them with the caller.  noclone:
 * otherwise GCC changes the arguments, and thereby the loops. */
#if defined __clang__
#define VF_NOINLINE static __attribute__((noinline))
#else
#define VF_NOINLINE static __attribute__((noinline, noclone))
#endif

/* F(lane, h) for each lane: an index list for __builtin_shufflevector. */
#define VF_4(F, t, h) F(t, h), F(t + 1, h), F(t + 2, h), F(t + 3, h)
#if VF_LANES == 16
#define VF_EACH(F, h) VF_4(F, 0, h), VF_4(F, 4, h), VF_4(F, 8, h), VF_4(F, 12, h)
#elif VF_LANES == 8
#define VF_EACH(F, h) VF_4(F, 0, h), VF_4(F, 4, h)
#elif VF_LANES == 4
#define VF_EACH(F, h) VF_4(F, 0, h)
#else
#define VF_EACH(F, h) F(0, h), F(1, h)
#endif
