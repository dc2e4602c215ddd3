/*
 * select: which variants a --kernel and an --isa mean.
 */
#pragma once

#include "base/scan.h"
#include "catalogue.h"

#define SELECT_MAX 256

/* Stands for the kernel that attn_kernel_best() chooses for each problem and number of threads. */
#define SELECT_BEST "best"

/* A kernel, or one of its variants. */
struct selected {
    char name[64];
    bool variant; /* only the variant `isa` */
    enum attn_isa isa;
};

/* Adds *one unless it is there or the array is full. */
void select_add(struct selected selected[SELECT_MAX], size_t *count, const struct selected *one);

/* Parses a comma-separated list of kernels, variants and groups, NULL: all.  Each is added once, groups in
 * the order of the catalogue, SELECT_BEST under this name.  False fills message, with the nearest name; while
 * the catalogue is incomplete, unknown names are skipped. */
bool select_kernels(const char *list, struct selected selected[SELECT_MAX], size_t *count,
                    struct message message);

/* Applies --blas: replaces kernel gemm by the kernels of the named libraries; NULL: nothing.  False fills
 * message: an unknown library, or gemm is not selected. */
bool select_blas(const char *list, struct selected selected[SELECT_MAX], size_t *count,
                 struct message message);

/* Name number `index` that --blas takes; NULL past the last one. */
const char *select_blas_name(size_t index);

/* Parses the name of an instruction set; false fills message. */
bool select_isa(struct piece name, enum attn_isa *isa, struct message message);

/* Parses --isa into bits 1u << isa; 0: the one that this host prefers, for each kernel and problem. */
bool select_isas(const char *list, unsigned *isas, struct message message);

/* Variants to run for a problem, bits 1u << isa: those in `isas`; if that is 0, of the variants that this
 * host can run and that support the problem the preferred one (attn_isa_preference).  If none does, the one
 * with the most useful refusal: the preferred one for the problem's data type on this host, else of this
 * host, else of all built. */
unsigned select_variants(const struct selected *selected, unsigned isas,
                         const struct attn_problem *problem);

/* Whether the variant does not compute the problem; fills message with the reason: an option that only other
 * variants of the kernel take, or that none takes; for a variant that is not in the catalogue, its own
 * reason. */
bool select_refusal(const struct attn_kernel *kernel, const struct attn_problem *problem,
                    struct message message);
