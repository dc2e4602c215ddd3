/*
 * probe: the loops behind the ceilings, for one ISA.
 *
 * The compiler can fold nothing: operands come from the caller, chains depend on their own last value, sums
 * are not reassociated (no -ffast-math), results are stored in *sink.  There are as many chains as registers
 * besides the operands:
 *
 *   baseline     14 of 16 registers, 7 multiply and 7 add: 3 to 4 cycles, up to 2 of each a cycle
 *   avx2         12 of 16; FMA, 4 to 5 cycles, 2 a cycle: 10 would do
 *   avx512       24 of 32; FMA as above; vdpbf16ps, 5 to 6 cycles, 2 a cycle: 12 would do
 *   neon, sve    24 of 32; FMA, 4 cycles, 2 to 4 a cycle: 16 would do; BFMMLA, 5 cycles, 2 to 4 a cycle: 20
 *   amx          4 of 8 tiles; tdpbf16ps and tdpbssd, 52 cycles, one in 16
 *
 * (latencies: uops.info, Zen 2 to 5 and Skylake to Sapphire Rapids; Arm's Software Optimization Guides of
 * Neoverse N1 and V2).
 */
#include "probe.h"

#include <string.h>

#if defined __x86_64__
#include <immintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>
#endif

#if defined __AVX512F__
#define BYTES 64
#define CHAINS 24
#elif defined __AVX__
#define BYTES 32
#define CHAINS 12
#elif defined __ARM_FEATURE_SVE
#define BYTES (__ARM_FEATURE_SVE_BITS / 8)
#define CHAINS 24
#elif defined __aarch64__
#define BYTES 16
#define CHAINS 24
#else
#define BYTES 16
#define CHAINS 14
#endif
#define LANES (BYTES / 4)

#if defined __FMA__ || defined __aarch64__
#define FUSED true
#else
#define FUSED false
#endif

typedef float vf __attribute__((vector_size(BYTES)));
typedef double vd __attribute__((vector_size(BYTES)));
typedef int32_t vi __attribute__((vector_size(BYTES)));

static vf set1(float x)
{
    return x - (vf){0};
}

/* Hides from the compiler that x is unchanged. */
static inline vf opaque(vf x)
{
#if defined __x86_64__
    __asm__ volatile("" : "+v"(x));
#else
    __asm__ volatile("" : "+w"(x));
#endif
    return x;
}

static inline vd opaque_f64(vd x)
{
    return (vd)opaque((vf)x);
}

static float mean(const vf *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int lane = 0; lane < LANES; lane++)
            sum += (double)x[i][lane];
    return (float)(sum / (n * LANES));
}

/* step() for floats, step_f64() for doubles. */
#define STEP step
#define VECTOR vf
#include "probe_step.h"
#define STEP step_f64
#define VECTOR vd
#include "probe_step.h"

static double fma_f32(size_t rounds, float m, float c, float *sink)
{
    const vf vm = opaque(set1(m)), vc = opaque(set1(c));
    vf x[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        x[i] = opaque(set1(1));
    for (size_t round = 0; round < rounds; round++)
        step(x, vm, vc);
    *sink = mean(x, CHAINS);
    return (FUSED ? 2.0 : 1.0) * LANES * CHAINS * (double)rounds;
}

static double fma_f64(size_t rounds, double m, double c, double *sink)
{
    const vd vm = opaque_f64(m - (vd){0}), vc = opaque_f64(c - (vd){0});
    vd x[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        x[i] = opaque_f64(1 - (vd){0});
    for (size_t round = 0; round < rounds; round++)
        step_f64(x, vm, vc);
    double sum = 0;
    for (int i = 0; i < CHAINS; i++)
        for (int lane = 0; lane < LANES / 2; lane++)
            sum += x[i][lane];
    *sink = sum / (CHAINS * LANES / 2.0);
    return (FUSED ? 2.0 : 1.0) * (LANES / 2.0) * CHAINS * (double)rounds;
}

/* Multiply-adds per lane: two by vdpbf16ps; four by BFMMLA, a product of two by two rows; BFDOT's two are no
 * faster. */
#if defined __AVX512BF16__
#define PAIRS __m512bh
#define PRODUCTS 2
#define NARROW(v) _mm512_cvtne2ps_pbh((__m512)(v), (__m512)(v))
#define DOT(x, a, b) (vf) _mm512_dpbf16_ps((__m512)(x), a, b)
#elif defined __ARM_FEATURE_BF16_VECTOR_ARITHMETIC
#define PAIRS bfloat16x8_t
#define PRODUCTS 4
#define NARROW(v) vcvtq_high_bf16_f32(vcvtq_low_bf16_f32((float32x4_t)(v)), (float32x4_t)(v))
#define DOT(x, a, b) (vf) vbfmmlaq_f32((float32x4_t)(x), a, b)
#endif
#if defined PAIRS
static double fma_bf16(size_t rounds, float a, float b, float *sink)
{
    const vf wide_a = opaque(set1(a)), wide_b = opaque(set1(b));
    const PAIRS va = NARROW(wide_a), vb = NARROW(wide_b);
    vf x[CHAINS];
    for (int i = 0; i < CHAINS; i++)
        x[i] = opaque(set1(1));
    for (size_t round = 0; round < rounds; round++)
#pragma GCC unroll 24
        for (int i = 0; i < CHAINS; i++)
            x[i] = DOT(x[i], va, vb);
    *sink = mean(x, CHAINS);
    return 2.0 * PRODUCTS * LANES * CHAINS * (double)rounds;
}
#endif

/* 2^r on [-1/2, 1/2]: degree 5, constant term 1, minimax by linear programming; relative error
 * 8.1e-8 in exact arithmetic, 2.8 units of 2^-24 in float. */
static inline vf exp2_fraction(vf r)
{
    vf p = set1(0x1.5bfc8ep-10f);
    p = p * r + set1(0x1.3cee4cp-7f);
    p = p * r + set1(0x1.c6b62ap-5f);
    p = p * r + set1(0x1.ebf9b2p-3f);
    p = p * r + set1(0x1.62e42cp-1f);
    return p * r + set1(1);
}

static inline vf exp2_vector(vf x)
{
#if defined __AVX512DQ__
    const vf r = (vf)_mm512_reduce_ps((__m512)x, 0); /* x minus the nearest integer */
    return (vf)_mm512_scalef_ps((__m512)exp2_fraction(r), (__m512)(x - r));
#else
    const vf magic = set1(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer */
    const vf shifted = x + magic;
    const vf r = x - (shifted - magic);
    return (vf)((vi)exp2_fraction(r) + ((vi)shifted << 23));
#endif
}

#include "probe_from_l1.h"
#include "probe_memory.h"

#if defined __AMX_TILE__ || defined ATTN_TILES_EMULATED
#include "probe_tiles.h"
#endif

static double exp2_f32(size_t rounds, float x, float *sink)
{
    enum { SUMS = 4 };
    const vf argument = set1(x);
    vf sum[SUMS] = {{0}};
    for (size_t round = 0; round < rounds; round++)
#pragma GCC unroll 4
        for (int i = 0; i < SUMS; i++)
            sum[i] += exp2_vector(opaque(argument));
    *sink = mean(sum, SUMS) / (float)rounds;
    return (double)(LANES * SUMS) * (double)rounds;
}

const struct probe PROBE = {
    .isa = PROBE_ISA,
    .vector_bytes = BYTES,
    .fused = FUSED,
    .fma_f32 = fma_f32,
    .fma_f64 = fma_f64,
    .rows = TILE_HEIGHT,
    .columns = TILE_VECTORS * LANES,
    .fma_f32_from_l1 = fma_f32_from_l1,
#if defined PAIRS
    .fma_bf16 = fma_bf16,
#endif
#if defined __AMX_TILE__ || defined ATTN_TILES_EMULATED
    .tiles_bf16 = tiles_bf16,
    .tiles_i8 = tiles_i8,
    .tiles_bf16_from_l1 = tiles_bf16_from_l1,
#endif
#if defined ATTN_TILES_EMULATED
    .tiles_emulated = true,
#endif
    .exp2_f32 = exp2_f32,
    .read = read_plain,
    .read_ahead = read_ahead,
    .read_touched = read_touched,
    .copy = copy,
    .stream = stream,
};
