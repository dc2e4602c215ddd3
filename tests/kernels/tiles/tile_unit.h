/*
 * tile_unit: the tile operations of tiles.h as functions, for test_tiles.c: the processor's and those in C.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { UNIT_WORDS = 256 }; /* a tile: 16 rows of 16 words of 32 bits */

struct tile_unit {
    const char *name;
    /* c[UNIT_WORDS] += a b, `times` times over. */
    void (*dot_bf16)(void *c, const void *a, const void *b, int times);
    void (*dot_i8)(void *c, const void *a, const void *b, int times);
    /* Rows `from_stride` bytes apart to rows `to_stride` bytes apart, through a tile; [1]: past L1. */
    void (*copy[2])(void *to, ptrdiff_t to_stride, const void *from, ptrdiff_t from_stride);
    /* What a tile holds that was filled, and then set to zero or configured anew. */
    void (*zero)(void *to, const void *filled, int configured);
    /* Configures the calling thread's tiles; whether they are. */
    void (*configure)(void);
    bool (*configured)(void);
};

extern const struct tile_unit tile_unit_hardware, tile_unit_emulated;
