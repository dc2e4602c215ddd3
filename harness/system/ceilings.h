/*
 * ceilings: what the machine can do, measured in the process that measures the kernel.
 *
 * Threads are bound by the caller (machine_bind() with the same number of threads).  Each rate is the
 * best of many short repeats while all threads are at work (for memory: of repeats that all begin
 * together): a ceiling is what the machine can do, not what it did while others used it.
 */
#ifndef HARNESS_SYSTEM_CEILINGS_H
#define HARNESS_SYSTEM_CEILINGS_H

#include "attention.h"
#include "machine.h"

/* A rate that exceeds the best ceiling measured beside it by more than this factor is not noise: between a
 * probe and the samples the clock changes by up to 8 % (3.5 to 3.8 GHz on one machine), hardly ever by
 * more. */
#define CEILINGS_TOLERANCE 1.1

/* Whether a rate per second exceeds a ceiling, in 1e9 per second, and the tolerance; false for an unknown
 * ceiling. */
static inline bool ceilings_passed(double per_second, double ceiling)
{
    return ceiling > 0 && per_second > CEILINGS_TOLERANCE * ceiling * 1e9;
}

/* Fastest multiply-add rate, GFLOP/s, of `isa` on `threads` bound threads for operands of
 * `compute` (ATTN_F32, ATTN_F64, ATTN_BF16 or ATTN_I8), by a matrix unit where the ISA has one; baseline:
 * separate multiply and add if that is all there is; f16 and bf16 without a dot-product instruction: the f32
 * rate; int8 without a matrix unit: 0.  Takes about `seconds`. */
double ceilings_fma(enum attn_isa isa, enum attn_dtype compute, int threads, double seconds);

/* The same with operands from L1, loaded as in the inner loop of a GEMM: the limit of a kernel's
 * products.  For ATTN_F32, and ATTN_BF16 on a matrix unit; 0 for others. */
double ceilings_fma_from_l1(enum attn_isa isa, enum attn_dtype compute, int threads,
                            double seconds);

/* Best over what this host has: for fraction_of_machine. */
double ceilings_fma_host(enum attn_dtype dtype, int threads, double seconds);

/* Whether ceilings_fma() of this ISA is that best already: by a matrix unit where this host has one for the
 * type, else with the widest vectors, and in pairs of bf16 where this host prefers them. */
bool ceilings_fma_is_host(enum attn_isa isa, enum attn_dtype compute, enum attn_dtype dtype);

/* The same of one probe among those of a host, in its order of preference. */
struct probe;
bool ceilings_fma_is_best(const struct probe *probe, enum attn_dtype compute, enum attn_dtype dtype,
                          const struct probe *const *host, size_t count);

/* Whether this build emulates instructions of the ISA, for tests: it has no ceiling of its own. */
bool ceilings_emulated(enum attn_isa isa);

/* Two-stream read, GB/s (1e9), of a footprint of `bytes` split between `threads`, as K and V are. */
double ceilings_read(size_t bytes, int threads, double seconds);

/* K and V, or the first `bytes` of each, 64-byte aligned. */
struct ceilings_kv {
    const void *k, *v;
    size_t bytes;
};

/* The same of K and V themselves, of one set after the other: on pages as they lie on, where
 * ceilings_read() has huge pages if it can.  0 where a thread's share of `bytes` is below 1 KiB. */
double ceilings_read_operands(const struct ceilings_kv *sets, size_t count, int threads,
                              double seconds);

/* Seconds that the calling thread takes to read them once; NaN below 1 KiB. */
double ceilings_read_once(const void *k, const void *v, size_t bytes);

/* Copy within a footprint of `bytes`, half of it written; GB/s read plus written. */
double ceilings_copy(size_t bytes, int threads, double seconds);

/* A smaller footprint with the same read rate: beyond some multiple of the last-level cache everything
 * comes from memory, and a smaller footprint takes less time to touch. */
size_t ceilings_footprint(const struct machine *machine, size_t bytes);

/* exp2 evaluations a second (1e9), as softmax needs them, by the widest vectors of `isa`. */
double ceilings_exp(enum attn_isa isa, int threads, double seconds);

/*
 * The roofline (Williams, Waterman and Patterson 2009): which ceiling binds work of `flops` and
 * `bytes`, the seconds it takes at that ceiling, and the intensity in flop per byte.
 */
struct roofline {
    bool compute_bound;
    double seconds;
    double intensity;
};
struct roofline ceilings_roofline(double flops, double bytes, double fma_gflops,
                                  double read_gbytes_per_s);

#endif
