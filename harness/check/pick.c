/*
 * pick: selects the rows and keys that are checked.
 */
#include <stdlib.h>

#include "compare.h"
#include "base/random.h"

/* Sizes that kernels cut queries and keys into: vectors, register tiles, cache blocks, splits. */
static const size_t tiles[] = {64, 16, 128, 32, 256, 48, 8, 96, 192, 512, 24, 384, 4, 1024};

static size_t add(size_t at, size_t n, size_t *edges, size_t count, size_t most)
{
    if (at >= n || count == most)
        return count;
    for (size_t k = 0; k < count; k++)
        if (edges[k] == at)
            return count;
    edges[count] = at;
    return count + 1;
}

size_t pick_edges(size_t n, int threads, size_t *edges, size_t most)
{
    size_t count = add(n - 1, n, edges, 0, most);
    count = add(0, n, edges, count, most);
    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++) {
        const size_t last = (n - 1) / tiles[t] * tiles[t]; /* where the last, partial tile begins */
        const size_t places[] = {tiles[t] - 1, tiles[t], last, last ? last - 1 : 0, tiles[t] + 1};
        for (size_t k = 0; k < sizeof places / sizeof *places; k++)
            count = add(places[k], n, edges, count, most);
    }
    for (size_t t = 1; t < (size_t)threads; t++) {
        const size_t cut = n * t / (size_t)threads;
        count = add(cut, n, edges, count, most);
        count = add(cut ? cut - 1 : 0, n, edges, count, most);
    }
    return count;
}

static int ascending(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* The edges of a sequence's queries, reused while sequences have the same length. */
struct edges {
    size_t n, count, at[128];
};

/* Two of every four rows lie at an edge of their head's queries, one at an edge of a thread's
 * share of all rows, one anywhere; heads in turn. */
static size_t pick(const struct attn_problem *p, const struct attn_tensors *t, int threads,
                   uint64_t key, size_t k, struct edges *edges)
{
    const size_t heads = p->batch * p->q_heads, all = tensors_rows(p, t);
    const size_t head = (k - (k + 2) / 4 + random_bits(key, 0)) % heads, b = head / p->q_heads;
    const uint64_t number = random_bits(key, k + 1);
    const struct attn_sequence s = attn_sequence(p, t, b);
    const size_t before = p->options & ATTN_OPTION_PACKED ? s.q_first : b * p->q_len;
    const size_t first = before * p->q_heads + head % p->q_heads * s.q_len;
    if (!s.q_len)
        return number % all;
    if (k % 4 == 3)
        return first + number % s.q_len;
    if (k % 4 == 1 && threads > 1) {
        const size_t cut = all * (1 + number % (size_t)(threads - 1)) / (size_t)threads;
        return cut && number >> 63 ? cut - 1 : cut;
    }
    if (edges->n != s.q_len)
        edges->count = pick_edges(s.q_len, threads, edges->at, 128);
    edges->n = s.q_len;
    return first + edges->at[k / 2 % edges->count];
}

/* Sorts rows and removes duplicates; returns how many are left. */
static size_t sort_rows(size_t *rows, size_t count)
{
    qsort(rows, count, sizeof *rows, ascending);
    size_t kept = 0;
    for (size_t k = 0; k < count; k++)
        if (!kept || rows[k] != rows[kept - 1])
            rows[kept++] = rows[k];
    return kept;
}

size_t pick_rows(const struct attn_problem *p, const struct attn_tensors *t, int threads,
                 size_t most, uint64_t seed, size_t **rows)
{
    const size_t all = tensors_rows(p, t), wanted = all < most ? all : most;
    struct edges edges = {0};
    size_t count = 0;
    if (!(*rows = malloc((wanted + 1) * sizeof **rows)))
        return 0;
    if (wanted == all) {
        for (size_t k = 0; k < all; k++)
            (*rows)[k] = k;
        return all;
    }
    const uint64_t key = random_key(seed, 0);
    for (size_t k = 0; count < wanted && k < 16 * wanted; count = sort_rows(*rows, count))
        for (; count < wanted; k++)
            (*rows)[count++] = pick(p, t, threads, key, k, &edges);
    return count;
}

/* Flops of the reference: it does about 6 where useful work has 2, for bounds and magnitudes. */
#define LIMIT 1e11
#define SAMPLE 4e9

size_t pick_affordable(const struct attn_problem *p)
{
    const double rows = (double)p->batch * (double)p->q_heads * (double)p->q_len;
    const double flops = 3 * attn_useful_flops(p);
    if (flops <= LIMIT)
        return (size_t)rows;
    const double sampled = SAMPLE / (flops / rows);
    return sampled < 64 ? 64 : (size_t)sampled;
}

size_t pick_own(const struct problem_case *c, const struct attn_tensors *tensors, size_t **rows)
{
    return pick_rows(&c->problem, tensors, 1, pick_affordable(&c->problem), c->input.seed, rows);
}
