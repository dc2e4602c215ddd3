/*
 * ceilings: the machine's highest rates, measured in the process that measures the kernel.
 *
 * The caller binds the threads (machine_bind() with the same number of threads).  Each rate is the best of
 * many short repeats while all threads work (memory: of repeats that all threads begin together), because a
 * ceiling is what the machine can do, not what it did while others used it.
 */
#pragma once

#include "attention.h"
#include "machine.h"

/* A rate that exceeds its ceiling by more than this factor is not noise: between a probe and the samples the
 * clock frequency changes by up to 8 % (3.5 to 3.8 GHz on one machine), hardly ever by more. */
#define CEILINGS_TOLERANCE 1.1

/* Whether a rate per second exceeds a ceiling, in 1e9 per second, by more than the tolerance; false if the
 * ceiling is unknown. */
static inline bool ceilings_passed(double per_second, double ceiling)
{
    return ceiling > 0 && per_second > CEILINGS_TOLERANCE * ceiling * 1e9;
}

/* Highest multiply-add rate of `isa`, GFLOP/s, on `threads` bound threads for operands of type `compute`
 * (ATTN_F32, ATTN_F64, ATTN_BF16 or ATTN_I8), by a matrix unit if the ISA has one; by separate multiplies and
 * adds on a baseline without fused ones; f16, and bf16 without a dot-product instruction: the f32 rate; int8
 * without a matrix unit: 0. Takes about `seconds`. */
double ceilings_fma(enum attn_isa isa, enum attn_dtype compute, int threads, double seconds);

/* The same with operands from L1, loaded as in the inner loop of a GEMM: the limit of a kernel's
 * products.  For ATTN_F32, and ATTN_BF16 on a matrix unit; 0 for others. */
double ceilings_fma_from_l1(enum attn_isa isa, enum attn_dtype compute, int threads,
                            double seconds);

/* The highest such rate of this host's ISAs for a data type, for fraction_of_machine. */
double ceilings_fma_host(enum attn_dtype dtype, int threads, double seconds);

/* Whether ceilings_fma() of this ISA is that highest rate: it has a matrix unit if the host has one for the
 * type, else the widest vectors, and bf16 dot products if the host prefers them. */
bool ceilings_fma_is_host(enum attn_isa isa, enum attn_dtype compute, enum attn_dtype dtype);

/* The same for a probe among those of a host, in the host's order of preference. */
struct probe;
bool ceilings_fma_is_best(const struct probe *probe, enum attn_dtype compute, enum attn_dtype dtype,
                          const struct probe *const *host, size_t count);

/* Whether this build emulates instructions of the ISA, for tests: it has no ceiling of its own. */
bool ceilings_emulated(enum attn_isa isa);

/* Read bandwidth of two streams, GB/s (1e9), over `bytes` in all, split between `threads`, as K and V are. */
double ceilings_read(size_t bytes, int threads, double seconds);

/* K and V, or the first `bytes` of each, 64-byte aligned. */
struct ceilings_kv {
    const void *k, *v;
    size_t bytes;
};

/* The same of K and V themselves, one set after the other, on the pages that they lie on, while
 * ceilings_read() uses huge pages if it can.  0 if a thread's share of `bytes` is below 1 KiB. */
double ceilings_read_operands(const struct ceilings_kv *sets, size_t count, int threads,
                              double seconds);

/* Seconds that the calling thread takes to read them once; NaN below 1 KiB. */
double ceilings_read_once(const void *k, const void *v, size_t bytes);

/* Copy bandwidth, GB/s read plus written, from one half of `bytes` to the other. */
double ceilings_copy(size_t bytes, int threads, double seconds);

/* `bytes`, or a smaller footprint with the same read bandwidth: beyond a multiple of the last-level cache
 * everything comes from memory, and a smaller footprint takes less time to touch. */
size_t ceilings_footprint(const struct machine *machine, size_t bytes);

/* 1e9 evaluations of exp2 per second, as softmax needs them, by the widest vectors of `isa`. */
double ceilings_exp(enum attn_isa isa, int threads, double seconds);

/* Which ceiling bounds work of `flops` and `bytes` by the roofline model (Williams, Waterman and Patterson
 * 2009): whether that of multiply-adds, else that of reading. */
bool ceilings_compute_bound(double flops, double bytes, double fma_gflops,
                            double read_gbytes_per_s);
