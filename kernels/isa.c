/*
 * isa: names of the instruction sets and whether this host has them.
 *
 * A variant may use everything that its compiler flags allow (kernel.cmake), so each test below
 * covers the whole x86-64 micro-architecture level as the psABI defines it, not only the vectors.
 */
#include "isa.h"

#include <string.h>

static bool always(void)
{
    return true;
}

static bool never(void)
{
    return false;
}

#if defined __x86_64__

/* x86-64-v3.  F16C, LZCNT and MOVBE have no portable name in __builtin_cpu_supports; every
 * processor with both AVX2 and FMA has them. */
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

/* x86-64-v4 */
static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

static bool has_avx512_bf16(void)
{
    return has_avx512() && __builtin_cpu_supports("avx512bf16");
}

#else

#define has_avx2 never
#define has_avx512 never
#define has_avx512_bf16 never

#endif

static const struct {
    const char *name;
    const char *needs;
    bool (*available)(void);
} isas[ATTN_ISA_COUNT] = {
    [ATTN_ISA_BASELINE] = {"baseline", "any processor of this architecture", always},
    [ATTN_ISA_AVX2] = {"avx2", "x86-64-v3: AVX2, FMA, F16C", has_avx2},
    [ATTN_ISA_AVX512] = {"avx512", "x86-64-v4: AVX-512 F, BW, CD, DQ, VL", has_avx512},
    [ATTN_ISA_AVX512_BF16] = {"avx512_bf16", "x86-64-v4 and AVX512_BF16", has_avx512_bf16},
    [ATTN_ISA_AMX] = {"amx", "AMX tiles", never},
    [ATTN_ISA_NEON] = {"neon", "AArch64 Advanced SIMD", never},
    [ATTN_ISA_SVE] = {"sve", "AArch64 SVE", never},
};

const char *attn_isa_name(enum attn_isa isa)
{
    return isas[isa].name;
}

const char *attn_isa_needs(enum attn_isa isa)
{
    return isas[isa].needs;
}

bool attn_isa_available(enum attn_isa isa)
{
    return isas[isa].available();
}

bool attn_isa_parse(const char *name, enum attn_isa *isa)
{
    for (int i = 0; i < ATTN_ISA_COUNT; i++)
        if (strcmp(isas[i].name, name) == 0) {
            *isa = (enum attn_isa)i;
            return true;
        }
    return false;
}
