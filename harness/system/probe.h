/*
 * probe: the loops behind the ceilings, compiled once per ISA (CMakeLists.txt) like kernels are.
 *
 * Each loop runs on the calling thread alone and returns how much it has done.
 */
#ifndef HARNESS_SYSTEM_PROBE_H
#define HARNESS_SYSTEM_PROBE_H

#include "attention.h"

/* Steps whose operands the probes of a GEMM take from the first-level cache: at most 18 KB. */
enum { PROBE_ROWS = 6, PROBE_COLUMNS = 64, PROBE_DEPTH = 64, PROBE_TILE_DEPTH = 4 };

struct probe {
    enum attn_isa isa;
    int vector_bytes;
    bool fused;          /* has a fused multiply-add */
    bool tiles_emulated; /* they are C, for tests: no ceiling of anything */

    /* Floating-point operations done in independent chains, enough to hide their latency; *sink
     * receives the mean of the chains.  Fused: after n rounds each holds the n-fold x = x * m + c
     * from x = 1.  Otherwise one half holds the n-fold x * m, the other the n-fold x + c. */
    double (*fma_f32)(size_t rounds, float m, float c, float *sink);

    /* The same in double. */
    double (*fma_f64)(size_t rounds, double m, double c, double *sink);

    /* The same with operands from the first-level cache: adds A[k][i] B[k][j] of PROBE_DEPTH steps k to
     * C[i][j], dense arrays, from 0 and in each round, for `rows` i and `columns` j, at most PROBE_ROWS and
     * PROBE_COLUMNS.  B is aligned to 64 bytes. */
    int rows, columns;
    double (*fma_f32_from_l1)(size_t rounds, const float *a, const float *b, float *c);

    /* Likewise x += k a b in bf16, with the k = 2 or 4 products that the widest instruction sums in a lane;
     * NULL where the ISA has none: after n rounds *sink is 1 + k n a b. */
    double (*fma_bf16)(size_t rounds, float a, float b, float *sink);

    /* Operations of a matrix unit, a multiply-add being two; NULL where the ISA has none.  `operands` are
     * two tiles of A and two of B in the layout of tiles.h, `results` the four products C[2 i + j] =
     * A[i] B[j], summed over the rounds. */
    double (*tiles_bf16)(size_t rounds, const void *operands, void *results);
    double (*tiles_i8)(size_t rounds, const void *operands, void *results);

    /* The same over PROBE_TILE_DEPTH such sets of operands, one after the other, loaded every time. */
    double (*tiles_bf16_from_l1)(size_t rounds, const void *operands, void *results);

    /* Evaluations of 2^x done, rounds * vectors of them; *sink is the mean of the results.  The
     * values are good to 3 units in the last place for -126 <= x <= 0. */
    double (*exp2_f32)(size_t rounds, float x, float *sink);

    /* Bytes read: two streams side by side, n bytes each (a multiple of 1024, 64-byte aligned);
     * *sink is the exclusive or of their 32-bit words.  `read` leaves prefetching to the hardware,
     * `read_ahead` does it, and `read_touched` looks up pages before it reads them. */
    double (*read)(const void *a, const void *b, size_t n, uint32_t *sink);
    double (*read_ahead)(const void *a, const void *b, size_t n, uint32_t *sink);
    double (*read_touched)(const void *a, const void *b, size_t n, uint32_t *sink);

    /* Bytes read plus bytes written; `copy` stores through the cache, `stream` past it. */
    double (*copy)(void *to, const void *from, size_t n);
    double (*stream)(void *to, const void *from, size_t n);
};

/* Every ISA the compiler could target, weakest first. */
extern const struct probe *const probes[];
extern const size_t probe_count;

/* One with the widest vectors that this host has. */
const struct probe *probe_widest(void);

#endif
