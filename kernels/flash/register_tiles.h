/*
 * register_tiles.h: part of kernel flash: a function for each size of a register tile, and the tiles that a
 * number of rows is cut into.
 */
#pragma once

#include "products.h"

/* A function for a register tile of constant size, so that the compiler unrolls it. */
#define REGISTER_TILE(name, make, arguments, rows, cols) \
    static void name(const struct arguments *args)       \
    {                                                    \
        make(rows, cols, *args);                         \
    }
/* One for each number of columns. */
#if FLASH_COLS == 4
#define REGISTER_TILES(name, make, arguments, rows)   \
    REGISTER_TILE(name##_1, make, arguments, rows, 1) \
    REGISTER_TILE(name##_2, make, arguments, rows, 2) \
    REGISTER_TILE(name##_3, make, arguments, rows, 3) \
    REGISTER_TILE(name##_4, make, arguments, rows, 4)
#define OF_COLUMNS(name)                       \
    {                                          \
        name##_1, name##_2, name##_3, name##_4 \
    }
#define OF_FEW_COLUMNS(name) \
    {                        \
        name##_1, name##_2   \
    }
#else
#define REGISTER_TILES(name, make, arguments, rows)   \
    REGISTER_TILE(name##_1, make, arguments, rows, 1) \
    REGISTER_TILE(name##_2, make, arguments, rows, 2)
#define OF_COLUMNS(name)   \
    {                      \
        name##_1, name##_2 \
    }
#endif
REGISTER_TILES(score_full, score_tile, score_args, FLASH_ROWS)
REGISTER_TILES(score_4, score_tile, score_args, 4)
REGISTER_TILES(score_2, score_tile, score_args, 2)
REGISTER_TILES(score_1, score_tile, score_args, 1)
REGISTER_TILES(value_full, value_tile, value_args, FLASH_ROWS)
REGISTER_TILES(value_4, value_tile, value_args, 4)
REGISTER_TILES(value_2, value_tile, value_args, 2)
REGISTER_TILES(value_1, value_tile, value_args, 1)

#if FLASH_STACK > 1
VF_INLINE void score_stack(const int rows, const int cols, struct score_args a)
{
#pragma GCC unroll 1
    for (int r = 0; r < rows; r += FLASH_ROWS) {
        score_tile(FLASH_ROWS, cols, a);
        a.k = (const key_element *)a.k + FLASH_ROWS * a.k_stride;
        a.to.s += FLASH_ROWS * FLASH_TILE;
    }
}

VF_INLINE void value_stack(const int rows, const int cols, struct value_args a)
{
    const void *first = a.v;
#pragma GCC unroll 1
    for (int r = 0; r < rows; r += FLASH_ROWS) {
        a.v = value_column(first, a.v_stride, r);
        value_tile(FLASH_ROWS, cols, a);
        a.o += FLASH_ROWS * FLASH_TILE;
    }
}
REGISTER_TILES(score_stack, score_stack, score_args, FLASH_STACK *FLASH_ROWS)
REGISTER_TILES(value_stack, value_stack, value_args, FLASH_STACK *FLASH_ROWS)
#endif

#if FLASH_DIRECT
REGISTER_TILE(score_12_1, score_tile, score_args, 12, 1)
REGISTER_TILE(score_12_2, score_tile, score_args, 12, 2)
REGISTER_TILE(value_12_1, value_tile, value_args, 12, 1)
REGISTER_TILE(value_12_2, value_tile, value_args, 12, 2)
REGISTER_TILE(weigh_12_1, weigh_tile, weigh_args, 12, 1)
REGISTER_TILE(weigh_12_2, weigh_tile, weigh_args, 12, 2)
REGISTER_TILES(weigh_full, weigh_tile, weigh_args, FLASH_ROWS)
REGISTER_TILES(weigh_4, weigh_tile, weigh_args, 4)
REGISTER_TILES(weigh_2, weigh_tile, weigh_args, 2)
REGISTER_TILES(weigh_1, weigh_tile, weigh_args, 1)
#define WEIGH(name) , OF_COLUMNS(name)
#else
#define WEIGH(name)
#endif

/* Any number of rows is a sum of these heights, the highest that fits taken first. */
static const struct register_tile {
    int rows;
    void (*score[FLASH_COLS])(const struct score_args *args); /* for one column and more */
    void (*value[FLASH_COLS])(const struct value_args *args);
#if FLASH_DIRECT
    void (*weigh[FLASH_COLS])(const struct weigh_args *args);
#endif
} register_tiles[] = {
#if FLASH_STACK > 1
    {FLASH_STACK * FLASH_ROWS, OF_COLUMNS(score_stack), OF_COLUMNS(value_stack)},
#endif
#if FLASH_DIRECT
    {12, OF_FEW_COLUMNS(score_12), OF_FEW_COLUMNS(value_12), OF_FEW_COLUMNS(weigh_12)},
#endif
    {FLASH_ROWS, OF_COLUMNS(score_full), OF_COLUMNS(value_full) WEIGH(weigh_full)},
    {4, OF_COLUMNS(score_4), OF_COLUMNS(value_4) WEIGH(weigh_4)},
    {2, OF_COLUMNS(score_2), OF_COLUMNS(value_2) WEIGH(weigh_2)},
    {1, OF_COLUMNS(score_1), OF_COLUMNS(value_1) WEIGH(weigh_1)},
};

/* The first register tile for so many rows: the highest that fits, but 8 rows are two of 4, not 6 and
 * 2. */
static inline const struct register_tile *tile_of(int rows, int cols)
{
    const struct register_tile *tile = register_tiles;
    while (tile->rows > rows || !tile->value[cols - 1] || (rows == 8 && tile->rows == 6))
        tile++;
    return tile;
}

/* Calls for so many rows. */
static inline size_t count_calls(size_t n)
{
    const size_t rows = FLASH_ROWS, stack = FLASH_STACK * rows;
    return FLASH_STACK > 1 ? n / stack + (n % stack + rows - 1) / rows : (n + rows - 1) / rows;
}

/* Calls for a tile of queries and so many keys: after each comes one of prefetch_share(). */
static size_t count_register_tiles(const struct job *job, int keys)
{
    return count_calls((size_t)keys) + count_calls((size_t)job->v_dim);
}
