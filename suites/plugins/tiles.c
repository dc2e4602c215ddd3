/*
 * tiles: kernel flash with other sizes of blocks, flash_kKEYS_qQUERIES.
 *
 * Each is the source of flash compiled with other constants, for avx512, whose tiles have 32 queries.
 */
#include <stddef.h>

#include "attention.h"

/* TILE(keys, queries) for each size that was built. */
#define TILE(keys, queries) \
    extern const struct attn_kernel tile_flash_k##keys##_q##queries##_avx512;
#include "tiles_list.h"
#undef TILE

attn_plugin_entry attn_plugin;

const struct attn_kernel *const *attn_plugin(size_t *count)
{
#define TILE(keys, queries) &tile_flash_k##keys##_q##queries##_avx512,
    static const struct attn_kernel *const kernels[] = {
#include "tiles_list.h"
    };
#undef TILE
    *count = sizeof kernels / sizeof *kernels;
    return kernels;
}
