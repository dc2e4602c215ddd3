/*
 * tiles.h: the matrix unit that Intel calls AMX: eight registers of 16 rows of 64 bytes, and their products.
 *
 *     tiles_configure()                the calling thread's tiles: all eight of 16 x 64 bytes, of zeros
 *     tiles_release()                  gives them up; what they held is lost
 *     TILE_LOAD(t, p, stride)          tile t = 16 rows of 64 bytes from p on, `stride` bytes apart
 *     TILE_LOAD_PAST_L1(t, p, stride)  the same for what is not soon read again: L1 keeps what it has
 *     TILE_STORE(t, p, stride)         16 rows of 64 bytes at p = tile t
 *     TILE_ZERO(t)                     tile t = 0
 *     TILE_DOT_BF16(c, a, b)           c += a b: 16 x 16 floats of 16 rows of 32 bf16 and 16 of 16 pairs
 *     TILE_DOT_I8(c, a, b)             the same of int32, modulo 2^32: 16 rows of 64 int8 and 16 of 16 fours
 *
 * Tile numbers are constants.  Row k of b holds elements 2k and 2k + 1 of each column side by side, or
 * 4k to 4k + 3.  Use needs attn_isa_available(ATTN_ISA_AMX), which asks the system for the tiles.
 *
 * TILE_DOT_BF16 to the last bit, as Sapphire Rapids does it: for each element of c
 *
 *     even = odd = 0
 *     for k = 0 .. 15:  even = fma(a[2k], b[2k], even),  odd = fma(a[2k + 1], b[2k + 1], odd)
 *     c = c + (even + odd)
 *
 * where every step rounds to the nearest, ties to even, whatever MXCSR says; denormal operands are 0; a
 * result that is below 2^-126 after it was rounded to 24 bits becomes 0 with its sign; the first NaN of
 * (a, b, sum), or of the two that are added, goes on, made quiet; an invalid operation gives 0xffc00000.
 * MXCSR neither matters nor changes.
 *
 * Where ATTN_TILES_EMULATED is defined, the same names are C that does all of this on any processor, so that
 * tests run the logic of a kernel for tiles everywhere.
 */
#pragma once

#include <stddef.h>

enum { TILE_ROWS = 16, TILE_ROW_BYTES = 64, TILE_COUNT = 8 };

#ifndef ATTN_TILES_EMULATED

/*
 * Not <amxintrin.h>: GCC 12's _tile_loadd() and _tile_loadconfig() do not say which memory they read, so
 * that stores to an array which only tiles load are deleted.  Hence "memory" in what touches any; `volatile`
 * keeps the order of all.
 */
#define TILE_LOAD(t, p, stride)                                                      \
    __asm__ volatile("tileloadd (%1,%2), %%tmm%c0" ::"i"(t), "r"((const void *)(p)), \
                     "r"((ptrdiff_t)(stride))                                        \
                     : "memory")
#define TILE_LOAD_PAST_L1(t, p, stride)                                                \
    __asm__ volatile("tileloaddt1 (%1,%2), %%tmm%c0" ::"i"(t), "r"((const void *)(p)), \
                     "r"((ptrdiff_t)(stride))                                          \
                     : "memory")
#define TILE_STORE(t, p, stride)                                                \
    __asm__ volatile("tilestored %%tmm%c0, (%1,%2)" ::"i"(t), "r"((void *)(p)), \
                     "r"((ptrdiff_t)(stride))                                   \
                     : "memory")
#define TILE_ZERO(t) __asm__ volatile("tilezero %%tmm%c0" ::"i"(t))
#define TILE_DOT_BF16(c, a, b) \
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(c), "i"(a), "i"(b))
#define TILE_DOT_I8(c, a, b) \
    __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(c), "i"(a), "i"(b))

static inline void tiles_configure(void)
{
    static const struct {
        unsigned char palette, start_row, reserved[14];
        unsigned short row_bytes[16];
        unsigned char rows[16];
    } all = {
        .palette = 1,
        .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
        .rows = {16, 16, 16, 16, 16, 16, 16, 16},
    };
    __asm__ volatile("ldtilecfg %0" ::"m"(all) : "memory");
}

static inline void tiles_release(void)
{
    __asm__ volatile("tilerelease" ::: "memory");
}

#else

#include "tiles_emulated.h"

#endif
