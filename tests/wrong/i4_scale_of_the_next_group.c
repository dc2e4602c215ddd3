/*
 * i4_scale_of_the_next_group: multiplies the last element of a group by the scale of the next one.
 */
#include "i4_rows.h"

static real number(const struct nibble *n)
{
    const size_t next = n->d + 1 < n->dim ? n->d + 1 : n->d;
    return nibble_scale(n, next) *
           ((real)attn_nibble(n->row, n->d) - nibble_zero(n, n->zeros, n->d));
}

WRONG_NIBBLES(i4_scale_of_the_next_group, "multiplies a group's last element by the next scale");
