/*
 * blas: what the BLAS library wants in its environment, and which one it is.
 *
 * Core types were measured with OpenBLAS 0.3.21 on Zen 4 (2026-11-21, gemm whole, % of the FMA peak,
 * one thread, Haswell / SkylakeX code): S=4096 D=64 68 / 64, S=1024 causal 63 / 64, S=64 61 / 62,
 * decode of 4 heads a group 8.8 / 14, of 1 head 2.1 / 3.7.  Zen 4 runs a 512-bit multiply-add in
 * two halves, so the AVX-512 code gains nothing but its path for small matrices, which packs
 * nothing.  Zen 5, two whole 512-bit pipes, is taken for Haswell and runs SkylakeX's code 1.6
 * times as fast.  Of Intel's Sapphire and Emerald Rapids the library's own choice is slow: S=256
 * to 4096, D=64 on one thread 15 to 16 %, Haswell 27 to 37 %, SkylakeX 56 to 57 % (Emerald Rapids,
 * 2026-11-22, what was tried in results/intel-emr-2core/overview.jsonl).
 */
#include "blas.h"

#include <string.h>

#include "rivals/blas_library.h"

#if defined OPENBLAS_THREAD

#define CORE(type)                      \
    {                                   \
        {"OPENBLAS_CORETYPE", type},    \
        {                               \
            "OPENBLAS_NUM_THREADS", "1" \
        }                               \
    }

#define OWN_CHOICE "its own choice"

static const struct {
    const char *core;
    struct attn_variable variables[2];
    size_t count;
} environments[] = {
    {OWN_CHOICE, {{"OPENBLAS_NUM_THREADS", "1"}}, 1}, /* first: also for a name that is none */
    {"Prescott", CORE("Prescott"), 2},
    {"Haswell", CORE("Haswell"), 2},
    {"SkylakeX", CORE("SkylakeX"), 2},
};

/* Rows of a product up to which the library's path for small matrices wins. */
#define FEW_ROWS 64

size_t attn_blas_cores(const struct attn_problem *problem, enum attn_isa isa,
                       const char *cores[ATTN_BLAS_CORES])
{
#if defined __x86_64__
    const size_t rows = problem->q_heads / problem->kv_heads * problem->q_len;
    const bool amd = __builtin_cpu_is("amd");
    const bool narrow = amd && __builtin_cpu_is("amdfam19h") && rows > FEW_ROWS;
    size_t count = 0;
    if (isa <= ATTN_ISA_AVX2) {
        cores[0] = isa == ATTN_ISA_BASELINE ? "Prescott" : "Haswell";
        return 1;
    }
    if (!amd)
        cores[count++] = OWN_CHOICE;
    cores[count++] = narrow ? "Haswell" : "SkylakeX";
    cores[count++] = narrow ? "SkylakeX" : "Haswell";
    return count;
#else
    (void)problem;
    (void)isa;
    cores[0] = OWN_CHOICE;
    return 1;
#endif
}

const struct attn_variable *attn_blas_environment(const char *core, size_t *count)
{
    size_t at = sizeof environments / sizeof *environments - 1;
    while (at > 0 && strcmp(environments[at].core, core) != 0)
        at--;
    *count = environments[at].count;
    return environments[at].variables;
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

#define CHOOSER "OPENBLAS_CORETYPE"

#else

/* BLIS and the reference library: one thread unless told otherwise. */
static const struct attn_variable environment[] = {{"BLIS_NUM_THREADS", "1"}};

size_t attn_blas_cores(const struct attn_problem *problem, enum attn_isa isa,
                       const char *cores[ATTN_BLAS_CORES])
{
    (void)problem;
    (void)isa;
    cores[0] = "its own choice";
    return 1;
}

const struct attn_variable *attn_blas_environment(const char *core, size_t *count)
{
    (void)core;
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

#define CHOOSER NULL

#endif

/* ---- for kernel gemm ------------------------------------------------------------------------- */

static const struct attn_variable *linked_environment(enum attn_isa isa, const char *choice,
                                                      size_t *count)
{
    (void)isa;
    return attn_blas_environment(choice, count);
}

struct cblas attn_cblas_linked = {
    .library.size = sizeof(struct attn_library),
    .library.description = attn_blas_description,
    .library.choices = attn_blas_cores,
    .library.environment = linked_environment,
    .library.chooser = CHOOSER,
    .sgemm = cblas_sgemm,
#ifdef ATTN_SBGEMM
    .bf16 = cblas_sbgemm,
#endif
    .one_thread = attn_blas_one_thread,
};
