/*
 * adversary_shapes: problems that adversaries need, made from a case.
 */
#include "adversary_inputs.h"

/* Makes more queries than keys: under a causal mask the first ones see no key. */
static bool add_queries(struct attn_problem *p, size_t more)
{
    if (!(p->mask & (ATTN_MASK_CAUSAL_TOP_LEFT | ATTN_MASK_TREE)))
        p->mask |= ATTN_MASK_CAUSAL;
    p->q_len = p->kv_len + more;
    return !(p->mask & ATTN_MASK_CAUSAL_TOP_LEFT);
}

bool shapes_more_queries(struct problem_case *c)
{
    return add_queries(&c->problem, 67);
}

bool shapes_some_more_queries(struct problem_case *c)
{
    return add_queries(&c->problem, 13);
}

/* A window so narrow that late queries do not see the first keys. */
bool shapes_narrow_window(struct problem_case *c)
{
    c->problem.options |= ATTN_OPTION_WINDOW;
    c->problem.window_left = (ptrdiff_t)(c->problem.kv_len / 3);
    c->problem.window_right = -1;
    return true;
}

/* Three whole blocks of 64 queries and five of 64 keys, each with a part of a further one. */
bool shapes_mask_blocks(struct problem_case *c)
{
    c->problem.mask |= ATTN_MASK_BOOL;
    c->problem.q_len = c->problem.q_len < 128 ? 3 * 64 + 9 : c->problem.q_len;
    c->problem.kv_len = c->problem.kv_len < 256 ? 5 * 64 + 9 : c->problem.kv_len;
    return true;
}

static const struct input_lengths none_to_two = {true, 0, 2, 1};

bool shapes_short(struct problem_case *c)
{
    c->problem.options |= ATTN_OPTION_RAGGED;
    c->problem.batch = 4;
    c->input.run_count = 0;
    c->input.lens = none_to_two;
    return c->problem.kv_len >= 2;
}

bool shapes_short_packed(struct problem_case *c)
{
    c->problem.options |= ATTN_OPTION_PACKED;
    c->problem.batch = 6;
    c->problem.q_len = c->problem.q_len < 2 ? 2 : c->problem.q_len;
    c->input.decode = 0;
    c->input.run_count = 0;
    c->input.lens = c->input.qlens = none_to_two;
    return c->problem.kv_len >= 2;
}

/* Several pages a sequence, the last one not full. */
bool shapes_pages(struct problem_case *c)
{
    c->problem.options |= ATTN_OPTION_PAGED;
    c->problem.batch = c->problem.batch < 3 ? 3 : c->problem.batch;
    if (!c->problem.page_size || c->problem.page_size * 3 > c->problem.kv_len)
        c->problem.page_size = 16;
    c->problem.kv_len = c->problem.kv_len < 50 ? 50 : c->problem.kv_len;
    return true;
}

/* A length of whole pages, longer than any kernel's block of keys. */
#define BLOCKS_OF_KEYS 520

static size_t begin_keys(const struct attn_problem *p)
{
    return kv_pages(p, BLOCKS_OF_KEYS) * p->page_size;
}

/* Few queries, and sequences that have that many keys or more; the shortest has no more. */
bool shapes_prefixes(struct problem_case *c)
{
    struct attn_problem *p = &c->problem;
    p->kv_len = p->kv_len < 600 ? 600 : p->kv_len;
    shapes_pages(c);
    p->batch = 5;
    p->q_len = p->q_len > 8 ? 3 : p->q_len;
    const size_t keys = p->kv_len, first = begin_keys(p);
    c->input.run_count = 0;
    c->input.lens = (struct input_lengths){true, first, keys, first + (keys - first) / 2};
    return true;
}

/* The same, with these pages shared by all sequences. */
bool shapes_prefix(struct problem_case *c)
{
    shapes_prefixes(c);
    c->input.prefix_keys = begin_keys(&c->problem);
    return true;
}

/* The last group of a row has three elements in K and one in V, so that half of the last byte is unused. */
bool shapes_short_groups(struct problem_case *c)
{
    c->problem.qk_dim = 64 + 3;
    c->problem.v_dim = 64 + 1;
    return true;
}

/* A window for which no query sees the first keys. */
bool shapes_window(struct problem_case *c)
{
    c->problem.q_len = c->problem.kv_len / 3 + 1;
    c->problem.options |= ATTN_OPTION_WINDOW;
    c->problem.window_left = (ptrdiff_t)(c->problem.kv_len / 5);
    c->problem.window_right = -1;
    return true;
}

/* A top-left mask for which no query sees the last keys. */
bool shapes_top_left(struct problem_case *c)
{
    c->problem.q_len = c->problem.kv_len / 3 + 1;
    c->problem.mask &= ~(unsigned)ATTN_MASK_CAUSAL;
    c->problem.mask |= ATTN_MASK_CAUSAL_TOP_LEFT;
    return true;
}

/* A causal mask, which hides some listed keys. */
bool shapes_causal(struct problem_case *c)
{
    c->problem.mask &= ~(unsigned)(ATTN_MASK_CAUSAL_TOP_LEFT | ATTN_MASK_TREE);
    c->problem.mask |= ATTN_MASK_CAUSAL;
    return true;
}

/* At least so many drafts, behind a cache. */
static bool add_drafts(struct attn_problem *p, size_t drafts)
{
    p->mask &= ~(unsigned)(ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT);
    p->mask |= ATTN_MASK_TREE;
    parse_change("window=-1,alibi=0", p);
    p->q_len = p->q_len < drafts ? drafts : p->q_len;
    p->kv_len = p->kv_len < p->q_len + 37 ? p->q_len + 37 : p->kv_len;
    return true;
}

bool shapes_tree(struct problem_case *c)
{
    return add_drafts(&c->problem, 33);
}

/* So many drafts that they take several blocks. */
bool shapes_tall_tree(struct problem_case *c)
{
    c->problem.kv_heads = 1;
    c->problem.q_heads = c->problem.batch = 2;
    return add_drafts(&c->problem, 300);
}
