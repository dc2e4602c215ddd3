/*
 * variation: options that the problem leaves at their defaults and the kernel says it supports.
 *
 * A kernel that ignores the scale is right wherever the scale is 1/sqrt(D).  So each variation
 * changes a small problem in one place, and the kernel is judged on all rows of it.  Values are
 * such that the default, or the nearest other setting, would give a different result.
 */
#include <stdlib.h>

#include "adversary.h"
#include "problem/patterns.h"
#include "base/random.h"

/* Multiply-adds of a variation: milliseconds of reference; there are about 40. */
#define LIMIT 1e6

#define CAUSAL ATTN_MASK_CAUSAL
#define TOP_LEFT ATTN_MASK_CAUSAL_TOP_LEFT

/* Members that are 0 stay as the problem has them.  Exception: a mask or a window replaces the
 * problem's mask and window. */
static const struct variation {
    const char *phase;
    float scale;
    unsigned mask, outputs;
    bool window;
    ptrdiff_t left, right;
    size_t batch, q_heads, kv_heads, q_len, kv_len, qk_dim, v_dim;
    bool other_layout;
} variations[] = {
    {"scale almost 0", .scale = 1e-30F},
    {"scale of 0.01", .scale = 0.01F},
    {"scale of 1", .scale = 1},
    {"scale of 30", .scale = 30},
    {"negative scale", .scale = -0.3F},
    {"negative scale of 30", .scale = -30},
    {"three sequences", .batch = 3, .q_len = 21, .kv_len = 37},
    {"a KV head for each query head", .q_heads = 3, .kv_heads = 3},
    {"three query heads to a KV head", .q_heads = 6, .kv_heads = 2},
    {"one KV head", .q_heads = 5, .kv_heads = 1},
    {"one query", .q_len = 1, .kv_len = 67},
    {"one key", .q_len = 21, .kv_len = 1},
    {"fewer queries than keys", .q_len = 35, .kv_len = 67},
    {"more queries than keys", .q_len = 67, .kv_len = 35},
    {"odd dimensions", .qk_dim = 23, .v_dim = 37, .q_len = 35, .kv_len = 67},
    {"dimensions of 1", .qk_dim = 1, .v_dim = 1, .q_len = 35, .kv_len = 67},
    {"v wider than k", .qk_dim = 16, .v_dim = 48, .q_len = 35, .kv_len = 67},
    {"v narrower than k", .qk_dim = 48, .v_dim = 16, .q_len = 35, .kv_len = 67},
    {"other layout", .other_layout = true},
    {"other layout, three sequences", .other_layout = true, .batch = 3, .q_heads = 4, .kv_heads = 2,
     .q_len = 21, .kv_len = 37},
    {"lse alone", .outputs = ATTN_OUTPUT_LSE},
    {"o and lse", .outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE},
    {"weights alone", .outputs = ATTN_OUTPUT_WEIGHTS},
    {"o and weights", .outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_WEIGHTS},
    {"causal, fewer queries than keys", .mask = CAUSAL, .q_len = 35, .kv_len = 67},
    {"causal, more queries than keys", .mask = CAUSAL, .q_len = 67, .kv_len = 35},
    {"causal_top_left, fewer queries than keys", .mask = TOP_LEFT, .q_len = 35, .kv_len = 67},
    {"causal_top_left, more queries than keys", .mask = TOP_LEFT, .q_len = 67, .kv_len = 35},
    {"window to the left", .window = true, .left = 19, .right = -1, .q_len = 35, .kv_len = 67},
    {"window to the right", .window = true, .left = -1, .right = 19, .q_len = 35, .kv_len = 67},
    {"window to both sides", .window = true, .left = 19, .right = 5, .q_len = 67, .kv_len = 35},
    {"window of one key", .window = true, .left = 0, .right = 0, .q_len = 35, .kv_len = 67},
    {"window wider than all keys", .window = true, .left = 500, .right = 500, .q_len = 35,
     .kv_len = 67},
    {"causal and window", .mask = CAUSAL, .window = true, .left = 19, .right = -1, .q_len = 35,
     .kv_len = 67},
    {"causal and window to both sides", .mask = CAUSAL, .window = true, .left = 19, .right = 5,
     .q_len = 67, .kv_len = 35},
    {"causal_top_left and window", .mask = TOP_LEFT, .window = true, .left = 19, .right = -1,
     .q_len = 35, .kv_len = 67},
    {"causal_top_left and window to both sides", .mask = TOP_LEFT, .window = true, .left = 19,
     .right = 5, .q_len = 67, .kv_len = 35},
};

static void vary(struct attn_problem *p, const struct variation *v)
{
    if (v->mask || v->window) {
        p->mask = v->mask;
        p->options =
            (p->options & ~(unsigned)ATTN_OPTION_WINDOW) | (v->window ? ATTN_OPTION_WINDOW : 0);
        p->window_left = v->window ? v->left : -1;
        p->window_right = v->window ? v->right : -1;
    }
    if (v->other_layout)
        p->layout = p->layout == ATTN_BSHD ? ATTN_BHSD : ATTN_BSHD;
    p->scale = v->scale != 0 ? v->scale : p->scale;
    p->outputs = v->outputs ? v->outputs : p->outputs;
    p->batch = v->batch ? v->batch : p->batch;
    p->q_heads = v->q_heads ? v->q_heads : p->q_heads;
    p->kv_heads = v->kv_heads ? v->kv_heads : p->kv_heads;
    p->q_len = v->q_len ? v->q_len : p->q_len;
    p->kv_len = v->kv_len ? v->kv_len : p->kv_len;
    p->qk_dim = v->qk_dim ? v->qk_dim : p->qk_dim;
    p->v_dim = v->v_dim ? v->v_dim : p->v_dim;
}

static bool run(struct checker *checker, const char *phase, const struct attn_problem *problem)
{
    struct trial trial;
    bool unsupported;
    const unsigned turn = checker->trials++;
    const struct problem_case c = check_case_of(checker, problem);
    if (!check_trial_open(&trial, checker, phase, &c, check_layout(turn), CHECK_EVERY_COUNT,
                          &unsupported))
        return unsupported;
    for (unsigned n = PATTERNS_Q; n <= PATTERNS_V; n++)
        patterns_normal(&trial.set, problem, n, random_key(turn, n), 0, 1);
    tensors_seal(&trial.set, problem);
    const bool right = check_trial_judge(&trial, SIZE_MAX);
    check_trial_close(&trial);
    return right;
}

/* Where variations start from: few heads, since shorter lengths do not make up for many heads. */
static struct attn_problem fewer_heads(const struct attn_problem *small)
{
    struct attn_problem p = *small;
    const size_t group = p.q_heads / p.kv_heads;
    p.kv_heads = p.kv_heads > 2 ? 2 : p.kv_heads;
    p.q_heads = p.kv_heads * (group > 8 ? 8 : group);
    return check_shrink(&p, LIMIT);
}

bool check_variations(struct checker *checker, const struct attn_problem *small)
{
    const struct attn_problem start = fewer_heads(small);
    for (size_t n = 0; n < sizeof variations / sizeof *variations; n++) {
        struct attn_problem problem = start;
        vary(&problem, &variations[n]);
        problem = check_shrink(&problem, LIMIT);
        if (!run(checker, variations[n].phase, &problem))
            return false;
    }
    return true;
}
