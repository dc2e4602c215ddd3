/*
 * i4_zero_points_ignored: takes all zero points for 8, as if the cache were symmetric.
 */
#include "i4_rows.h"

static real number(const struct nibble *n)
{
    return nibble_scale(n, n->d) * ((real)attn_nibble(n->row, n->d) - 8);
}

WRONG_NIBBLES(i4_zero_points_ignored, "takes all zero points for 8");
