/*
 * tiles: kernel flash with other sizes of blocks.
 */
#ifndef HARNESS_EXPERIMENTS_TILES_H
#define HARNESS_EXPERIMENTS_TILES_H

#include <jansson.h>
#include <stdbool.h>

#include "attention.h"

/* Each size is a variant for avx512, flash_kKEYS_qQUERIES; none where the compiler has no avx512. */
extern const struct attn_kernel *const tiles_kernels[];
extern const size_t tiles_count;

/* Keys and queries of a block by the kernel's name; false where it is no size of flash. */
bool tiles_size(const char *name, unsigned *keys, unsigned *queries);

/* Tables and finding. */
bool tiles_report(const json_t *rows);

#endif
