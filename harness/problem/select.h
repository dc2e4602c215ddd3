/*
 * select: which variants a --kernel and an --isa mean.
 */
#ifndef HARNESS_PROBLEM_SELECT_H
#define HARNESS_PROBLEM_SELECT_H

#include "catalogue.h"

#define SELECT_MAX 256

/* The name, of no kernel, for what attn_kernel_best() gives for each problem and number of threads. */
#define SELECT_BEST "best"

/* One kernel, and one of its variants where the name said so. */
struct selected {
    char name[64];
    bool variant; /* `isa` was named with the kernel */
    enum attn_isa isa;
};

/* Takes the next item of a comma list into `item`; false at the end. */
bool select_next(const char **list, char *item, size_t size);

/* Adds one that is not there yet, as long as there is room. */
void select_add(struct selected selected[SELECT_MAX], size_t *count, const struct selected *one);

/* A comma list of kernels, variants and groups, NULL for all; each once, groups in the order of the
 * catalogue, SELECT_BEST as such.  False fills message, with the nearest name; where the catalogue is not
 * complete, a name that is not known is passed over. */
bool select_kernels(const char *list, struct selected selected[SELECT_MAX], size_t *count,
                    char *message, size_t message_size);

/* What --blas means: kernel gemm is replaced by the kernels of the named libraries; NULL changes
 * nothing.  False fills message: an unknown library, or gemm is not selected. */
bool select_blas(const char *list, struct selected selected[SELECT_MAX], size_t *count,
                 char *message, size_t message_size);

/* The names that --blas takes, by their place; NULL past the last one. */
const char *select_blas_name(size_t index);

/* What --isa means: a set of bits (1u << isa); or 0 for the one that this host prefers, of each kernel
 * and problem. */
bool select_isas(const char *list, unsigned *isas, char *message, size_t message_size);

/* Variants to run for a problem, a set of bits: those asked for, or of those that this host can run
 * and that support the problem the one it prefers (attn_isa_preference).  Where none does, the one
 * that refuses with the most useful reason: the preferred of this host for the problem's data type,
 * else of this host, else of all that are built. */
unsigned select_variants(const struct selected *selected, unsigned isas,
                         const struct attn_problem *problem);

/* Why the variant does not compute the problem: what another variant of the kernel takes and it does not,
 * or what none of them takes; of one that is not in the catalogue, its own reason.  False: it does compute
 * it. */
bool select_refusal(const struct attn_kernel *kernel, const struct attn_problem *problem,
                    char *message, size_t message_size);

#endif
