/*
 * i4_as_twos_complement: takes the elements of a symmetric cache for numbers in two's complement, -8 to 7.
 */
#include "i4_rows.h"

static real number(const struct nibble *n)
{
    const int x = (int)attn_nibble(n->row, n->d);
    if (n->problem->options & ATTN_OPTION_ZERO_POINTS)
        return nibble_right(n);
    return nibble_scale(n, n->d) * (real)(x < 8 ? x : x - 16);
}

WRONG_NIBBLES(i4_as_twos_complement, "takes elements for numbers in two's complement");
