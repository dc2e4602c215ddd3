/*
 * tiles_kernels: the sizes that were built.
 */
#include <stdio.h>

#include "experiments/tiles.h"

#define TILE(keys, queries) extern const struct attn_kernel tile_flash_k##keys##_q##queries;
#include "tiles_list.h"
#undef TILE

#define TILE(keys, queries) &tile_flash_k##keys##_q##queries,
const struct attn_kernel *const tiles_kernels[] = {
#include "tiles_list.h"
    NULL};
#undef TILE

const size_t tiles_count = sizeof tiles_kernels / sizeof *tiles_kernels - 1;

bool tiles_size(const char *name, unsigned *keys, unsigned *queries)
{
    return sscanf(name, "flash_k%u_q%u", keys, queries) == 2;
}
