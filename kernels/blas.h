/*
 * blas.h: the BLAS library under kernel gemm, and what makes it as fast as it can be.
 *
 * OpenBLAS picks its code when it is loaded, from the processor it recognises or from OPENBLAS_CORETYPE;
 * an unknown processor gets the code of an older one.  Beating a library that guessed wrong proves
 * nothing, so whoever starts a process that measures gemm sets these variables first, except those that
 * the user has set.
 */
#pragma once

#include "attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Core types that variant gemm/isa may be fastest with on this problem and host, the best guess first;
 * returns how many, 1 or more.  Static storage. */
#define ATTN_BLAS_CORES ATTN_LIBRARY_CHOICES
size_t attn_blas_cores(const struct attn_problem *problem, enum attn_isa isa,
                       const char *cores[ATTN_BLAS_CORES]);

/* Environment for a process that runs gemm with one of them; *count may be 0.  Static storage. */
const struct attn_variable *attn_blas_environment(const char *core, size_t *count);

/* Name, version and core type of the library as loaded, e.g. "OpenBLAS 0.3.21 ... Haswell". */
const char *attn_blas_description(void);

/* Keeps the library's own threads, where it has any beside OpenMP, out of the process's BLAS calls
 * from now on. */
void attn_blas_one_thread(void);

#ifdef __cplusplus
}
#endif
