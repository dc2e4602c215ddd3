/*
 * dots: sums over many trials in an order that does not depend on the threads.
 */
#include "dots.h"

#include <stdlib.h>

#include "experiments/experiment.h"

#define DOTS(isa, ISA) extern const struct dots dots_##isa;
#include "dots_list.h"
#undef DOTS

const struct dots *const dots_variants[] = {
#define DOTS(isa, ISA) &dots_##isa,
#include "dots_list.h"
#undef DOTS
};
const size_t dots_variant_count = sizeof dots_variants / sizeof *dots_variants;

const struct dots *dots_best(void)
{
    size_t best = 0;
    for (size_t i = 0; i < dots_variant_count; i++)
        if (attn_isa_available(dots_variants[i]->isa))
            best = i;
    return dots_variants[best];
}

const struct dots_scale dots_scales[DOTS_SCALES] = {
    {"1", 0}, {"d^-1/4", -0.25}, [DOTS_SCALE_ROOT] = {"d^-1/2", -0.5}, {"1/d", -1}};

/* Calls of DOTS_TRIALS trials in a block, which one thread sums. */
#define CALLS ((size_t)64)
#define BLOCK (CALLS * DOTS_TRIALS)

struct sums {
    enum distribution distribution;
    uint64_t key;
    size_t trials;
    const size_t *dims;
    size_t count;
    struct moments *partial; /* (blocks, count) */
};

/* Sums trials [index * BLOCK, (index + 1) * BLOCK), up to the last trial. */
static void sum_block(void *context, size_t index, void *scratch)
{
    const struct sums *s = context;
    struct moments *moments = s->partial + index * s->count;
    float *z = scratch;
    size_t first = index * BLOCK;
    for (size_t call = 0; call < CALLS && first < s->trials; call++, first += DOTS_TRIALS) {
        const size_t n = s->trials - first < DOTS_TRIALS ? s->trials - first : DOTS_TRIALS;
        dots_best()->run(s->distribution, s->key, first, s->dims, s->count, z);
        for (size_t c = 0; c < s->count; c++)
            for (size_t trial = 0; trial < n; trial++)
                moments_add(&moments[c], (double)z[c * DOTS_TRIALS + trial]);
    }
}

bool dots_moments(enum distribution distribution, uint64_t key, size_t trials, const size_t *dims,
                  size_t count, int threads, struct moments *moments)
{
    const size_t blocks = (trials + BLOCK - 1) / BLOCK;
    struct sums sums = {distribution, key,   trials,
                        dims,         count, calloc(blocks * count, sizeof *sums.partial)};
    const bool right =
        sums.partial &&
        experiment_blocks(blocks, threads, count * DOTS_TRIALS * sizeof(float), sum_block, &sums);
    for (size_t b = 0; right && b < blocks; b++)
        for (size_t c = 0; c < count; c++)
            moments_merge(&moments[c], &sums.partial[b * count + c]);
    free(sums.partial);
    return right;
}
