/*
 * row_lanes_sizes.h: part of kernel split_kv: sizes of tiles whose rows lie in the lanes of vectors
 * (row_lanes.h), and their memory.
 */
#pragma once

#include "split_kv_tile.h"

/* Whether rows of several units see the keys that they share together, a row in each lane (row_lanes.h). */
#define ROW_LANES (BF16_PAIRS && !MATRIX_UNIT && VF_LANES == 2 * LANE_ROWS)
#if ROW_LANES
#define LANES_COLS 2                       /* vectors of a tile */
#define LANES_TILE (LANES_COLS * VF_LANES) /* rows of a tile */
#define LANES_KEYS 256                     /* most keys whose values are interleaved together */
#define LANES_RING 128                     /* keys whose scores are held: two blocks */
#define LANES_PANEL \
    (LANES_KEYS / 2 * VF_BYTES + VF_BYTES) /* bytes of 16 dimensions; not a power of two */

/* Memory of the tiles of a thread, in this order. */
enum lanes_memory { LANES_Q, LANES_O, LANES_S, LANES_P, LANES_V, LANES_COUNT };

/* Floats of each for `rows` rows, which have q of Q and o of O each. */
static inline void lanes_floats(size_t rows, size_t q, size_t o, size_t floats[LANES_COUNT])
{
    floats[LANES_Q] = rows * q;
    floats[LANES_O] = rows * o;
    floats[LANES_S] = LANES_RING * LANES_TILE;
    floats[LANES_P] = LANES_KEYS / 2 * LANES_TILE;
    floats[LANES_V] = LANES_PANEL / sizeof(float) * (o / VF_LANES);
}
#endif
