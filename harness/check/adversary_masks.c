/*
 * adversary_masks: masks and biases, and the contents of hidden keys.
 */
#include <float.h>
#include <math.h>

#include "adversary_inputs.h"
#include "row_view.h"
#include "problem/kv.h"

/* ---- masks --------------------------------------------------------------------------------- */

void adversary_mask(struct trial *trial, adversary_hider *hides)
{
    const struct attn_tensor *t = &trial->set.tensors.mask;
    const size_t *dims = trial->set.shape.mask;
    size_t at[4];
    for (at[0] = 0; at[0] < dims[0]; at[0]++)
        for (at[1] = 0; at[1] < dims[1]; at[1]++)
            for (at[2] = 0; at[2] < dims[2]; at[2]++)
                for (at[3] = 0; at[3] < dims[3]; at[3]++)
                    tensors_set(t, at[0], at[1], at[2], at[3], !hides(trial, at));
}

/* Hides the special key from every other query. */
bool masks_hide_needle(const struct trial *trial, const size_t at[4])
{
    return at[2] % 2 && at[3] == trial_needle(trial, at[0], attn_kv_head(&trial->problem, at[1]));
}

bool masks_hide_all_but_last(const struct trial *trial, const size_t at[4])
{
    return at[3] + 1 != attn_sequence(&trial->problem, &trial->set.tensors, at[0]).kv_len;
}

/* Hides all keys from one row in three, and the first tile from another. */
bool masks_hide_rows(const struct trial *trial, const size_t at[4])
{
    (void)trial;
    const size_t turn = (at[2] + at[1]) % 3;
    return turn == 1 || (turn == 2 && at[3] < 64);
}

/* Whole blocks are hidden or visible, some with an exception at one of their corners. */
static bool is_block_hidden(size_t side, const size_t at[4])
{
    const size_t number = at[2] / side * 5 + at[3] / side, corner = number / 4 % 4;
    const bool top = at[2] % side == 0, left = at[3] % side == 0;
    const bool bottom = at[2] % side == side - 1, right = at[3] % side == side - 1;
    const bool odd = number % 4 >= 2 && (corner & 1 ? bottom : top) && (corner & 2 ? right : left);
    return number % 2 != odd;
}

bool masks_hide_blocks_of_64(const struct trial *trial, const size_t at[4])
{
    (void)trial;
    return is_block_hidden(64, at);
}

bool masks_hide_blocks_of_128(const struct trial *trial, const size_t at[4])
{
    (void)trial;
    return is_block_hidden(128, at);
}

/* Hides some keys from all queries. */
bool masks_hide_columns(const struct trial *trial, const size_t at[4])
{
    (void)trial;
    return at[3] % 5 == 2 || at[3] / 64 == 1;
}

/* ---- hidden keys --------------------------------------------------------------------------- */

/* Whether a query of the heads of KV head g sees the key. */
static bool is_seen(const struct trial *trial, size_t b, size_t g, size_t j)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    const size_t group = p->q_heads / p->kv_heads, queries = attn_sequence(p, t, b).q_len;
    for (size_t h = g * group; h < (g + 1) * group; h++)
        for (size_t i = 0; i < queries; i++) {
            const struct row_view s = row_view_of(p, t, (struct tensors_place){b, h, i, 0});
            if (!row_view_hider(&s, j))
                return true;
        }
    return false;
}

static void poison_key(const struct attn_problem *p, const struct attn_tensors *t,
                       struct kv_place at, double x)
{
    const bool in_scales = kv_integers(p->kv_dtype); /* only scales of a single key are changed */
    for (size_t d = 0; !(in_scales && !t->k_scale.stride[2]) && d < p->qk_dim; d++)
        kv_set(p, t, KV_K, at, d, x);
    for (size_t d = 0; !(in_scales && !t->v_scale.stride[2]) && d < p->v_dim; d++)
        kv_set(p, t, KV_V, at, d, x);
}

/* Keys of a sequence that no other one reads; where keys are packed, those behind its end are the next
 * sequence's. */
static size_t own_keys(const struct trial *trial, size_t b)
{
    const struct attn_problem *p = &trial->problem;
    const struct row_view s =
        row_view_of(p, &trial->set.tensors, (struct tensors_place){b, 0, 0, 0});
    return attn_keys_packed(p) ? s.sequence.kv_len : row_view_reach(&s);
}

/* NaN, infinity and -infinity in K and V of the keys that no query sees. */
void masks_poison_hidden(struct trial *trial)
{
    static const double poison[] = {NAN, INFINITY, -INFINITY};
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < own_keys(trial, b); j++)
                if (!is_seen(trial, b, g, j))
                    poison_key(p, t, (struct kv_place){b, g, j}, poison[(b + g + j) % 3]);
}

/* ---- biases -------------------------------------------------------------------------------- */

void adversary_set_bias(struct trial *trial, adversary_bias *bias)
{
    const struct attn_tensor *t = &trial->set.tensors.bias;
    const size_t *dims = trial->set.shape.bias;
    for (size_t b = 0; b < dims[0]; b++)
        for (size_t h = 0; h < dims[1]; h++)
            for (size_t i = 0; i < dims[2]; i++)
                for (size_t j = 0; j < dims[3]; j++)
                    tensors_set(t, b, h, i, j, bias(trial, h + i, j, tensors_get(t, b, h, i, j)));
}

/* The columns that masks_hide_columns() hides. */
double masks_bias_columns(const struct trial *trial, size_t i, size_t j, double random)
{
    return masks_hide_columns(trial, (size_t[]){0, 0, i, j}) ? -INFINITY : random;
}

/* -inf at a third of all keys, and in every fifth row. */
double masks_bias_holes(const struct trial *trial, size_t i, size_t j, double random)
{
    (void)trial;
    return i % 5 == 3 || (i * 7 + j) % 3 == 1 ? -INFINITY : random;
}

/* By how much numbers of f64 reach further than those of f32. */
static double further(const struct trial *trial)
{
    return trial->problem.dtype == ATTN_F64 ? 0x1p895 : 1;
}

/* x, clamped to the finite numbers of the bias's type. */
static double held(const struct trial *trial, double x)
{
    const enum attn_dtype dtype = trial->set.tensors.bias.dtype;
    const double largest = dtype == ATTN_F16    ? 65504
                           : dtype == ATTN_BF16 ? 0x1.FEp127
                                                : FLT_MAX * further(trial);
    return copysign(fmin(fabs(x), largest), x);
}

/* Lowers the bias far, in turn for half of a row's keys, for all but one, and for all that are not hidden. */
double masks_bias_far_below(const struct trial *trial, size_t i, size_t j, double random)
{
    const double low = held(trial, -1e30 * further(trial));
    const bool odd = (i + j) % 2;
    switch (i % 3) {
    case 0:
        return odd ? low : random;
    case 1:
        return j ? low : 0;
    default:
        return odd ? -INFINITY : low;
    }
}

/* In every other row all keys have the lowest number of the type, as frameworks hide a row of padding.  A
 * kernel that hides other keys by adding a large negative number cannot tell these from them. */
double masks_bias_lowest(const struct trial *trial, size_t i, size_t j, double random)
{
    (void)j;
    return i % 2 ? random : held(trial, -INFINITY);
}

/* One NaN in every fourth row: only that row becomes NaN, unless something else hides the key. */
double masks_bias_nan(const struct trial *trial, size_t i, size_t j, double random)
{
    return i % 4 == 2 && j == i * 7 % trial->problem.kv_len ? NAN : random;
}

/* One key gets all of the weight, or two share it. */
double masks_bias_far_above(const struct trial *trial, size_t i, size_t j, double random)
{
    const size_t keys = trial->problem.kv_len, one = i * 7 % keys,
                 other = i % 4 ? one : i * 5 % keys;
    return j == one || j == other ? held(trial, 3e38 * further(trial)) : random;
}

/* The first key of a row, or the last, has the largest number of the type: whether it then has all of the
 * weight or, with a score of -inf, none. */
double masks_bias_largest(const struct trial *trial, size_t i, size_t j, double random)
{
    return j == (i % 2 ? trial->problem.kv_len - 1 : 0) ? held(trial, INFINITY) : random;
}
