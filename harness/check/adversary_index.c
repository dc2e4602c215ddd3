/*
 * adversary_index: lists of chosen keys as random lists seldom are.
 */

#include "adversary_inputs.h"

void adversary_add_lists(struct attn_problem *p, size_t keys, size_t queries)
{
    p->options |= ATTN_OPTION_INDEX;
    p->index_count = keys;
    p->index_block = queries ? queries : 1;
    p->q_len = p->q_len < 7 ? 7 : p->q_len;
    p->kv_len = p->kv_len < 130 ? 130 : p->kv_len;
}

void adversary_make_lists(struct trial *trial, adversary_entry *entry)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    for (size_t b = 0; b < p->batch; b++) {
        const struct attn_sequence s = attn_sequence(p, t, b);
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t number = 0; number < attn_lists(p, s.q_len); number++) {
                int32_t *list = (int32_t *)attn_list(p, t, b, g, number * p->index_block);
                for (size_t n = 0; n < p->index_count; n++) {
                    const struct adversary_place e = {b, g, number, n, p->index_count, s.kv_len};
                    const ptrdiff_t key = entry(&e);
                    list[n] = key < (ptrdiff_t)s.kv_len ? (int32_t)key : -1;
                }
            }
    }
}

/* Every second key: even ones in even lists, odd ones in odd lists; each head begins at another key. */
static ptrdiff_t second(const struct adversary_place *e)
{
    return (ptrdiff_t)((2 * e->n + (e->number + e->g) % 2));
}

ptrdiff_t index_front_padded(const struct adversary_place *e)
{
    const size_t padding = e->count / 2;
    return e->n < padding ? -1 : (ptrdiff_t)(2 * (e->n - padding) + e->number % 2);
}

ptrdiff_t index_scattered(const struct adversary_place *e)
{
    return (e->n + e->number) % 3 ? second(e) : -1;
}

/* Even lists name no key. */
ptrdiff_t index_none_or_all(const struct adversary_place *e)
{
    return (e->number + e->g) % 2 ? (ptrdiff_t)e->n : -1;
}

/* One key, in the middle of the list; another one in each list, the last key among them. */
ptrdiff_t index_one(const struct adversary_place *e)
{
    const size_t back = (5 * e->number + 3 * e->g) % (e->kv_len ? e->kv_len : 1);
    return e->n == e->count / 2 ? (ptrdiff_t)(e->kv_len - 1 - back) : -1;
}

/* All keys from the last to the first. */
ptrdiff_t index_falling(const struct adversary_place *e)
{
    return e->n < e->kv_len ? (ptrdiff_t)(e->kv_len - 1 - e->n) : -1;
}
