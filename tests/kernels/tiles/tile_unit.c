/*
 * tile_unit: compiled with the processor's tiles and with those in C; TILE_UNIT is its symbol.
 */
#include "kernels/tiles/tile_unit.h"

#include "tiles.h"

static void load(const void *c, const void *a, const void *b)
{
    tiles_configure();
    TILE_LOAD(1, c, TILE_ROW_BYTES);
    TILE_LOAD(4, a, TILE_ROW_BYTES);
    TILE_LOAD(7, b, TILE_ROW_BYTES);
}

static void store(void *c)
{
    TILE_STORE(1, c, TILE_ROW_BYTES);
    tiles_release();
}

static void dot_bf16(void *c, const void *a, const void *b, int times)
{
    load(c, a, b);
    for (int i = 0; i < times; i++)
        TILE_DOT_BF16(1, 4, 7);
    store(c);
}

static void dot_i8(void *c, const void *a, const void *b, int times)
{
    load(c, a, b);
    for (int i = 0; i < times; i++)
        TILE_DOT_I8(1, 4, 7);
    store(c);
}

static void copy(void *to, ptrdiff_t to_stride, const void *from, ptrdiff_t from_stride)
{
    tiles_configure();
    TILE_LOAD(3, from, from_stride);
    TILE_STORE(3, to, to_stride);
    tiles_release();
}

static void copy_past_l1(void *to, ptrdiff_t to_stride, const void *from, ptrdiff_t from_stride)
{
    tiles_configure();
    TILE_LOAD_PAST_L1(3, from, from_stride);
    TILE_STORE(3, to, to_stride);
    tiles_release();
}

static void zero(void *to, const void *filled, int configured)
{
    tiles_configure();
    TILE_LOAD(1, filled, TILE_ROW_BYTES);
    if (configured)
        tiles_configure();
    else
        TILE_ZERO(1);
    store(to);
}

static bool configured(void)
{
#ifdef ATTN_TILES_EMULATED
    return tile_unit.configured;
#else
    unsigned char configuration[64]; /* of which the first byte is 0 where there are no tiles */
    __asm__ volatile("sttilecfg %0" : "=m"(configuration));
    return configuration[0] != 0;
#endif
}

const struct tile_unit TILE_UNIT = {
#ifdef ATTN_TILES_EMULATED
    .name = "in C",
#else
    .name = "of the processor",
#endif
    .dot_bf16 = dot_bf16,
    .dot_i8 = dot_i8,
    .copy = {copy, copy_past_l1},
    .zero = zero,
    .configure = tiles_configure,
    .configured = configured,
};
