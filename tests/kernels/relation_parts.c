/*
 * relation_parts: one sequence of many, and some queries of a sequence; all operands are the others'.
 */
#include "testing.h"

#include "drawn_places.h"
#include "relations.h"

/* Lets a tensor begin at row i of sequence b, where it is there. */
static void begin_at(struct attn_tensor *t, size_t b, size_t i)
{
    if (t->data)
        t->data = attn_row(t, b, 0, i);
}

/* Sequence number n of those that have queries and keys. */
bool relate_single(const struct drawn_operands *a, size_t n, struct related *to)
{
    const unsigned many = ATTN_OPTION_RAGGED | ATTN_OPTION_PACKED;
    struct attn_problem *p = &to->d.problem;
    struct attn_tensors *t = &to->d.tensors;
    size_t b = 0, found = 0;
    for (; b < a->problem.batch; b++)
        if (drawn_q_len(a, b) && drawn_kv_len(a, b) && found++ == n)
            break;
    if (b == a->problem.batch)
        return false;
    const struct attn_sequence s = attn_sequence(&a->problem, &a->tensors, b);
    to->b = b;
    p->batch = 1;
    p->q_len = s.q_len;
    p->kv_len = s.kv_len;
    p->options &= ~many;
    begin_at(&t->q, b, s.q_first);
    if (drawn_on(a, ATTN_OPTION_PAGED)) {
        begin_at(&t->block_table, b, 0);
    } else {
        begin_at(&t->k, b, s.kv_first);
        begin_at(&t->v, b, s.kv_first);
    }
    begin_at(&t->k_scale, b, s.kv_first);
    begin_at(&t->v_scale, b, s.kv_first);
    begin_at(&t->k_zero, b, s.kv_first);
    begin_at(&t->v_zero, b, s.kv_first);
    begin_at(&t->bias, b, 0);
    begin_at(&t->mask, b, 0);
    return true;
}

/* Some queries of every sequence, and the keys up to the last of them: the last half, as if the others'
 * keys had been in a cache; the first half; one in the middle. */
bool relate_chunk(const struct drawn_operands *a, size_t n, struct related *to)
{
    struct attn_problem *p = &to->d.problem;
    struct attn_tensors *t = &to->d.tensors;
    const size_t q_len = a->problem.q_len, half = q_len / 2;
    const size_t ranges[][2] = {{half, q_len}, {0, half}, {half, half + 1}};
    if (n >= sizeof ranges / sizeof *ranges)
        return false;
    const size_t first = ranges[n][0], end = ranges[n][1], later = q_len - end;
    if (first == end || later >= p->kv_len)
        return false;
    to->i = first;
    p->q_len = end - first;
    p->kv_len -= later;
    begin_at(&t->q, 0, first);
    begin_at(&t->bias, 0, first);
    begin_at(&t->mask, 0, first);
    return true;
}
