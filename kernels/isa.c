/*
 * isa: names of the instruction sets, whether this host has them, and which it prefers.
 *
 * A variant may use everything that its compiler flags allow (kernel.cmake), so each test below
 * covers the whole x86-64 micro-architecture level as the psABI defines it, not only the vectors.
 */
#include "isa.h"

#include <stdlib.h>
#include <string.h>

#if defined __x86_64__
#include <cpuid.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined __aarch64__
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

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

/* Cooper Lake has products of bf16 without AVX512_VBMI: it takes avx512, also of other libraries. */
static bool has_avx512_bf16(void)
{
    return has_avx512() && __builtin_cpu_supports("avx512bf16") &&
           __builtin_cpu_supports("avx512vbmi");
}

/* Clang 14 does not know its name. */
static bool has_avx512_fp16(void)
{
    unsigned a, b, c, d;
    return has_avx512() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 23 & 1;
}

#else

#define has_avx2 never
#define has_avx512 never
#define has_avx512_bf16 never
#define has_avx512_fp16 never

#endif

#if defined __aarch64__

static bool has_neon(void)
{
    const unsigned long needed = HWCAP_FP | HWCAP_ASIMD;
    return (getauxval(AT_HWCAP) & needed) == needed;
}

static bool has_neon_bf16(void)
{
    return has_neon() && (getauxval(AT_HWCAP2) & HWCAP2_BF16);
}

/* FMLAL: optional before Armv8.4, so that Neoverse N1 has f16 and lacks it. */
static bool has_neon_f16(void)
{
    const unsigned long needed = HWCAP_FPHP | HWCAP_ASIMDHP | HWCAP_ASIMDFHM;
    return has_neon() && (getauxval(AT_HWCAP) & needed) == needed;
}

static bool has_sve(void)
{
    return (getauxval(AT_HWCAP) & HWCAP_SVE) != 0;
}

/* Whether the vectors that this thread has are of so many bits: the kernel may grant fewer than the
 * processor has. */
static bool has_sve_of(int bits)
{
    const int granted = has_sve() ? prctl(PR_SVE_GET_VL) : -1;
    return granted >= 0 && (granted & PR_SVE_VL_LEN_MASK) * 8 == bits;
}

static bool has_sve128(void)
{
    return has_sve_of(128);
}

static bool has_sve256(void)
{
    return has_sve_of(256);
}

static bool has_sve512(void)
{
    return has_sve_of(512);
}

#else

#define has_neon never
#define has_neon_bf16 never
#define has_neon_f16 never
#define has_sve never
#define has_sve128 never
#define has_sve256 never
#define has_sve512 never

#endif

#if defined ATTN_TILES_EMULATED

#define AMX_NEEDS "nothing: this build emulates AMX tiles"

static const char *amx_lacks(void)
{
    return NULL;
}

#else

#define AMX_NEEDS "AMX-TILE, AMX-BF16 and AMX-INT8"

#if defined __x86_64__

/* XCR0: the parts of a thread's state that the system saves. */
static unsigned long long saved_state(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (unsigned long long)high << 32 | low;
}

/*
 * What this process lacks for amx, NULL where nothing.  Linux lends tiles to a process that asks: one call is
 * for all of its threads, also those that run already, and for what it forks; exec loses it.  It refuses
 * with ENOSPC while a thread has an alternate signal stack on which a frame with tiles, 11 KiB, has no room.
 */
static const char *amx_lacks(void)
{
    enum { REQ_XCOMP_PERM = 0x1023, TILE_DATA = 18 }; /* of <asm/prctl.h> since Linux 5.16 */
    const unsigned bf16_tile_int8 = 1u << 22 | 1u << 24 | 1u << 25;
    const unsigned long long tile_state = 3ull << 17;
    unsigned a, b, c, d;
    if (!has_avx512_bf16() || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return "x86-64-v4 with AVX512_BF16 and AVX512_VBMI";
    if ((d & bf16_tile_int8) != bf16_tile_int8)
        return AMX_NEEDS;
    if ((saved_state() & tile_state) != tile_state)
        return "an operating system that saves AMX tiles (XCR0)";
    if (syscall(SYS_arch_prctl, REQ_XCOMP_PERM, TILE_DATA) == 0)
        return NULL;
    return errno == ENOSPC ? "alternate signal stacks with room for AMX tiles (sigaltstack)"
                           : "the kernel's permission to use AMX tiles (arch_prctl)";
}

#else

static const char *amx_lacks(void)
{
    return AMX_NEEDS;
}

#endif
#endif

static bool has_amx(void)
{
    return !amx_lacks();
}

static const struct {
    const char *name;
    const char *needs;
    bool (*available)(void);
} isas[ATTN_ISA_COUNT] = {
    [ATTN_ISA_BASELINE] = {"baseline", "any processor of this architecture", always},
    [ATTN_ISA_AVX2] = {"avx2", "x86-64-v3: AVX2, FMA, F16C", has_avx2},
    [ATTN_ISA_AVX512] = {"avx512", "x86-64-v4: AVX-512 F, BW, CD, DQ, VL", has_avx512},
    [ATTN_ISA_AVX512_BF16] = {"avx512_bf16", "x86-64-v4, AVX512_BF16 and AVX512_VBMI",
                              has_avx512_bf16},
    [ATTN_ISA_AMX] = {"amx", AMX_NEEDS, has_amx},
    [ATTN_ISA_NEON] = {"neon", "AArch64 Advanced SIMD", has_neon},
    [ATTN_ISA_SVE] = {"sve", "AArch64 SVE", has_sve},
    [ATTN_ISA_NEON_BF16] = {"neon_bf16", "AArch64 Advanced SIMD with BF16", has_neon_bf16},
    [ATTN_ISA_SVE128] = {"sve128", "AArch64 SVE, vectors of 128 bits", has_sve128},
    [ATTN_ISA_SVE256] = {"sve256", "AArch64 SVE, vectors of 256 bits", has_sve256},
    [ATTN_ISA_SVE512] = {"sve512", "AArch64 SVE, vectors of 512 bits", has_sve512},
    [ATTN_ISA_NEON_F16] = {"neon_f16", "AArch64 Advanced SIMD with FP16 and FHM", has_neon_f16},
    [ATTN_ISA_AVX512_FP16] = {"avx512_fp16", "x86-64-v4 and AVX512-FP16", has_avx512_fp16},
    [ATTN_ISA_AVX512_2FMA] = {"avx512_2fma", "x86-64-v4, as avx512", has_avx512},
};

const char *attn_isa_name(enum attn_isa isa)
{
    return isas[isa].name;
}

/* ---- the mask ---------------------------------------------------------------------------------- */

/* Whether ATTN_ISA_MASK takes it from this host. */
static bool is_masked(enum attn_isa isa)
{
    const char *name = isas[isa].name, *mask = getenv(ATTN_ISA_MASK);
    const size_t length = strlen(name);
    if (!mask || isa == attn_isa_built_as(ATTN_ISA_BASELINE) || isa == ATTN_ISA_BASELINE)
        return false;
    for (const char *at = mask; *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, name, length) == 0 && strchr(",", at[length]))
            return false;
    return true;
}

/* ---- availability ------------------------------------------------------------------------------ */

const char *attn_isa_needs(enum attn_isa isa)
{
    if (is_masked(isa))
        return "what " ATTN_ISA_MASK " leaves out";
    const char *lacks = isa == ATTN_ISA_AMX ? amx_lacks() : NULL; /* of it all, what is missing */
    return lacks ? lacks : isas[isa].needs;
}

bool attn_isa_available(enum attn_isa isa)
{
    return !is_masked(isa) && isas[isa].available();
}

enum attn_isa attn_isa_built_as(enum attn_isa isa)
{
#if defined __aarch64__
    if (isa == ATTN_ISA_BASELINE)
        return ATTN_ISA_NEON;
    if (isa == ATTN_ISA_SVE)
        return has_sve512() ? ATTN_ISA_SVE512 : has_sve256() ? ATTN_ISA_SVE256 : ATTN_ISA_SVE128;
#endif
    return isa;
}

enum attn_isa attn_isa_instructions(enum attn_isa isa)
{
    return isa == ATTN_ISA_AVX512_2FMA ? ATTN_ISA_AVX512 : isa;
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

/* ---- preference ------------------------------------------------------------------------------ */

/*
 * avx512_bf16 has vdpbf16ps, which multiplies pairs of bf16 and adds both products; avx512 widens bf16
 * and multiplies floats.  The products of pairs go at 2 times the rate of float32 on AMD's Zen 4 and at
 * half of it on Intel's Emerald Rapids (results/, `fma_gflops` of the rows in bf16).  There, avx512
 * before avx512_bf16 (2 cores, GCC 12.2, 2026-11-22, attnbench run --suite rivals, one thread; two are
 * alike): flash S=1024 D=64 15.8 and 26.8 ms, causal 8.6 and 13.9, D=128 causal 16.5 and 27.1; split_kv
 * 24.2 and 31.1, 13.8 and 17.1, 25.0 and 31.8, decode of 8192 keys for 32 heads on 8 2.0 and 2.5.
 *
 * avx512_2fma suits processors with two multiply-add units of 512 bits, which also execute other vector
 * instructions, and with prefetchers like theirs (ALWAYS_FETCHES in split_kv/geometry.h).  Intel's processors
 * with AVX-512 are taken to be such, though a few have one unit.  Zen 4 has one, and other pipes: avx512.
 */
#define ELSEWHERE                                                                             \
    ATTN_ISA_NEON_BF16, ATTN_ISA_NEON_F16, ATTN_ISA_SVE512, ATTN_ISA_SVE256, ATTN_ISA_SVE128, \
        ATTN_ISA_SVE, ATTN_ISA_NEON

static const struct {
    const char *vendor; /* as __builtin_cpu_is() names it; NULL: all others */
    enum attn_isa order[ATTN_ISA_COUNT];
} preferences[] = {
    {"intel",
     {ELSEWHERE, ATTN_ISA_AMX, ATTN_ISA_AVX512_2FMA, ATTN_ISA_AVX512, ATTN_ISA_AVX512_BF16,
      ATTN_ISA_AVX512_FP16, ATTN_ISA_AVX2, ATTN_ISA_BASELINE}},
    {NULL,
     {ELSEWHERE, ATTN_ISA_AMX, ATTN_ISA_AVX512_BF16, ATTN_ISA_AVX512, ATTN_ISA_AVX512_2FMA,
      ATTN_ISA_AVX512_FP16, ATTN_ISA_AVX2, ATTN_ISA_BASELINE}},
};

const enum attn_isa *attn_isa_preference_of(const char *vendor)
{
    size_t at = 0;
    while (preferences[at].vendor && strcmp(preferences[at].vendor, vendor) != 0)
        at++;
    return preferences[at].order;
}

const enum attn_isa *attn_isa_preference(void)
{
#if defined __x86_64__
    if (__builtin_cpu_is("intel"))
        return attn_isa_preference_of("intel");
#endif
    return attn_isa_preference_of("another");
}

enum attn_isa attn_isa_preferred(void)
{
    const enum attn_isa *isa = attn_isa_preference();
    while (!attn_isa_available(*isa) || attn_isa_instructions(*isa) != *isa)
        isa++;
    return *isa;
}
