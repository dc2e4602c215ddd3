/*
 * adversary_shapes: problems that adversaries need, made from a case.
 */
#include "adversary_options.h"

/* More queries than keys: under a causal mask the first ones see none. */
bool shape_more_queries(struct problem_case *c)
{
    struct attn_problem *p = &c->problem;
    if (!(p->mask & ATTN_MASK_CAUSAL_TOP_LEFT))
        p->mask |= ATTN_MASK_CAUSAL;
    p->q_len = p->kv_len + 67;
    return p->mask & ATTN_MASK_CAUSAL;
}

/* A window so narrow that late queries do not see the first keys. */
bool shape_narrow_window(struct problem_case *c)
{
    c->problem.options |= ATTN_OPTION_WINDOW;
    c->problem.window_left = (ptrdiff_t)(c->problem.kv_len / 3);
    c->problem.window_right = -1;
    return true;
}

bool shape_weights(struct problem_case *c)
{
    c->problem.outputs |= ATTN_OUTPUT_WEIGHTS;
    return true;
}

/* One pattern for each sequence and head. */
bool shape_mask(struct problem_case *c)
{
    c->problem.mask |= ATTN_MASK_BOOL;
    c->input.mask_full = true;
    return true;
}

bool shape_mask_and_weights(struct problem_case *c)
{
    return shape_mask(c) && shape_weights(c);
}

/* Three blocks of 64 queries and five of 64 keys, and a part of another one. */
bool shape_mask_blocks(struct problem_case *c)
{
    c->problem.mask |= ATTN_MASK_BOOL;
    c->problem.q_len = c->problem.q_len < 128 ? 3 * 64 + 9 : c->problem.q_len;
    c->problem.kv_len = c->problem.kv_len < 256 ? 5 * 64 + 9 : c->problem.kv_len;
    return true;
}

bool shape_bias(struct problem_case *c)
{
    c->problem.mask |= ATTN_MASK_BIAS;
    c->input.bias = INPUT_BIAS_FULL;
    return true;
}

static bool cap(struct problem_case *c, float softcap)
{
    c->problem.options |= ATTN_OPTION_SOFTCAP;
    c->problem.softcap = softcap;
    return true;
}

/* Scores of 1000 are 200 times as large: tanh is 1 but for what f32 can say. */
bool shape_softcap(struct problem_case *c)
{
    return cap(c, 5);
}

bool shape_softcap_small(struct problem_case *c)
{
    return cap(c, 50);
}

/* N(0, 1) is so small beside it that tanh(x) must be x: where it is right to a rounding of 1 only,
 * scores are wrong by 1e-3. */
bool shape_softcap_far(struct problem_case *c)
{
    return cap(c, 1e4F);
}

bool shape_sinks(struct problem_case *c)
{
    c->problem.options |= ATTN_OPTION_SINKS;
    return true;
}

bool shape_alibi(struct problem_case *c)
{
    c->problem.options |= ATTN_OPTION_ALIBI;
    return true;
}

bool shape_sinks_and_masked_rows(struct problem_case *c)
{
    if (!(c->problem.mask & ATTN_MASK_CAUSAL_TOP_LEFT))
        c->problem.mask |= ATTN_MASK_CAUSAL;
    c->problem.q_len = c->problem.kv_len + 13;
    return shape_sinks(c) && c->problem.mask & ATTN_MASK_CAUSAL;
}

static const struct input_lengths none_to_two = {true, 0, 2, 1};

bool shape_short(struct problem_case *c)
{
    c->problem.options |= ATTN_OPTION_RAGGED;
    c->problem.batch = 4;
    c->input.lens = none_to_two;
    return c->problem.kv_len >= 2;
}

bool shape_short_packed(struct problem_case *c)
{
    c->problem.options |= ATTN_OPTION_PACKED;
    c->problem.batch = 6;
    c->problem.q_len = c->problem.q_len < 2 ? 2 : c->problem.q_len;
    c->input.decode = 0;
    c->input.lens = c->input.qlens = none_to_two;
    return c->problem.kv_len >= 2;
}

/* Several pages a sequence, the last one not full. */
bool shape_pages(struct problem_case *c)
{
    c->problem.options |= ATTN_OPTION_PAGED;
    c->problem.batch = c->problem.batch < 3 ? 3 : c->problem.batch;
    if (!c->problem.page_size || c->problem.page_size * 3 > c->problem.kv_len)
        c->problem.page_size = 16;
    c->problem.kv_len = c->problem.kv_len < 50 ? 50 : c->problem.kv_len;
    return true;
}

bool shape_pages_and_lengths(struct problem_case *c)
{
    c->problem.options |= ATTN_OPTION_RAGGED;
    return shape_pages(c);
}

bool shape_int8(struct problem_case *c)
{
    c->problem.kv_dtype = ATTN_I8;
    return true;
}

bool shape_int8_channels(struct problem_case *c)
{
    c->input.channel_scales = true;
    return shape_int8(c);
}

/* No query sees the first keys. */
bool shape_window(struct problem_case *c)
{
    c->problem.q_len = c->problem.kv_len / 3 + 1;
    c->problem.options |= ATTN_OPTION_WINDOW;
    c->problem.window_left = (ptrdiff_t)(c->problem.kv_len / 5);
    c->problem.window_right = -1;
    return true;
}

/* No query sees the last keys. */
bool shape_top_left(struct problem_case *c)
{
    c->problem.q_len = c->problem.kv_len / 3 + 1;
    c->problem.mask &= ~(unsigned)ATTN_MASK_CAUSAL;
    c->problem.mask |= ATTN_MASK_CAUSAL_TOP_LEFT;
    return true;
}
