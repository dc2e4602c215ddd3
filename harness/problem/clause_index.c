/*
 * clause_index: the clause of an input, and the lists.
 *
 * A list has keys that the last query of its block sees by position, in a drawn order, as many as there are
 * or as fit: each drawn by itself, or in runs of neighbours, as if blocks of keys were chosen.  Remaining
 * entries are -1.
 */
#include "clause.h"

#include <stdio.h>

#include "base/random.h"

#define STREAM_INDEX UINT64_C(0x696e6478) /* apart from other random numbers of an input */
#define ROUNDS 4 /* of the Feistel network: enough for an order that looks random */

/* The place of x of [0, n) in a drawn order: a Feistel network on at least as many bits as n has, repeated
 * until its result is below n. */
static size_t drawn_place(uint64_t key, size_t x, size_t n)
{
    unsigned half = 1;
    while (half < 31 && (size_t)1 << 2 * half < n)
        half++;
    const uint64_t mask = (UINT64_C(1) << half) - 1;
    do {
        uint64_t left = x >> half, right = x & mask;
        for (uint64_t round = 0; round < ROUNDS; round++) {
            const uint64_t next = left ^ (random_bits(key, round << 32 | right) & mask);
            left = right;
            right = next;
        }
        x = left << half | right;
    } while (x >= n);
    return x;
}

/* Fills `count` entries with runs of `run` keys of [seen.lo, seen.hi), which begin at multiples of `run`. */
static void fill_list(int32_t *list, size_t count, struct attn_range seen, size_t run, uint64_t key)
{
    const size_t lo = (size_t)seen.lo / run, runs = ((size_t)seen.hi + run - 1) / run - lo;
    for (size_t n = 0; n < count; n++) {
        list[n] = -1;
        if (n / run >= runs)
            continue;
        const size_t j = (lo + drawn_place(key, n / run, runs)) * run + n % run;
        if (j >= (size_t)seen.lo && j < (size_t)seen.hi)
            list[n] = (int32_t)j;
    }
}

void clause_index_fill(const struct input *input, const struct attn_problem *p,
                       const struct attn_tensors *t)
{
    const uint64_t key = random_key(input->seed, STREAM_INDEX);
    const size_t run = input->index_run ? input->index_run : 1;
    uint64_t number = 0;
    for (size_t b = 0; b < p->batch; b++) {
        const struct attn_sequence s = attn_sequence(p, t, b);
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t i = 0; i < s.q_len; i += p->index_block) {
                const size_t after = i + p->index_block, last = after < s.q_len ? after : s.q_len;
                const struct attn_range seen = attn_visible_in(
                    p, (ptrdiff_t)last - 1, (ptrdiff_t)s.q_len, (ptrdiff_t)s.kv_len);
                fill_list((int32_t *)attn_list(p, t, b, g, i), p->index_count, seen, run,
                          random_key(key, number++));
            }
    }
}

size_t clause_index_lists(const struct attn_problem *p, const struct attn_tensors *t)
{
    size_t lists = 0;
    const bool packed = p->options & ATTN_OPTION_PACKED && p->options & ATTN_OPTION_INDEX;
    for (size_t b = 0; packed && t->cu_seqlens.data && b < p->batch; b++)
        lists += attn_lists(p, attn_sequence(p, t, b).q_len);
    return lists;
}

/* ---- the clause ------------------------------------------------------------------------------ */

static bool read_index(struct piece value, struct input *input, const char **why)
{
    bool more;
    uint64_t run = 0;
    *why = "is not blocks:N";
    if (!piece_is(piece_split(&value, ":", &more), "blocks") || !more ||
        !scan_count(value, PTRDIFF_MAX, &run, why))
        return false;
    input->index_run = run;
    *why = "has blocks of fewer than 2 keys";
    return run > 1;
}

static bool print_index(const struct input *input, char text[PARSE_TEXT])
{
    snprintf(text, PARSE_TEXT, "blocks:%zu", input->index_run);
    return input->index_run;
}

const struct clause clause_index = {"index", "index:blocks:N", read_index, print_index, NULL};
