/*
 * adversary_weights: exponentials of every size and of every fraction.
 */
#include <math.h>

#include "adversary_inputs.h"
#include "base/random.h"

#define LN2 0.693147180559945309

/* Needs a V that is no part of K. */
bool weights_shape_own_values(struct problem_case *c)
{
    return !(c->problem.options & ATTN_OPTION_SHARED_KV);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

enum { ALL_SIZES, SMALLEST_BEHIND, SMALLEST_BEFORE }; /* of SIZE_KINDS */

/* How many binades the smallest weight lies below the largest: above 2^-126, below which it may become 0. */
static double most_binades(const struct trial *trial)
{
    return (double)-adversary_range(trial)->smallest_exponent - 0.95;
}

/* How many binades above 1 elements of V can lie. */
static double binades(const struct trial *trial)
{
    return floor(log2(adversary_room(trial)));
}

/* How many binades a key's weight lies below the maximum: any number for each key; or none for one key and
 * the same, large number for all others. */
static double drop(const struct trial *trial, struct kv_place at)
{
    const size_t kind = adversary_kind(trial, at.b, at.g, SIZE_KINDS);
    const size_t top = kind == SMALLEST_BEFORE ? trial->problem.kv_len - 1 : 0;
    const double unit = adversary_unit(trial, at);
    return kind == ALL_SIZES ? unit * binades(trial) : at.j == top ? 0 : most_binades(trial);
}

static double score_dropped(const void *context, struct kv_place at)
{
    return -LN2 * drop(context, at);
}

/* Values are larger as weights are smaller, so that every key contributes. */
static void generate_values(const void *context, struct kv_place at, size_t first, size_t n,
                            double *x)
{
    const struct trial *trial = context;
    const double down = drop(trial, at), size = exp2(fmin(down, binades(trial)));
    const bool all = adversary_kind(trial, at.b, at.g, SIZE_KINDS) == ALL_SIZES;
    for (size_t d = 0; d < n; d++) {
        const uint64_t bits =
            random_bits(random_key(trial->key, at.j), at.b << 32 | at.g << 16 | (first + d));
        const double part = 0.5 + 0x1p-54 * (double)(bits >> 11);
        x[d] = all ? (bits & 1 ? size : -size) * part : down > 0 ? size : 0;
    }
}

void weights_fill_all_sizes(struct trial *trial)
{
    adversary_scores(trial, score_dropped, 0);
    kv_fill(&trial->set, &trial->problem, KV_V, generate_values, trial);
}

/* ---- fractions ------------------------------------------------------------------------------- */

/* Runs, one for each entry that a kernel's table of 2^fraction may have. */
#define FRACTIONS 32

/* Relative difference of the rows' scores: within one entry of the table, but enough for their errors to
 * differ. */
#define JITTER (0.4 / FRACTIONS)

/* Least number of rows, for an RMS. */
#define FRACTION_ROWS 64

static size_t heads(const struct attn_problem *p)
{
    return p->batch * p->kv_heads;
}

/* All heads of a run are of one kind: one wrong entry shows in an RMS only where all rows use it. */
size_t weights_fraction_kinds(const struct attn_problem *p)
{
    return FRACTIONS * heads(p);
}

static double score_fraction(const void *context, struct kv_place at)
{
    const struct trial *trial = context;
    const size_t all = weights_fraction_kinds(&trial->problem);
    const size_t entry = adversary_kind(trial, 0, 0, all) / heads(&trial->problem);
    return at.j ? -LN2 * ((double)entry / FRACTIONS + (double)(at.j % 2)) : 0;
}

/* Values of the first key are opposite to those of the others. */
static void generate_opposites(const void *context, struct kv_place at, size_t first, size_t n,
                               double *x)
{
    const struct trial *trial = context;
    float normal[KV_CHUNK];
    random_normal(normal, n, random_key(trial->key, at.j), at.b << 32 | at.g << 16 | first);
    for (size_t d = 0; d < n; d++)
        x[d] = (double)((at.j ? -2.0F : 2.0F) + 0.25F * normal[d]);
}

static double jitter(const struct trial *trial, size_t b, size_t h, size_t i)
{
    (void)b;
    return 1 + JITTER * (2 * random_unit(trial->key, h << 20 | i) - 1);
}

void weights_jitter_queries(struct trial *trial)
{
    adversary_stretch(trial, jitter);
}

void weights_fill_fractions(struct trial *trial)
{
    adversary_scores(trial, score_fraction, 0);
    kv_fill(&trial->set, &trial->problem, KV_V, generate_opposites, trial);
    weights_jitter_queries(trial);
}

/* Few keys, so that the sum is small and each key has some weight. */
bool weights_shape_fractions(struct problem_case *c)
{
    struct attn_problem *p = &c->problem;
    p->q_len = p->q_len > 4 ? 4 : p->q_len;
    p->batch = FRACTION_ROWS / p->q_len;
    p->kv_len = p->q_len + 5;
    return weights_shape_own_values(c);
}
