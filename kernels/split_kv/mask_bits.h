/*
 * mask_bits.h: part of kernel split_kv: which keys of a block a unit's rows see, a bit for each key.
 *
 * Four things hide a key from a row: its position (causal, window), a 0 in the boolean mask, a bias of
 * -inf and a tree of drafts.  They give a word of 64 bits per row; what the words have in common decides how
 * the block is computed.
 */
#pragma once

#include "shared/key_bits.h"
#include "geometry.h"

/* Keys that any of several rows sees, and keys that all of them see. */
struct mask_bits {
    uint64_t any, all;
};

/* From the first of them to the last. */
static inline uint64_t bits_span(uint64_t bits)
{
    return bits ? bits_first(64 - __builtin_clzll(bits)) & ~bits_first(__builtin_ctzll(bits)) : 0;
}

/* Keys of [j, j + n) in a range. */
static inline uint64_t bits_of_range(struct attn_range seen, ptrdiff_t j, ptrdiff_t n)
{
    const ptrdiff_t lo = seen.lo > j ? seen.lo - j : 0;
    const ptrdiff_t hi = seen.hi < j + n ? seen.hi - j : n;
    return lo < hi ? bits_first(hi) & ~bits_first(lo) : 0;
}

/* Writes to `bits` which of keys [j, j + n), n <= BLOCK_KEYS, each of `rows` rows sees.  Neighbours often
 * share a row of an operand. */
static struct mask_bits bits_look(const struct view *view, int rows, const struct attn_tensor *bias,
                                  ptrdiff_t j, ptrdiff_t n, uint64_t *bits)
{
    const ptrdiff_t element = (ptrdiff_t)attn_dtype_size(bias->dtype);
    struct mask_bits s = {0, ~UINT64_C(0)};
    const uint8_t *last_mask = NULL;
    const char *last_bias = NULL;
    uint64_t of_mask = ~UINT64_C(0), of_bias = ~UINT64_C(0), of_tree = ~UINT64_C(0);
    ptrdiff_t last_query = -1;
    for (int r = 0; r < rows; r++) {
        bits[r] = bits_of_range(view[r].seen, j, n);
        if (bits[r] && view[r].mask != last_mask) {
            last_mask = view[r].mask;
            of_mask = bits_of_bytes(last_mask + j, n);
        }
        if (bits[r] && view[r].bias != last_bias) {
            last_bias = view[r].bias;
            of_bias = bits_of_bias(bias->dtype, last_bias + j * element, n);
        }
        if (bits[r] && view[r].tree.parents && view[r].query != last_query) {
            last_query = view[r].query;
            of_tree = bits_of_tree(&view[r].tree, last_query, j, n);
        }
        bits[r] &= of_mask & of_bias & of_tree;
        s.any |= bits[r];
        s.all &= bits[r];
    }
    return s;
}

/* The same of rows that have been looked at. */
static struct mask_bits bits_of_rows(const uint64_t *bits, int rows)
{
    struct mask_bits s = {0, ~UINT64_C(0)};
    for (int r = 0; r < rows; r++) {
        s.any |= bits[r];
        s.all &= bits[r];
    }
    return s;
}

/* The first run of keys in `bits`, which are not 0: [lo, hi). */
static inline struct attn_range bits_run(uint64_t bits)
{
    const int lo = __builtin_ctzll(bits);
    const uint64_t gap = ~(bits >> lo);
    return (struct attn_range){lo, lo + (gap ? __builtin_ctzll(gap) : 64)};
}

/* The same for the lanes of a tile of `rows` rows. */
static struct seen bits_of_lanes(const uint64_t *bits, int rows)
{
    struct seen seen;
    for (int key = 0, lane = 0; lane < VF_LANES; key++)
        for (int h = 0; h < rows; h++, lane++) {
            seen.bits[0][lane] = (uint32_t)(bits[h] >> key);
            seen.bits[1][lane] = (uint32_t)(bits[h] >> key >> 32);
        }
    return seen;
}
