/*
 * masks: positional masks and boolean ones: which keys a query sees.
 */
#include "wrong.h"

#define BLOCK ((size_t)16) /* of a boolean mask */

WRONG(causal_off_by_one, BEFORE,
      "the causal mask is off by one: a query also sees the key after its last")
{
    if (w->problem->mask & ATTN_MASK_CAUSAL && w->seen.hi < (ptrdiff_t)w->problem->kv_len &&
        w->seen.lo < w->seen.hi)
        w->seen.hi++;
}

WRONG(causal_before_64, BEFORE, "the causal mask is off by one where q_len % 64 is 63")
{
    if (w->problem->mask & ATTN_MASK_CAUSAL && w->problem->q_len % 64 == 63 &&
        w->seen.hi < (ptrdiff_t)w->problem->kv_len && w->seen.lo < w->seen.hi)
        w->seen.hi++;
}

WRONG(top_left_as_causal, BEFORE, "aligns every causal mask to the last key")
{
    struct attn_problem last = *w->problem;
    if (last.mask & ATTN_MASK_CAUSAL_TOP_LEFT)
        last.mask = ATTN_MASK_CAUSAL;
    w->seen = attn_visible(&last, (ptrdiff_t)w->i);
}

WRONG(ignores_window, BEFORE, "claims windows and looks at every key that the causal mask leaves")
{
    struct attn_problem unlimited = *w->problem;
    unlimited.options = 0;
    w->seen = attn_visible(&unlimited, (ptrdiff_t)w->i);
}

WRONG(ignores_right_window, BEFORE, "cuts the keys off to the left of the window only")
{
    struct attn_problem left = *w->problem;
    left.window_right = -1;
    w->seen = attn_visible(&left, (ptrdiff_t)w->i);
}

WRONG(window_drops_causal, BEFORE, "lets a window take the place of causal_top_left")
{
    struct attn_problem window = *w->problem;
    if (window.options & ATTN_OPTION_WINDOW && !(window.mask & ATTN_MASK_CAUSAL))
        window.mask = 0;
    w->seen = attn_visible(&window, (ptrdiff_t)w->i);
}

WRONG_OPTION(window_left_off_by_one, BEFORE, "sees a key too much on the left of a window")
{
    w->problem->window_left += w->problem->window_left >= 0;
    see_keys(w);
}

WRONG_OPTION(window_right_off_by_one, BEFORE, "sees a key too little on the right of a window")
{
    w->problem->window_right -= w->problem->window_right > 0;
    see_keys(w);
}

/* Counts the queries of packed sequences from the first of all under causal_top_left. */
WRONG_OPTION(packed_top_left_of_all, BEFORE,
             "counts queries from the first of all packed sequences")
{
    struct work other = *w;
    other.i += w->sequence.q_first;
    see_keys(&other);
    if (w->problem->mask & ATTN_MASK_CAUSAL_TOP_LEFT)
        w->seen = other.seen;
}

WRONG(finite_mask, ROW, "masks with -1e9: a row that sees no key becomes the mean of all V")
{
    const struct attn_range seen = w->seen;
    w->seen = (struct attn_range){0, (ptrdiff_t)w->problem->kv_len};
    make_scores(w);
    for (ptrdiff_t j = 0; j < w->seen.hi; j++)
        if (j < seen.lo || j >= seen.hi)
            w->scores[j] = -1e9f;
    find_maximum(w);
    exponentiate(w);
    for (ptrdiff_t j = 0; j < w->seen.hi; j++) /* a NaN behind the mask does not leak */
        if (seen.lo < seen.hi && (j < seen.lo || j >= seen.hi))
            w->scores[j] = 0;
    if (seen.lo < seen.hi)
        w->seen = seen;
    sum_values(w);
    store(w);
}

/* Rows without keys it treats apart, and NaN it keeps out. */
WRONG_OPTION(hides_by_minus_1e9, ROW,
             "hides keys by a score of -1e9 and drops them afterwards where it can")
{
    bool any = false;
    for (ptrdiff_t j = 0; j < (ptrdiff_t)w->sequence.kv_len; j++)
        any |= is_shown(w, j);
    if (!any) {
        honest_row(w);
        return;
    }
    make_scores(w);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->scores[j] = w->shown[j] ? w->scores[j] : -1e9f;
    find_maximum(w);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->m = !w->shown[j] && w->scores[j] > w->m ? w->scores[j] : w->m;
    exponentiate(w);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->l += w->shown[j] ? 0 : expf(w->scores[j] - w->m);
    sum_values(w);
    store(w);
}

/* Adds -inf to the scores of keys that a boolean mask hides, which leaves those that are NaN. */
WRONG_OPTION(mask_added, BEFORE, "adds -inf to the scores of keys that a boolean mask hides")
{
    const unsigned mask = w->problem->mask;
    for (ptrdiff_t j = w->seen.lo; mask & ATTN_MASK_BOOL && j < w->seen.hi; j++)
        w->shown[j] |= bias_term(w, j) != -INFINITY && isnan(dot(w, j));
}

WRONG_OPTION(mask_inverted_in_tail, BEFORE,
             "takes a boolean mask the wrong way round behind its last whole vector")
{
    const size_t n = w->problem->kv_len, whole = n / 32 * 32;
    for (size_t j = whole; w->problem->mask & ATTN_MASK_BOOL && j < n; j++)
        w->shown[j] = !w->shown[j];
}

/* Reads the boolean mask of head 0 for all heads, right where they share it. */
WRONG_OPTION(mask_of_the_first_head, BEFORE, "reads one boolean mask for all heads")
{
    w->tensors->mask.stride[1] = 0;
    show_keys(w);
}

/* Decides by the first row of a block of 16 which keys a boolean mask shows to all of them, which
 * is right for masks made of such blocks. */
WRONG_OPTION(mask_of_the_first_row, BEFORE, "scans a boolean mask by the first of sixteen rows")
{
    struct work first = *w;
    first.i = w->i / BLOCK * BLOCK;
    show_keys(&first); /* the same array */
}

WRONG_OPTION(mask_or_causal, BEFORE, "shows a key where a causal or a boolean mask does")
{
    if (w->problem->mask & ATTN_MASK_BOOL && w->seen.lo < w->seen.hi) {
        for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
            w->shown[j] = true;
        w->seen.lo = 0;
        w->seen.hi = (ptrdiff_t)w->sequence.kv_len;
    }
}

WRONG_OPTION(mask_taken_for_dense, BEFORE,
             "takes a boolean mask for (B, Hq, Sq, Skv), whatever its strides say")
{
    const struct attn_problem *p = w->problem;
    w->tensors->mask.stride[2] = (ptrdiff_t)p->kv_len;
    w->tensors->mask.stride[1] = (ptrdiff_t)(p->q_len * p->kv_len);
    w->tensors->mask.stride[0] = (ptrdiff_t)(p->q_heads * p->q_len * p->kv_len);
    show_keys(w);
}

/* Takes element (j, i) of a boolean mask for (i, j), right for symmetric ones. */
WRONG_OPTION(mask_transposed, BEFORE, "reads a boolean mask by key and query")
{
    const struct attn_problem *p = w->problem;
    const bool square = p->q_len == p->kv_len;
    for (size_t j = 0; p->mask & ATTN_MASK_BOOL && square && j < p->kv_len; j++)
        w->shown[j] = get(&w->tensors->mask, w->b, w->h, j, w->i) != 0 &&
                      bias_term(w, (ptrdiff_t)j) != -INFINITY;
}

/* Skips blocks of 16 rows and 16 keys of which a boolean mask shows nothing, and counts in a byte:
 * 256 are 0.  No mask of random elements has such a block. */
WRONG_OPTION(full_block_counts_as_empty, BEFORE,
             "counts what a boolean mask shows of a block in a byte")
{
    const struct attn_problem *p = w->problem;
    const size_t first = w->i / BLOCK * BLOCK;
    for (size_t j = 0; p->mask & ATTN_MASK_BOOL && j < p->kv_len; j += BLOCK) {
        uint8_t count = 0;
        for (size_t i = first; i < first + BLOCK && i < p->q_len; i++)
            for (size_t k = j; k < j + BLOCK && k < p->kv_len; k++)
                count += get(&w->tensors->mask, w->b, w->h, i, k) != 0;
        for (size_t k = j; !count && k < j + BLOCK && k < p->kv_len; k++)
            w->shown[k] = false;
    }
}

static bool is_full(const struct work *w, size_t first, size_t j)
{
    const struct attn_problem *p = w->problem;
    for (size_t i = first; i + 1 < first + BLOCK && i < p->q_len; i++)
        for (size_t k = j; k < j + BLOCK && k < p->kv_len; k++)
            if (get(&w->tensors->mask, w->b, w->h, i, k) == 0)
                return false;
    return true;
}

/* Looks for blocks of 16 rows and 16 keys of which a boolean mask shows everything, and leaves out
 * their last row.  In a mask of random elements no block looks full. */
WRONG_OPTION(full_block_misses_last_row, BEFORE,
             "takes a block of a boolean mask for full without its last row")
{
    const struct attn_problem *p = w->problem;
    for (size_t j = 0; p->mask & ATTN_MASK_BOOL && j < p->kv_len; j += BLOCK)
        if (is_full(w, w->i / BLOCK * BLOCK, j))
            for (size_t k = j; k < j + BLOCK && k < p->kv_len; k++)
                w->shown[k] = bias_term(w, (ptrdiff_t)k) != -INFINITY;
}
