/*
 * i4_short_group_unscaled: gives a row's last group, where it is shorter than the others, the scale of the
 * group before it.
 */
#include "i4_rows.h"

static real number(const struct nibble *n)
{
    const size_t group = n->problem->kv_group, whole = n->dim / group * group;
    const size_t d = n->d >= whole && whole ? whole - 1 : n->d;
    return nibble_scale(n, d) * ((real)attn_nibble(n->row, n->d) - nibble_zero(n, n->zeros, n->d));
}

WRONG_NIBBLES(i4_short_group_unscaled, "gives a short last group the scale before it");
