/*
 * ceilings: what the machine can do, measured in the process that measures the kernel.
 */
#ifndef HARNESS_CEILINGS_H
#define HARNESS_CEILINGS_H

#include "attention.h"

/* Fastest multiply-add rate, GFLOP/s, of `isa` on `threads` bound threads for operands of
 * `compute` (ATTN_F32 or ATTN_BF16); baseline: separate multiply and add if that is all there
 * is; f16 and bf16 without a dot-product instruction: the f32 rate.  Takes about `seconds`. */
double ceilings_fma(enum attn_isa isa, enum attn_dtype compute, int threads, double seconds);

/* Best over what this host has: for fraction_of_machine. */
double ceilings_fma_host(enum attn_dtype dtype, int threads, double seconds);

/* Two-stream read, GB/s (1e9), of a footprint of `bytes` split between `threads`, as K and V are. */
double ceilings_read(size_t bytes, int threads, double seconds);
double ceilings_copy(size_t bytes, int threads, double seconds);

/* exp2 evaluations a second (1e9), as softmax needs them, by the widest vectors of `isa`. */
double ceilings_exp(enum attn_isa isa, int threads, double seconds);

#endif
