/*
 * same_problem: equality of problems, field by field; bytes between the fields mean nothing, and
 * Clang leaves what was there.  Include behind cmocka.h.
 */
#ifndef TESTS_SAME_PROBLEM_H
#define TESTS_SAME_PROBLEM_H

#include "attention.h"

static inline void assert_same_problem(const struct attn_problem *a, const struct attn_problem *b)
{
    _Static_assert(offsetof(struct attn_problem, index_block) + sizeof a->index_block == sizeof *a,
                   "attn_problem has a new field: compare it here");
    assert_int_equal(a->size, b->size);
    assert_int_equal(a->batch, b->batch);
    assert_int_equal(a->q_heads, b->q_heads);
    assert_int_equal(a->kv_heads, b->kv_heads);
    assert_int_equal(a->q_len, b->q_len);
    assert_int_equal(a->kv_len, b->kv_len);
    assert_int_equal(a->qk_dim, b->qk_dim);
    assert_int_equal(a->v_dim, b->v_dim);
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->kv_dtype, b->kv_dtype);
    assert_int_equal(a->layout, b->layout);
    assert_int_equal(a->pass, b->pass);
    assert_int_equal(a->outputs, b->outputs);
    assert_int_equal(a->mask, b->mask);
    assert_int_equal(a->options, b->options);
    assert_memory_equal(&a->scale, &b->scale, sizeof a->scale);
    assert_memory_equal(&a->softcap, &b->softcap, sizeof a->softcap);
    assert_int_equal(a->window_left, b->window_left);
    assert_int_equal(a->window_right, b->window_right);
    assert_int_equal(a->page_size, b->page_size);
    assert_int_equal(a->kv_group, b->kv_group);
    assert_int_equal(a->index_count, b->index_count);
    assert_int_equal(a->index_block, b->index_block);
}

#endif
