/*
 * flash_sizes.h: part of kernel flash: sizes of tiles, blocks and register tiles; flash.c says why.
 */
#pragma once

#include "shared/simd.h"

/* For two multiply-add units of 512 bits, whose exponentials compete with multiply-adds: weights are made
 * where the scores are (direct.h), and the loops of products prefetch. flash.c says why. */
#ifdef VF_TWO_FMA_UNITS
#define FLASH_DIRECT 1
#define FLASH_COLS 4
#else
#define FLASH_DIRECT 0
#define FLASH_COLS 2
#endif
#define FLASH_TILE (FLASH_COLS * VF_LANES)
#define FLASH_STRIPS (2 * FLASH_COLS - 1) /* of a block: strips.h */

/* Rows of the register tile: FLASH_COLS vectors each, beside two operands and a broadcast value, or a
 * vector of values for each row (VF_FACTOR_IN_LANE).  32 registers hold 6 x 4, or 8 x 2 with room for the
 * compiler's temporaries, 16 hold 6 x 2. */
#if VF_REGISTERS == 32 && !FLASH_DIRECT
#define FLASH_ROWS 8
#else
#define FLASH_ROWS 6
#endif

/* With four columns, one or two alone take higher register tiles: 6 sums would not hide the latency. */
#define FLASH_HIGHEST (FLASH_DIRECT ? 12 : FLASH_ROWS)

/* Keys of a block, a multiple of FLASH_ROWS.  AArch64's were chosen by a model without caches. */
#ifndef FLASH_KEYS
#define FLASH_KEYS              \
    (FLASH_DIRECT         ? 128 \
     : FLASH_ROWS < 8     ? 240 \
     : !VF_FACTOR_IN_LANE ? 256 \
     : VF_BYTES > 16      ? 128 \
                          : 512)
#endif

/* Register tiles per call, one after the other: those of AArch64 are so short that calls cost a part of
 * their time.  With vectors longer than 128 bits GCC 12 would then copy sums in the loops of scores. */
#define FLASH_STACK (VF_FACTOR_IN_LANE && VF_BYTES == 16 ? 4 : 1)

/* Tiles that share each block of K and V while it is in the second-level cache: 256 queries at avx512, 128
 * on AArch64. */
#ifndef FLASH_TILES
#define FLASH_TILES (VF_FACTOR_IN_LANE ? 128 / FLASH_TILE : 16 / FLASH_COLS)
#endif

/* Floats that the packed K and V of a block need, their dimensions rounded up to vectors. */
#define FLASH_PACKED(dims) (FLASH_KEYS * ((dims) + 2 * VF_LANES))
