/*
 * dots: the distributions, and sums over many trials in an order that does not depend on the threads.
 */
#include "dots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
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

/* Student's t with n degrees of freedom has variance n / (n - 2) and E x^4 = 3 n^2 / ((n - 2) (n - 4)). */
const struct distribution_facts distributions[DISTRIBUTION_COUNT] = {
    [DISTRIBUTION_NORMAL] = {"normal", 1, 3},
    [DISTRIBUTION_UNIFORM] = {"uniform", 1.0 / 3, 1.0 / 5},
    [DISTRIBUTION_RADEMACHER] = {"rademacher", 1, 1},
    [DISTRIBUTION_HEAVY] = {"heavy", 5.0 / 3, 25},
};

const char *const distribution_names[] = {"normal", "uniform", "rademacher", "heavy", NULL};

enum distribution distribution_find(const char *name)
{
    int i = 0;
    while (i < DISTRIBUTION_COUNT && strcmp(distributions[i].name, name) != 0)
        i++;
    return (enum distribution)i;
}

const struct dots *dots_best(void)
{
    size_t best = 0;
    for (size_t i = 0; i < dots_variant_count; i++)
        if (attn_isa_available(dots_variants[i]->isa))
            best = i;
    return dots_variants[best];
}

const struct scale_of_d scales_of_d[SCALES_OF_D] = {
    {"1", 0}, {"d^-1/4", -0.25}, [SCALE_ROOT] = {"d^-1/2", -0.5}, {"1/d", -1}};

#define HEAVY_DEGREES 5

/* Student's t: a normal number over the root mean square of as many others as there are degrees of
 * freedom. */
static void heavy(float *x, size_t n, uint64_t key, uint64_t first)
{
    float z[HEAVY_DEGREES + 1];
    for (size_t k = 0; k < n; k++) {
        double squares = 0;
        random_normal(z, HEAVY_DEGREES + 1, key, (first + k) * (HEAVY_DEGREES + 1));
        for (size_t i = 1; i <= HEAVY_DEGREES; i++)
            squares += (double)z[i] * (double)z[i];
        x[k] = (float)((double)z[0] / sqrt(squares / HEAVY_DEGREES));
    }
}

void distribution_draw(enum distribution distribution, float *x, size_t n, uint64_t key,
                       uint64_t first)
{
    switch (distribution) {
    case DISTRIBUTION_NORMAL:
        random_normal(x, n, key, first);
        break;
    case DISTRIBUTION_UNIFORM:
        random_uniform(x, n, key, first);
        break;
    case DISTRIBUTION_RADEMACHER:
        for (size_t k = 0; k < n; k++)
            x[k] = random_bits(key, first + k) >> 63 ? 1 : -1;
        break;
    default:
        heavy(x, n, key, first);
    }
}

/* ---- moments --------------------------------------------------------------------------------- */

/* Power sums in double.  Means here are small beside the spread, so that central moments computed from sums
 * about 0 lose far less precision than the sampling error. */
void moments_add(struct moments *m, double x)
{
    double power = 1;
    m->n++;
    for (int i = 0; i < 4; i++)
        m->sum[i] += power *= x;
}

void moments_merge(struct moments *into, const struct moments *from)
{
    into->n += from->n;
    for (int i = 0; i < 4; i++)
        into->sum[i] += from->sum[i];
}

/* Var(s^2) = (m4 - s^4 (n - 3) / (n - 1)) / n. */
double moments_half_width(double n, double variance, double fourth)
{
    const double spread = (fourth - variance * variance * (n - 3) / (n - 1)) / n;
    return MOMENTS_NORMAL_975 * sqrt(fmax(0, spread));
}

struct variance moments_variance(const struct moments *m)
{
    const double n = m->n, mean = m->sum[0] / n;
    const double raw2 = m->sum[1] / n, raw3 = m->sum[2] / n, raw4 = m->sum[3] / n;
    const double variance = (raw2 - mean * mean) * n / (n - 1);
    const double fourth = raw4 - 4 * mean * raw3 + 6 * mean * mean * raw2 - 3 * pow(mean, 4);
    const double half = moments_half_width(n, variance, fourth);
    return (struct variance){mean, variance, variance - half, variance + half};
}

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
