/*
 * i4_halves_swapped: takes the upper half of a byte for the first of its two elements.
 */
#include "i4_rows.h"

static real number(const struct nibble *n)
{
    return nibble_scale(n, n->d) *
           ((real)attn_nibble(n->row, n->d ^ 1) - nibble_zero(n, n->zeros, n->d));
}

WRONG_NIBBLES(i4_halves_swapped, "takes the upper half of a byte for the first element");
