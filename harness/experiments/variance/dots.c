/*
 * dots: many trials on all threads, summed up in an order that threads do not change.
 */
#include <stdlib.h>

#include "variance.h"

/* Calls of DOTS_TRIALS trials that are summed up together. */
#define CALLS ((size_t)64)

/* Trials [first, first + CALLS * DOTS_TRIALS), of those below `trials`. */
static void sum_block(enum distribution distribution, uint64_t key, size_t first, size_t trials,
                      const size_t *dims, size_t count, float *z, struct moments *moments)
{
    const struct dots *dots = dots_best();
    for (size_t call = 0; call < CALLS && first < trials; call++, first += DOTS_TRIALS) {
        const size_t n = trials - first < DOTS_TRIALS ? trials - first : DOTS_TRIALS;
        dots->run(distribution, key, first, dims, count, z);
        for (size_t c = 0; c < count; c++)
            for (size_t trial = 0; trial < n; trial++)
                moments_add(&moments[c], (double)z[c * DOTS_TRIALS + trial]);
    }
}

bool variance_dots(enum distribution distribution, uint64_t key, size_t trials, const size_t *dims,
                   size_t count, int threads, struct moments *moments)
{
    const size_t block = CALLS * DOTS_TRIALS, blocks = (trials + block - 1) / block;
    struct moments *partial = calloc(blocks * count, sizeof *partial);
    bool allocated = partial;
#pragma omp parallel num_threads(threads) if (allocated)
    {
        float *z = malloc(count * DOTS_TRIALS * sizeof *z);
        if (!z) {
#pragma omp atomic write
            allocated = false;
        }
#pragma omp for schedule(dynamic, 1)
        for (size_t b = 0; b < blocks; b++)
            if (z && partial)
                sum_block(distribution, key, b * block, trials, dims, count, z,
                          &partial[b * count]);
        free(z);
    }
    for (size_t b = 0; allocated && b < blocks; b++)
        for (size_t c = 0; c < count; c++)
            moments_merge(&moments[c], &partial[b * count + c]);
    free(partial);
    return allocated;
}
