/*
 * ring: attention over processes that hold a part of the sequence each.
 *
 * Keys and values travel around the ranks while flash computes with those that are here; partial results
 * are merged by their LSE (Liu, Zaharia and Abbeel 2023, arXiv:2310.01889).  ring.h says how the
 * sequence is cut, and how decode is done.
 *
 *   memory    of each rank: its 1/N of Q, K, V and O, twice that of K and V under way, and partial
 *             results in f32 of its queries
 *   parallel  over ranks, and over threads in each as flash is
 *   scratch   that of flash, in decode of split_kv
 *   instead   flash where the sequence fits one memory and its cores suffice
 *
 * This file only describes it: a single process cannot compute it.  parts.c, compute.c, merge.c, rank.c
 * and messages.c are what a rank runs.
 */
#include "kernel.h"
#include "library.h"

/* Never called: a plan needs the library. */
static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    (void)plan;
    (void)tensors;
    assert(false);
}

const struct attn_kernel ATTN_KERNEL = {
    .size = sizeof(struct attn_kernel),
    .name = "ring",
    .summary = "flash over ranks (MPI): K and V travel while it computes, merged by LSE",
    .source = "Liu, Zaharia and Abbeel 2023, Ring Attention, arXiv:2310.01889",
    .isa = ATTN_KERNEL_ISA,
    .library = &attn_ring_library,
    .caps.size = sizeof(struct attn_caps),
#if defined __AVX512BF16__ || defined __ARM_FEATURE_BF16_VECTOR_ARITHMETIC
    .caps.dtypes = ATTN_BIT(ATTN_BF16),
    .caps.compute = ATTN_BF16,
#else
    .caps.dtypes = ATTN_BIT(ATTN_F32) | ATTN_BIT(ATTN_BF16) | ATTN_BIT(ATTN_F16),
    .caps.compute = ATTN_F32,
#endif
    .caps.masks = ATTN_MASKS_POSITIONAL,
    .caps.options = ATTN_OPTION_SOFTCAP,
    .caps.outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE,
    .caps.forward = true,
    .caps.parallel = true,
    .caps.max_dim = INT32_MAX,
    .execute = execute,
};
