/*
 * row_view: masks, lengths and terms of scores, key by key.
 */
#include "row_view.h"

#include <math.h>

struct row_view row_view_of(const struct attn_problem *p, const struct attn_tensors *tensors,
                            struct tensors_place at)
{
    struct row_view s = {.problem = p,
                         .tensors = tensors,
                         .at = at,
                         .sequence = attn_sequence(p, tensors, at.b),
                         .b = at.b,
                         .g = attn_kv_head(p, at.h),
                         .v_b = at.b,
                         .v_g = attn_kv_head(p, at.h),
                         .sink = p->options & ATTN_OPTION_SINKS
                                     ? tensors_get(&tensors->sinks, 0, 0, 0, at.h)
                                     : -INFINITY,
                         .shown = SIZE_MAX,
                         .list = attn_list(p, tensors, at.b, attn_kv_head(p, at.h), at.i)};
    row_view_update(&s);
    return s;
}

void row_view_update(struct row_view *s)
{
    const ptrdiff_t i = (ptrdiff_t)s->at.i, q_len = (ptrdiff_t)s->sequence.q_len;
    const ptrdiff_t kv_len = (ptrdiff_t)s->sequence.kv_len;
    s->range = attn_visible_in(s->problem, i, q_len, kv_len);
    s->position = attn_position(s->problem, i, q_len, kv_len);
}

static double bias_of(const struct row_view *s, size_t j)
{
    return tensors_get(&s->tensors->bias, s->at.b, s->at.h, s->at.i, j);
}

static bool is_listed(const struct row_view *s, size_t j)
{
    for (size_t n = 0; n < s->problem->index_count; n++)
        if (s->list[n] == (ptrdiff_t)j)
            return true;
    return false;
}

const char *row_view_hider(const struct row_view *s, size_t j)
{
    const unsigned mask = s->problem->mask;
    if (j == s->shown)
        return NULL;
    if (j >= s->sequence.kv_len)
        return "which lies behind the end of its sequence";
    if ((ptrdiff_t)j < s->range.lo || (ptrdiff_t)j >= s->range.hi)
        return "which the mask hides";
    if (s->list && !is_listed(s, j))
        return "which the list does not name";
    const struct attn_tree tree = attn_tree(s->problem, s->tensors, &s->sequence, s->at.b);
    if (tree.parents && !attn_tree_sees(&tree, (ptrdiff_t)s->at.i, (ptrdiff_t)j))
        return "which the tree hides";
    if (mask & ATTN_MASK_BOOL && tensors_get(&s->tensors->mask, s->at.b, s->at.h, s->at.i, j) == 0)
        return "which the boolean mask hides";
    if (mask & ATTN_MASK_BIAS && bias_of(s, j) == -INFINITY)
        return "which a bias of -inf hides";
    return NULL;
}

double row_view_term(const struct row_view *s, size_t j)
{
    double term = 0;
    if (s->problem->options & ATTN_OPTION_ALIBI)
        term += tensors_get(&s->tensors->slopes, 0, 0, 0, s->at.h) *
                (double)((ptrdiff_t)j - s->position);
    if (s->problem->mask & ATTN_MASK_BIAS)
        term += bias_of(s, j);
    return term;
}

size_t row_view_rows(const struct row_view *s)
{
    const struct attn_problem *p = s->problem;
    if (p->options & ATTN_OPTION_PAGED)
        return kv_pages(p, s->sequence.kv_len) * p->page_size;
    return attn_keys_packed(p) ? s->tensors->kv_rows - s->sequence.kv_first : p->kv_len;
}

size_t row_view_reach(const struct row_view *s)
{
    const size_t rows = row_view_rows(s), most = s->problem->kv_len;
    return rows < most ? rows : most;
}
