/*
 * i4_zero_of_v_for_k: takes the zero points of V for those of K, where V has as many.
 */
#include "i4_rows.h"

static real number(const struct nibble *n)
{
    const struct attn_tensor *zeros =
        n->of_k && n->problem->v_dim >= n->problem->qk_dim ? n->other_zeros : n->zeros;
    return nibble_scale(n, n->d) * ((real)attn_nibble(n->row, n->d) - nibble_zero(n, zeros, n->d));
}

WRONG_NIBBLES(i4_zero_of_v_for_k, "takes the zero points of V for those of K");
