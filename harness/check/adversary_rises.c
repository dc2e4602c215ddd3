/*
 * adversary_rises: a running maximum that rises by any amount, at any place, at once or in steps.
 *
 * A kernel that updates its maximum lazily is wrong only where scores rise by less than its threshold but by
 * more than a float's exponent allows: a range of a few binades, if any.  So each query of a tile, whose
 * scores are multiples of each other, rises by another amount, most of them near the largest exponent.
 */
#include "adversary_inputs.h"

#define LN2 0.693147180559945309

#define F32_LEAST (-126)

/* By how much the scores of the rows rise, in turn, in base 2; in f64 896 is added to those from 100 on.
 * 11 in base 2 is 7.6 in base e, so that a kernel which takes its threshold of 8 in the wrong base keeps
 * its old maximum. */
static const double totals[] = {129, 127.5, 126, 124.5, 123, 121.5, 140, 100, 30,  200, 300,
                                5,   150,   1,   60,    12,  250,   20,  9,   170, 11};

/* Where the scores of a head rise: in `steps` equal steps, from key `first` on, `apart` keys apart. */
static const struct {
    size_t first, apart, steps;
} rises[] = {
    {37, 1, 1},       /* inside a block */
    {64, 1, 1},       /* at the edge of blocks of 8 to 64 keys */
    {120, 1, 1},      /* at the edge of blocks of 120 keys */
    {128, 1, 1},      /* ... of 128 */
    {240, 1, 1},      /* ... of 240 */
    {256, 1, 1},      /* ... of 256 */
    {SIZE_MAX, 1, 1}, /* at the last key */
    {20, 60, 2},      /* in one block and in the next or the next but one */
    {200, 60, 2},     /* the same where blocks are long */
    {16, 16, 3},      /* from block to block */
    {10, 13, 10},     /* at any place of a block */
    {1, 1, SIZE_MAX}, /* with every key */
};

/* Each place of a rise with each of the amounts; several heads where one has fewer rows than there are
 * amounts. */
size_t rises_kinds(const struct attn_problem *p)
{
    const size_t rows = adversary_rows(p);
    return ADVERSARY_COUNT(rises) * ((ADVERSARY_COUNT(totals) + rows - 1) / rows);
}

/* Rises from -1/2 to 1/2, in base 2; the rows' factors make the amounts of it. */
double rises_score(const void *context, struct kv_place at)
{
    const struct trial *trial = context;
    const size_t kind = adversary_kind(trial, at.b, at.g, ADVERSARY_COUNT(rises)),
                 last = trial->problem.kv_len - 1;
    const size_t first = rises[kind].first < last ? rises[kind].first : last;
    const size_t steps = rises[kind].steps < last ? rises[kind].steps : last;
    const size_t done = at.j < first ? 0 : 1 + (at.j - first) / rises[kind].apart;
    return LN2 * ((double)(done < steps ? done : steps) / (double)(steps ? steps : 1) - 0.5);
}

/* By how much the scores of row (b, h, i) rise, in base 2. */
static double rise_of(const struct trial *trial, size_t b, size_t h, size_t i)
{
    const struct attn_problem *p = &trial->problem;
    const size_t group = p->q_heads / p->kv_heads, all = rises_kinds(p);
    const size_t turn = adversary_kind(trial, b, h / group, all) / ADVERSARY_COUNT(rises);
    const size_t number = turn * adversary_rows(p) + h % group * p->q_len + i;
    const double total = totals[number % ADVERSARY_COUNT(totals)];
    const double rise =
        total < 100 ? total : total + (F32_LEAST - adversary_range(trial)->smallest_exponent);
    return adversary_held(trial, LN2 * rise) / LN2;
}

void rises_stretch_queries(struct trial *trial)
{
    adversary_stretch(trial, rise_of);
}

/* V of one sign, so that nothing in a sum cancels. */
void rises_stretch_queries_and_values(struct trial *trial)
{
    const struct attn_problem *p = &trial->problem;
    rises_stretch_queries(trial);
    patterns_normal(&trial->set, p, PATTERNS_V, trial->key, 0.75, 0.05);
    adversary_enlarge_v(trial);
}

/* Long enough for every rise, and for a long sum after it; and short. */
bool rises_shape(struct problem_case *c)
{
    struct attn_problem *p = &c->problem;
    p->kv_len = p->kv_len < 280 ? 280 : p->kv_len > 300 ? 300 : p->kv_len;
    if (p->q_len > 1)
        p->q_len = p->q_len < ADVERSARY_COUNT(totals) ? ADVERSARY_COUNT(totals)
                   : p->q_len > 40                    ? 40
                                                      : p->q_len;
    return true;
}
