/*
 * probe_from_l1: multiply-adds with operands from the first-level cache, like a GEMM's inner loop; for
 * probe.c only.
 *
 * A tile of results stays in registers; every step loads a row of B, and broadcasts an element of A for each
 * row of the tile.  The tile has the fewest loads possible with registers left for them:
 *
 *   baseline     4 x 2 vectors; without a multiply-add products take a register, too
 *   avx2         6 x 2: 8 loads for 12 multiply-adds
 *   others       6 x 4: 10 loads for 24, with 29 of 32 registers
 */
#if CHAINS == 24
enum { TILE_HEIGHT = 6, TILE_VECTORS = 4 };
#elif CHAINS == 12
enum { TILE_HEIGHT = 6, TILE_VECTORS = 2 };
#else
enum { TILE_HEIGHT = 4, TILE_VECTORS = 2 };
#endif

/* Without opaque() GCC 12 loads B again in the multiply-adds of each row. */
static double fma_f32_from_l1(size_t rounds, const float *a, const float *b, float *c)
{
    vf x[TILE_HEIGHT * TILE_VECTORS] = {{0}};
    for (size_t round = 0; round < rounds; round++)
        for (int k = 0; k < PROBE_DEPTH; k++) {
            vf row[TILE_VECTORS];
#pragma GCC unroll 4
            for (int v = 0; v < TILE_VECTORS; v++)
                row[v] = opaque(*(const vf *)(b + (k * TILE_VECTORS + v) * LANES));
#pragma GCC unroll 6
            for (int i = 0; i < TILE_HEIGHT; i++) {
                const vf element = opaque(set1(a[k * TILE_HEIGHT + i]));
#pragma GCC unroll 4
                for (int v = 0; v < TILE_VECTORS; v++)
                    x[i * TILE_VECTORS + v] += element * row[v];
            }
        }
    memcpy(c, x, sizeof x);
    return 2.0 * PROBE_DEPTH * TILE_HEIGHT * TILE_VECTORS * LANES * (double)rounds;
}
