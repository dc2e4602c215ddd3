/*
 * blas: what the BLAS library wants in its environment, and which one it is.
 *
 * Core types were measured with OpenBLAS 0.3.21 on Zen 4 (2026-11-21, gemm whole, % of the FMA peak,
 * one thread, Haswell / SkylakeX code): S=4096 D=64 68 / 64, S=1024 causal 63 / 64, S=64 61 / 62,
 * decode of 4 heads a group 8.8 / 14, of 1 head 2.1 / 3.7.  Zen 4 runs a 512-bit multiply-add in
 * two halves, so the AVX-512 code gains nothing but its path for small matrices, which packs
 * nothing.  Zen 5, two whole 512-bit pipes, is taken for Haswell and runs SkylakeX's code 1.6
 * times as fast.  What Intel makes the library recognises itself.
 */
#include "blas.h"

#include <cblas.h>

#if defined OPENBLAS_THREAD

#define CORE(type)                      \
    {                                   \
        {"OPENBLAS_CORETYPE", type},    \
        {                               \
            "OPENBLAS_NUM_THREADS", "1" \
        }                               \
    }

enum { SSE, AVX2, AVX512, OWN_CHOICE };

static const struct attn_blas_variable environments[][2] = {
    [SSE] = CORE("Prescott"),
    [AVX2] = CORE("Haswell"),
    [AVX512] = CORE("SkylakeX"),
    [OWN_CHOICE] = {{"OPENBLAS_NUM_THREADS", "1"}},
};

/* Rows of a product up to which the library's path for small matrices wins. */
#define FEW_ROWS 64

static int best_core(const struct attn_problem *problem, enum attn_isa isa)
{
#if defined __x86_64__
    if (isa == ATTN_ISA_BASELINE)
        return SSE;
    if (isa == ATTN_ISA_AVX2)
        return AVX2;
    if (!__builtin_cpu_is("amd"))
        return OWN_CHOICE;
    const size_t rows = problem->q_heads / problem->kv_heads * problem->q_len;
    return __builtin_cpu_is("amdfam19h") && rows > FEW_ROWS ? AVX2 : AVX512;
#else
    (void)problem;
    (void)isa;
    return OWN_CHOICE;
#endif
}

const struct attn_blas_variable *attn_blas_environment(const struct attn_problem *problem,
                                                       enum attn_isa isa, size_t *count)
{
    const int core = best_core(problem, isa);
    *count = core == OWN_CHOICE ? 1 : 2;
    return environments[core];
}

const char *attn_blas_description(void)
{
    return openblas_get_config();
}

void attn_blas_one_thread(void)
{
    if (openblas_get_parallel() == OPENBLAS_THREAD && openblas_get_num_threads() != 1)
        openblas_set_num_threads(1);
}

#else

/* BLIS and the reference library: one thread unless told otherwise. */
static const struct attn_blas_variable environment[] = {{"BLIS_NUM_THREADS", "1"}};

const struct attn_blas_variable *attn_blas_environment(const struct attn_problem *problem,
                                                       enum attn_isa isa, size_t *count)
{
    (void)problem;
    (void)isa;
    *count = sizeof environment / sizeof *environment;
    return environment;
}

const char *attn_blas_description(void)
{
    return "CBLAS";
}

void attn_blas_one_thread(void)
{
}

#endif
