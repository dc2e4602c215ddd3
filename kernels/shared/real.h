/*
 * real.h: the type that a kernel computes in.
 *
 * float, or double in the f64 object of a kernel that kernel.cmake compiles twice (either.h).  There Q, K, V,
 * O, LSE and weights are `real`s, and vf and vi (simd_types.h) vectors of them.
 */
#pragma once

#include <float.h>
#include <stdint.h>

#if defined ATTN_COMPUTE_F64
typedef double real;
typedef int64_t real_int; /* of the same width */
#define REAL_BYTES 8
#define REAL_DTYPE ATTN_F64
#define REAL_MAX DBL_MAX
#define REAL_SIGN INT64_MIN /* sign bit */
#else
typedef float real;
typedef int32_t real_int;
#define REAL_BYTES 4
#define REAL_DTYPE ATTN_F32
#define REAL_MAX FLT_MAX
#define REAL_SIGN INT32_MIN
#endif
