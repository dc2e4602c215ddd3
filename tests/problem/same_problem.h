/*
 * same_problem: equality of problems, field by field; bytes between the fields mean nothing, and
 * Clang leaves what was there.
 */
#pragma once

#include <stdbool.h>

#include "attention.h"
#include "element.h"

static inline bool same_problem(const struct attn_problem *a, const struct attn_problem *b)
{
    _Static_assert(offsetof(struct attn_problem, index_block) + sizeof a->index_block == sizeof *a,
                   "attn_problem has a new field: compare it here");
    return a->size == b->size && a->batch == b->batch && a->q_heads == b->q_heads &&
           a->kv_heads == b->kv_heads && a->q_len == b->q_len && a->kv_len == b->kv_len &&
           a->qk_dim == b->qk_dim && a->v_dim == b->v_dim && a->dtype == b->dtype &&
           a->kv_dtype == b->kv_dtype && a->layout == b->layout && a->pass == b->pass &&
           a->outputs == b->outputs && a->mask == b->mask && a->options == b->options &&
           attn_float_bits(a->scale) == attn_float_bits(b->scale) &&
           attn_float_bits(a->softcap) == attn_float_bits(b->softcap) &&
           a->window_left == b->window_left && a->window_right == b->window_right &&
           a->page_size == b->page_size && a->kv_group == b->kv_group &&
           a->index_count == b->index_count && a->index_block == b->index_block;
}
