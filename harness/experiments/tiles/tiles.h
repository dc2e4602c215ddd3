/*
 * tiles: kernel flash with other sizes of blocks.
 */
#ifndef HARNESS_EXPERIMENTS_TILES_TILES_H
#define HARNESS_EXPERIMENTS_TILES_TILES_H

#include <jansson.h>
#include <stdbool.h>

#include "attention.h"

/*
 * Each size is a variant for avx512, flash_kKEYS_qQUERIES; none where the compiler has no avx512.
 * Its code is in a module beside the program.  The parent loads nothing that starts threads: there
 * each size is a copy of flash under the size's name, without code to execute.
 */
size_t tiles_kernels(const struct attn_kernel *const **kernels);

/* Whether the module lies beside the program; false fills message with how to build it. */
bool tiles_built(char *message, size_t message_size);

/* The code of a size, for workers; any other kernel is returned as it is.  NULL fills message. */
const struct attn_kernel *tiles_load(const struct attn_kernel *kernel, char *message,
                                     size_t message_size);

/* Keys and queries of a block by the kernel's name; false where it is no size of flash. */
bool tiles_size(const char *name, unsigned *keys, unsigned *queries);

/* Tables and finding. */
bool tiles_report(const json_t *rows);

#endif
