/*
 * probe_step: one multiply-add in each chain, as a function STEP for vectors VECTOR; for probe.c only.
 *
 * Fused, or a multiply in one chain and an add in another: the best that a sum of products can reach, since
 * its multiplies wait for nothing.
 *
 * Included for each type: with one function that casts vectors, GCC 12 copies and stores chains in every
 * step.
 */
static inline void STEP(VECTOR x[CHAINS], VECTOR m, VECTOR c)
{
    if (FUSED) {
#pragma GCC unroll 24
        for (int i = 0; i < CHAINS; i++)
            x[i] = x[i] * m + c;
    } else {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i += 2) {
            x[i] = x[i] * m;
            x[i + 1] = x[i + 1] + c;
        }
    }
}

#undef STEP
#undef VECTOR
