/*
 * caches: lengths, pages, prefixes.
 */
#include "wrong.h"

/* Keys in full pages that sequences a and b both begin with; 0 without pages. */
static ptrdiff_t keys_in_common(const struct work *w, size_t a, size_t b)
{
    const struct attn_problem *p = w->problem;
    const struct attn_tensor *t = &w->tensors->block_table;
    ptrdiff_t n = 0;
    if (!(p->options & ATTN_OPTION_PAGED))
        return 0;
    const int32_t *x = (const int32_t *)t->data + (ptrdiff_t)a * t->stride[0];
    const int32_t *y = (const int32_t *)t->data + (ptrdiff_t)b * t->stride[0];
    const ptrdiff_t page = (ptrdiff_t)p->page_size;
    const ptrdiff_t keys = (ptrdiff_t)attn_sequence(p, w->tensors, a).kv_len;
    const ptrdiff_t others = (ptrdiff_t)attn_sequence(p, w->tensors, b).kv_len;
    while (n + page <= keys && n + page <= others && x[n / page] == y[n / page])
        n += page;
    return n;
}

/* Takes the number of keys of the next sequence, right where all have as many. */
WRONG_OPTION(length_of_the_neighbour, BEFORE,
             "takes the keys of a sequence for as many as the next one has")
{
    const size_t next = (w->b + 1) % w->problem->batch;
    w->sequence.kv_len = attn_sequence(w->problem, w->tensors, next).kv_len;
    see_keys(w);
}

/* Goes on behind the end of a packed sequence, into the keys of the next, as if all were padded. */
WRONG_OPTION(packed_reads_on, BEFORE, "sees the keys of the next packed sequences")
{
    const unsigned cached = ATTN_OPTION_RAGGED | ATTN_OPTION_PAGED;
    const struct attn_problem *p = w->problem;
    const size_t left = w->tensors->kv_rows - w->sequence.kv_first;
    if (p->options & ATTN_OPTION_PACKED && !(p->options & cached)) {
        w->sequence.kv_len = left < p->kv_len ? left : p->kv_len;
        see_keys(w);
    }
}

WRONG_OPTION(last_page_read_whole, BEFORE, "sees the whole last page of a sequence")
{
    const struct attn_problem *p = w->problem;
    const size_t page = p->page_size, keys = w->sequence.kv_len;
    const bool terms = p->mask & (ATTN_MASK_BIAS | ATTN_MASK_BOOL) || p->kv_dtype == ATTN_I8;
    if (p->options & ATTN_OPTION_PAGED && w->seen.hi == (ptrdiff_t)keys &&
        w->seen.lo < w->seen.hi) {
        size_t whole = (keys + page - 1) / page * page;
        whole = terms && whole > p->kv_len ? p->kv_len : whole; /* they have no more columns */
        for (size_t j = p->kv_len; j < whole; j++)
            w->shown[j] = true;
        w->seen.hi = (ptrdiff_t)whole;
    }
}

WRONG_OPTION(page_of_the_first_head, BEFORE, "reads pages of KV head 0 for all heads")
{
    if (w->problem->options & ATTN_OPTION_PAGED)
        w->tensors->k.stride[1] = w->tensors->v.stride[1] = 0;
}

WRONG_OPTION(table_of_the_first_sequence, BEFORE,
             "reads the block table of the first sequence for all")
{
    const size_t keys = attn_sequence(w->problem, w->tensors, 0).kv_len;
    if (keys >= w->sequence.kv_len) /* or it would read entries that nobody filled in */
        w->tensors->block_table.stride[0] = 0;
}

/* Gathers rows of all sequences for the pages that they begin with. */
WRONG_OPTION(prefix_of_the_neighbour, SCORES, "gives shared keys the scores of sequence 0")
{
    struct work other = *w;
    const ptrdiff_t shared = w->b > 0 ? keys_in_common(w, 0, w->b) : 0;
    other.b = 0;
    other.sequence = attn_sequence(w->problem, w->tensors, 0);
    other.seen.hi = shared < w->seen.hi ? shared : w->seen.hi;
    if (w->i < other.sequence.q_len)
        make_scores(&other); /* the same array */
}

/* Counts a sink twice, once with the pages that sequences share and once with the others. */
WRONG_OPTION(prefix_counts_sink, WEIGHTS, "counts a sink twice where pages are shared")
{
    if (w->b > 0 && w->sink > -INFINITY && keys_in_common(w, w->b - 1, w->b))
        w->l += exp(w->sink - w->m);
}

WRONG_OPTION(prefix_of_the_first_pair, ROW,
             "takes the prefix of sequences 0 and 1 for one that all share")
{
    const struct attn_problem *p = w->problem;
    const ptrdiff_t all = w->seen.hi;
    ptrdiff_t shared = p->batch > 1 ? keys_in_common(w, 0, 1) : 0;
    struct attn_tensors first = *w->tensors;
    struct work other = *w;
    shared = shared < all ? shared : all;
    first.block_table.stride[0] = 0;
    other.tensors = &first;
    other.seen.hi = shared;
    make_scores(w);
    make_scores(&other);
    find_maximum(w);
    exponentiate(w);
    for (size_t d = 0; d < p->v_dim; d++)
        w->o[d] = 0 * inverse(w);
    for (ptrdiff_t j = w->seen.lo; j < all; j++)
        if (w->shown[j])
            add_value(j < shared ? &other : w, j, w->scores[j] * inverse(w));
    store(w);
}

/* Scores of keys [seen.lo, end), as far as the sequence before has any, made with its table or scales. */
static void score_as_before(struct work *w, ptrdiff_t end, bool table)
{
    struct attn_tensors before = *w->tensors;
    struct work other = *w;
    const ptrdiff_t keys = (ptrdiff_t)attn_sequence(w->problem, w->tensors, w->b - 1).kv_len;
    if (table)
        before.block_table.data = (int32_t *)before.block_table.data - before.block_table.stride[0];
    else
        before.k_scale.data = (float *)before.k_scale.data - before.k_scale.stride[0];
    end = end < keys ? end : keys;
    other.tensors = &before;
    other.seen.hi = end < w->seen.hi ? end : w->seen.hi;
    make_scores(&other); /* the same array */
}

/* Looks at keys in blocks of 64, as kernels do that read what sequences share once for several of them. */
WRONG_OPTION(prefix_in_whole_blocks, SCORES,
             "takes a block for shared of which only the first keys are")
{
    const ptrdiff_t shared = w->b > 0 ? keys_in_common(w, w->b - 1, w->b) : 0;
    if (shared)
        score_as_before(w, (shared + 63) / 64 * 64, true);
}

/* Scales are of sequences, not of pages. */
WRONG_OPTION(prefix_with_others_scales, SCORES,
             "multiplies shared keys of 8 bits by the scales of the sequence before")
{
    if (w->b > 0 && w->tensors->k_scale.data)
        score_as_before(w, keys_in_common(w, w->b - 1, w->b), false);
}

/* Adds the weights in two parts where a sequence shares pages with the one before, as kernels do
 * that compute a prefix by itself and merge it with the rest. */
WRONG_OPTION(differs_by_prefix, ROW, "adds weights in parts where pages are shared")
{
    sum_in_parts(w, w->b > 0 && keys_in_common(w, w->b - 1, w->b) ? 2 : 1);
}

/* Where K and V share storage, takes the last v_dim elements of a key for its value instead of the
 * first. */
WRONG_OPTION(values_from_the_tail, BEFORE, "takes the end of a shared key for its value")
{
    const struct attn_problem *p = w->problem;
    const size_t off = p->qk_dim - p->v_dim;
    if (p->options & ATTN_OPTION_SHARED_KV)
        w->tensors->v.data =
            (char *)w->tensors->v.data + off * attn_dtype_size(w->tensors->v.dtype);
}
