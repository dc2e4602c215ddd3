/*
 * key_blocks.h: part of kernel split_kv: cuts the keys of a split into blocks.
 */
#pragma once

#include "listed.h"

/* Keys [j, end) of a split; if g->looks, unit.bits has the keys that each row sees. */
struct block {
    ptrdiff_t j, end;
    bool copied; /* K, and V if it is scattered */
};

#if MATRIX_UNIT
/* The block that begins at key j < hi, whose groups of keys may be scattered (panels.h). */
static inline struct block block_at(const struct unit *u, ptrdiff_t j, ptrdiff_t hi)
{
    const ptrdiff_t each = u->g->block_keys;
    return (struct block){j, hi - j < each ? hi : j + each, false};
}
#else
/* The block that begins at key j < hi, with pages or fewer rows than a block has. */
VF_NOINLINE struct block part_of_block(const struct unit *u, ptrdiff_t j, ptrdiff_t hi)
{
    const ptrdiff_t most = u->g->block_keys, left = hi - j < most ? hi - j : most;
    if (u->list)
        return (struct block){j, j + left, true};
    const ptrdiff_t run = keys_run(&u->k.keys, j, left), whole = run / GROUP_KEYS * GROUP_KEYS;
    const ptrdiff_t copied = left < GROUP_KEYS ? left : GROUP_KEYS;
    return (struct block){j, j + (whole ? whole : copied), whole == 0};
}

static inline struct block block_at(const struct unit *u, ptrdiff_t j, ptrdiff_t hi)
{
    if (u->k.scattered || hi - j < u->g->block_keys)
        return part_of_block(u, j, hi);
    return (struct block){j, j + u->g->block_keys, false};
}

#endif

/* The first block from key j on of which the operands leave some row a key; if there is none, one that begins
 * at hi. */
static inline struct block block_from(const struct unit *u, ptrdiff_t j, ptrdiff_t hi,
                                      uint64_t *bits, struct mask_bits *mask)
{
    while (j < hi) {
        const struct block b = block_at(u, j, hi);
        if (!u->g->looks)
            return b;
        *mask = unit_bits(u, j, b.end - j, bits);
        if (mask->any)
            return b;
        j = b.end;
    }
    return (struct block){hi, hi + u->g->block_keys, false};
}

/* The key at which blocks begin: with pages at a whole group, so that each page begins with a group. */
static ptrdiff_t unit_first(const struct unit *u, struct attn_range keys)
{
    return u->k.scattered ? keys.lo / GROUP_KEYS * GROUP_KEYS : keys.lo;
}
