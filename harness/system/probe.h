/*
 * probe: the loops behind the ceilings, compiled once per ISA (CMakeLists.txt), as kernels are.
 *
 * Each loop runs on the calling thread alone and returns the work that it has done.
 */
#pragma once

#include "attention.h"

/* Sizes of the operands that probes of a GEMM read from the first-level cache, at most 18 KB. */
enum { PROBE_ROWS = 6, PROBE_COLUMNS = 64, PROBE_DEPTH = 64, PROBE_TILE_DEPTH = 4 };

struct probe {
    enum attn_isa isa;
    int vector_bytes;
    bool fused;          /* has a fused multiply-add */
    bool tiles_emulated; /* in C, for tests: not a ceiling */

    /* Floating-point operations in independent chains, enough to hide their latency; *sink becomes the mean
     * of the chains.  Fused: each iterates x = x * m + c from x = 1, once per round.  Otherwise one half
     * iterates x * m, the other x + c. */
    double (*fma_f32)(size_t rounds, float m, float c, float *sink);

    /* The same in double. */
    double (*fma_f64)(size_t rounds, double m, double c, double *sink);

    /* The same with operands from the first-level cache: C[i][j] is the sum of A[k][i] B[k][j] over
     * PROBE_DEPTH k and all rounds, for `rows` i and `columns` j, at most PROBE_ROWS and PROBE_COLUMNS.  The
     * arrays are dense, B is aligned to 64 bytes. */
    int rows, columns;
    double (*fma_f32_from_l1)(size_t rounds, const float *a, const float *b, float *c);

    /* Likewise x += k a b in bf16, k = 2 or 4 products being summed in a lane by the widest instruction:
     * after n rounds *sink is 1 + k n a b.  NULL: the ISA has none. */
    double (*fma_bf16)(size_t rounds, float a, float b, float *sink);

    /* Operations of a matrix unit, a multiply-add being two; NULL: the ISA has none.  `operands` are two
     * tiles of A and two of B in the layout of tiles.h, `results` the four products C[2 i + j] = A[i] B[j],
     * summed over the rounds. */
    double (*tiles_bf16)(size_t rounds, const void *operands, void *results);
    double (*tiles_i8)(size_t rounds, const void *operands, void *results);

    /* The same over PROBE_TILE_DEPTH such sets of operands, one after the other, loaded in each round. */
    double (*tiles_bf16_from_l1)(size_t rounds, const void *operands, void *results);

    /* Evaluations of 2^x; *sink becomes the mean of the results, whose error is at most 3 units in the last
     * place for -126 <= x <= 0. */
    double (*exp2_f32)(size_t rounds, float x, float *sink);

    /* Bytes read from two streams of n bytes each (a multiple of 1024, 64-byte aligned); *sink becomes the
     * exclusive or of their 32-bit words.  `read` leaves prefetching to the hardware, `read_ahead`
     * prefetches, and `read_touched` touches pages before it reads them. */
    double (*read)(const void *a, const void *b, size_t n, uint32_t *sink);
    double (*read_ahead)(const void *a, const void *b, size_t n, uint32_t *sink);
    double (*read_touched)(const void *a, const void *b, size_t n, uint32_t *sink);

    /* Bytes read plus bytes written; `copy` stores through the cache, `stream` bypasses it. */
    double (*copy)(void *to, const void *from, size_t n);
    double (*stream)(void *to, const void *from, size_t n);
};

/* A probe for every ISA that the compiler could target, weakest first. */
extern const struct probe *const probes[];
extern const size_t probe_count;

/* The probe with the widest vectors of this host (ceilings.c). */
const struct probe *ceilings_widest(void);
