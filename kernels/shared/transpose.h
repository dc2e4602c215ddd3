/*
 * transpose.h: VF_LANES x VF_LANES transposition in registers, for kernel files only.
 *
 * A round interleaves the first half of the rows with the second half, row by row.  The element at row r and
 * column c of a matrix of 2^n rows has the address bits (r, c), which an interleaving rotates by one; after n
 * rounds rows and columns are exchanged.
 */
#pragma once

#include "simd.h"

/* a0 b0 a1 b1 ... of the lower, and of the upper halves */
#if VF_LANES == 16
#define TRANSPOSE_ROUNDS 4
#define TRANSPOSE_LOWER 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define TRANSPOSE_UPPER 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif VF_LANES == 8
#define TRANSPOSE_ROUNDS 3
#define TRANSPOSE_LOWER 0, 8, 1, 9, 2, 10, 3, 11
#define TRANSPOSE_UPPER 4, 12, 5, 13, 6, 14, 7, 15
#else
#define TRANSPOSE_ROUNDS 2
#define TRANSPOSE_LOWER 0, 4, 1, 5
#define TRANSPOSE_UPPER 2, 6, 3, 7
#endif

VF_INLINE void transpose(vf x[VF_LANES])
{
    VF_UNROLL
    for (int round = 0; round < TRANSPOSE_ROUNDS; round++) {
        vf y[VF_LANES];
        VF_UNROLL
        for (int i = 0; i < VF_LANES / 2; i++) {
            const vf a = x[i], b = x[i + VF_LANES / 2];
            y[2 * i] = __builtin_shufflevector(a, b, TRANSPOSE_LOWER);
            y[2 * i + 1] = __builtin_shufflevector(a, b, TRANSPOSE_UPPER);
        }
        VF_UNROLL
        for (int i = 0; i < VF_LANES; i++)
            x[i] = y[i];
    }
}
