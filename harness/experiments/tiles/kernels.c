/*
 * kernels: the sizes that were built, and the module that has their code.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/build.h"
#include "system/process.h"
#include "tiles.h"

#define MODULE "attnbench_tiles.so"
#define ADVICE "build it: scripts/build release"

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
    for (size_t i = 0; i < SIZES; i++) {
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
    char path[PATH_MAX];
    if (process_beside(MODULE, path, sizeof path) && access(path, R_OK) == 0)
        return true;
    snprintf(message, message_size, MODULE " is not beside the program; " ADVICE);
    return false;
}

/* Whether a module is of this build, as far as its commit and compiler tell. */
static bool same_build(void *module)
{
    char ours[160], theirs[160] = "";
    void (*line)(char text[160]);
    void *symbol = dlsym(module, "build_line");
    memcpy(&line, &symbol, sizeof line); /* ISO C cannot cast a data pointer to a function's */
    if (line)
        line(theirs);
    build_line(ours);
    return strcmp(ours, theirs) == 0;
}

const struct attn_kernel *tiles_load(const struct attn_kernel *kernel, char *message,
                                     size_t message_size)
{
    char path[PATH_MAX], symbol[80];
    if (kernel->execute)
        return kernel;
    if (!tiles_built(message, message_size) || !process_beside(MODULE, path, sizeof path))
        return NULL;
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module) {
        snprintf(message, message_size, "%s", dlerror());
        return NULL;
    }
    snprintf(symbol, sizeof symbol, "tile_%s_avx512", kernel->name);
    kernel = same_build(module) ? dlsym(module, symbol) : NULL;
    if (!kernel)
        snprintf(message, message_size, MODULE " is of another build; " ADVICE);
    return kernel;
}
