/*
 * probe_tiles: products of tiles in bf16 and in int8; for probe.c only, if the ISA has tiles.
 *
 * Two tiles of A times two of B into four accumulators, the most that eight registers allow, so that a
 * product does not wait for the three before it.  The caller's operands should be like those of kernels: with
 * zeros a unit takes less power, and its clock frequency may rise by a fifth.
 */
#include "tiles.h"

#define TILE_BYTES (TILE_ROWS * TILE_ROW_BYTES)

/* Tiles 0 to 3 += (4, 5) (6, 7). */
#define FOUR_PRODUCTS(DOT) \
    do {                   \
        DOT(0, 4, 6);      \
        DOT(1, 4, 7);      \
        DOT(2, 5, 6);      \
        DOT(3, 5, 7);      \
    } while (0)

static void tiles_begin(const void *operands)
{
    const char *p = operands;
    tiles_configure();
    TILE_LOAD(4, p, TILE_ROW_BYTES);
    TILE_LOAD(5, p + TILE_BYTES, TILE_ROW_BYTES);
    TILE_LOAD(6, p + 2 * TILE_BYTES, TILE_ROW_BYTES);
    TILE_LOAD(7, p + 3 * TILE_BYTES, TILE_ROW_BYTES);
}

/* Stores the results; returns the operations of `rounds` times four products of rows with `elements`
 * elements. */
static double tiles_end(void *results, size_t rounds, int elements)
{
    char *p = results;
    TILE_STORE(0, p, TILE_ROW_BYTES);
    TILE_STORE(1, p + TILE_BYTES, TILE_ROW_BYTES);
    TILE_STORE(2, p + 2 * TILE_BYTES, TILE_ROW_BYTES);
    TILE_STORE(3, p + 3 * TILE_BYTES, TILE_ROW_BYTES);
    tiles_release();
    return 4 * 2.0 * TILE_ROWS * TILE_ROWS * elements * (double)rounds;
}

static double tiles_bf16(size_t rounds, const void *operands, void *results)
{
    tiles_begin(operands);
    for (size_t round = 0; round < rounds; round++)
        FOUR_PRODUCTS(TILE_DOT_BF16);
    return tiles_end(results, rounds, TILE_ROW_BYTES / 2);
}

static double tiles_i8(size_t rounds, const void *operands, void *results)
{
    tiles_begin(operands);
    for (size_t round = 0; round < rounds; round++)
        FOUR_PRODUCTS(TILE_DOT_I8);
    return tiles_end(results, rounds, TILE_ROW_BYTES);
}

/* Loads and products alternate, so that they wait for each other as little as possible. */
static double tiles_bf16_from_l1(size_t rounds, const void *operands, void *results)
{
    tiles_configure();
    for (size_t round = 0; round < rounds; round++)
        for (int step = 0; step < PROBE_TILE_DEPTH; step++) {
            const char *p = (const char *)operands + (size_t)step * 4 * TILE_BYTES;
            TILE_LOAD(4, p, TILE_ROW_BYTES);
            TILE_LOAD(6, p + 2 * TILE_BYTES, TILE_ROW_BYTES);
            TILE_DOT_BF16(0, 4, 6);
            TILE_LOAD(7, p + 3 * TILE_BYTES, TILE_ROW_BYTES);
            TILE_DOT_BF16(1, 4, 7);
            TILE_LOAD(5, p + TILE_BYTES, TILE_ROW_BYTES);
            TILE_DOT_BF16(2, 5, 6);
            TILE_DOT_BF16(3, 5, 7);
        }
    return tiles_end(results, rounds * PROBE_TILE_DEPTH, TILE_ROW_BYTES / 2);
}
