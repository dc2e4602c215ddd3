/*
 * kernels: the sizes that were built, and the module that has their code.
 */
#include <stdio.h>

#include "experiments/shared/module.h"
#include "tiles.h"

#define MODULE "attnbench_tiles.so"

#define TILE(keys, queries) "flash_k" #keys "_q" #queries,
static const char *const names[] = {
#include "tiles_list.h"
    NULL};
#undef TILE
#define SIZES (sizeof names / sizeof *names - 1)

size_t tiles_kernels(const struct attn_kernel *const **kernels)
{
    static struct attn_kernel sizes[SIZES + 1];
    static const struct attn_kernel *listed[SIZES + 1];
    const struct attn_kernel *flash = attn_find("flash", ATTN_ISA_AVX512);
    for (size_t i = 0; names[i]; i++) {
        sizes[i] = *flash;
        sizes[i].name = names[i];
        sizes[i].execute = NULL;
        listed[i] = &sizes[i];
    }
    *kernels = listed;
    return SIZES;
}

bool tiles_size(const char *name, unsigned *keys, unsigned *queries)
{
    return sscanf(name, "flash_k%u_q%u", keys, queries) == 2;
}

/* ---- the module ------------------------------------------------------------------------------ */

bool tiles_built(char *message, size_t message_size)
{
    return module_built(MODULE, message, message_size);
}

const struct attn_kernel *tiles_load(const struct attn_kernel *kernel, char *message,
                                     size_t message_size)
{
    char symbol[80];
    if (kernel->execute)
        return kernel;
    snprintf(symbol, sizeof symbol, "tile_%s_avx512", kernel->name);
    return module_symbol(MODULE, symbol, message, message_size);
}
