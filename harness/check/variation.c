/*
 * variation: options that the problem leaves at their defaults and the kernel says it supports.
 *
 * A kernel that ignores the scale is right wherever the scale is 1/sqrt(D).  So each variation
 * changes a small problem in one place, and the kernel is judged on all rows of it.  Values are
 * such that the default, or the nearest other setting, would give a different result.
 */

#include "adversary.h"
#include "trial.h"
#include "problem/patterns.h"
#include "base/random.h"

/* Multiply-adds of a variation: milliseconds of reference; there are about 110. */
#define LIMIT 1e6

#define CAUSAL ATTN_MASK_CAUSAL
#define TOP_LEFT ATTN_MASK_CAUSAL_TOP_LEFT

#define BOOL ATTN_MASK_BOOL
#define TREE ATTN_MASK_TREE
#define BIAS ATTN_MASK_BIAS
#define SOFTCAP ATTN_OPTION_SOFTCAP
#define SINKS ATTN_OPTION_SINKS
#define ALIBI ATTN_OPTION_ALIBI
#define RAGGED ATTN_OPTION_RAGGED
#define PAGED ATTN_OPTION_PAGED
#define PACKED ATTN_OPTION_PACKED
#define SHARED_KV ATTN_OPTION_SHARED_KV
#define ZEROS ATTN_OPTION_ZERO_POINTS
#define INDEX ATTN_OPTION_INDEX

/* Members that are 0 stay as the problem has them, and options are added to its own.  Exception: a mask
 * or a window replaces the problem's mask and window. */
static const struct variation {
    const char *phase;
    float scale, softcap;
    unsigned mask, options, outputs;
    bool window;
    ptrdiff_t left, right;
    size_t batch, q_heads, kv_heads, q_len, kv_len, qk_dim, v_dim, page, listed, each;
    bool other_layout, full_mask;
    enum attn_dtype kv_dtype; /* with scales */
    size_t group;             /* of i4; 0: 32 */
    enum input_scales scales;
    enum input_bias bias;
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
    {"lse and weights", .outputs = ATTN_OUTPUT_LSE | ATTN_OUTPUT_WEIGHTS},
    {"o and weights", .outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_WEIGHTS},
    {"scores alone", .outputs = ATTN_OUTPUT_SCORES},
    {"o, weights and scores", .outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_WEIGHTS | ATTN_OUTPUT_SCORES},
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
    {"boolean mask", .mask = BOOL, .q_len = 35, .kv_len = 67},
    {"square boolean mask", .mask = BOOL, .q_len = 67, .kv_len = 67},
    {"boolean mask of each head", .mask = BOOL, .full_mask = true, .batch = 2, .q_heads = 3,
     .kv_heads = 1, .q_len = 35, .kv_len = 67},
    {"boolean mask and causal", .mask = BOOL | CAUSAL, .q_len = 35, .kv_len = 67},
    {"boolean mask and causal_top_left", .mask = BOOL | TOP_LEFT, .q_len = 67, .kv_len = 35},
    {"boolean mask and window", .mask = BOOL, .window = true, .left = 19, .right = 5, .q_len = 35,
     .kv_len = 67},
    {"bias", .mask = BIAS, .q_len = 35, .kv_len = 67},
    {"bias of each key", .mask = BIAS, .bias = INPUT_BIAS_KEYS, .q_len = 35, .kv_len = 67},
    {"bias of each sequence and head", .mask = BIAS, .bias = INPUT_BIAS_FULL, .batch = 2,
     .q_len = 35, .kv_len = 67},
    {"bias as causal mask", .mask = BIAS, .bias = INPUT_BIAS_CAUSAL, .q_len = 35, .kv_len = 67},
    {"bias and causal", .mask = BIAS | CAUSAL, .q_len = 67, .kv_len = 35},
    {"bias and boolean mask", .mask = BIAS | BOOL, .q_len = 35, .kv_len = 67},
    {"softcap of 1", .options = SOFTCAP, .softcap = 1, .q_len = 35, .kv_len = 67},
    {"softcap and boolean mask", .mask = BOOL, .options = SOFTCAP, .softcap = 1, .q_len = 35,
     .kv_len = 67},
    {"softcap and bias", .mask = BIAS, .options = SOFTCAP, .softcap = 1, .q_len = 35, .kv_len = 67},
    {"sinks", .options = SINKS, .q_heads = 3, .kv_heads = 1, .q_len = 35, .kv_len = 67},
    {"sinks and boolean mask", .mask = BOOL, .options = SINKS, .q_len = 35, .kv_len = 67},
    {"alibi", .options = ALIBI, .q_heads = 3, .kv_heads = 1, .q_len = 35, .kv_len = 67},
    {"alibi and causal_top_left", .mask = TOP_LEFT, .options = ALIBI, .q_len = 35, .kv_len = 67},
    {"alibi and sinks", .options = ALIBI | SINKS, .q_len = 35, .kv_len = 67},
    {"alibi, softcap and bias", .mask = BIAS, .options = ALIBI | SOFTCAP, .softcap = 1, .q_len = 35,
     .kv_len = 67},
    {"lengths", .options = RAGGED, .batch = 4, .q_len = 9, .kv_len = 67},
    {"lengths and causal", .mask = CAUSAL, .options = RAGGED, .batch = 4, .q_len = 9, .kv_len = 67},
    {"lengths and boolean mask", .mask = BOOL, .options = RAGGED, .batch = 4, .q_len = 9,
     .kv_len = 67},
    {"lengths and alibi", .options = RAGGED | ALIBI, .batch = 4, .q_len = 9, .kv_len = 67},
    {"lengths of decode", .options = RAGGED, .batch = 4, .q_len = 1, .kv_len = 67},
    {"packed", .options = PACKED, .batch = 4, .q_len = 35, .kv_len = 35},
    {"packed and causal", .mask = CAUSAL, .options = PACKED, .batch = 4, .q_len = 35, .kv_len = 67},
    {"packed and causal_top_left", .mask = TOP_LEFT, .options = PACKED, .batch = 4, .q_len = 35,
     .kv_len = 67},
    {"packed and boolean mask", .mask = BOOL, .options = PACKED, .batch = 4, .q_len = 35,
     .kv_len = 67},
    {"packed and sinks, window", .options = PACKED | SINKS, .window = true, .left = 19, .right = 5,
     .batch = 4, .q_len = 35, .kv_len = 67},
    {"packed queries, lengths, causal", .mask = CAUSAL, .options = PACKED | RAGGED, .batch = 4,
     .q_len = 9, .kv_len = 67},
    {"pages of 16", .options = PAGED, .page = 16, .batch = 3, .q_len = 9, .kv_len = 67},
    {"pages of 5, lengths", .options = PAGED | RAGGED, .page = 5, .batch = 4, .q_len = 9,
     .kv_len = 67},
    {"pages of one key", .options = PAGED, .page = 1, .batch = 2, .q_len = 9, .kv_len = 67},
    {"pages, boolean mask, causal", .mask = BOOL | CAUSAL, .options = PAGED, .page = 16, .batch = 2,
     .q_len = 9, .kv_len = 67},
    {"pages, packed queries, lengths", .mask = CAUSAL, .options = PAGED | PACKED | RAGGED,
     .page = 16, .batch = 4, .q_len = 9, .kv_len = 67},
    {"v as a part of k", .options = SHARED_KV, .q_heads = 5, .kv_heads = 1, .qk_dim = 40,
     .v_dim = 32, .q_len = 9, .kv_len = 67},
    {"v as a part of k, pages", .options = SHARED_KV | PAGED, .page = 16, .q_heads = 5,
     .kv_heads = 1, .qk_dim = 40, .v_dim = 32, .q_len = 9, .kv_len = 67},
    {"int8", .kv_dtype = ATTN_I8, .q_len = 35, .kv_len = 67},
    {"int8, odd dimensions", .kv_dtype = ATTN_I8, .qk_dim = 23, .v_dim = 37, .q_len = 35,
     .kv_len = 67},
    {"int8 by channels", .kv_dtype = ATTN_I8, .scales = INPUT_SCALES_CHANNEL, .batch = 2,
     .q_len = 35, .kv_len = 67},
    {"int8, boolean mask, softcap", .kv_dtype = ATTN_I8, .mask = BOOL, .options = SOFTCAP,
     .softcap = 1, .q_len = 35, .kv_len = 67},
    {"int8, pages, lengths", .kv_dtype = ATTN_I8, .options = PAGED | RAGGED, .page = 16, .batch = 4,
     .q_len = 9, .kv_len = 67},
    {"int8, packed", .kv_dtype = ATTN_I8, .options = PACKED, .batch = 4, .q_len = 35, .kv_len = 67},
    {"int8 by heads", .kv_dtype = ATTN_I8, .scales = INPUT_SCALES_HEAD, .q_heads = 6, .kv_heads = 3,
     .q_len = 35, .kv_len = 67},
    {"f8e4m3", .kv_dtype = ATTN_F8E4M3, .q_len = 35, .kv_len = 67},
    {"f8e4m3, odd dimensions", .kv_dtype = ATTN_F8E4M3, .qk_dim = 23, .v_dim = 37, .q_len = 35,
     .kv_len = 67},
    {"f8e4m3 by heads, one query", .kv_dtype = ATTN_F8E4M3, .scales = INPUT_SCALES_HEAD,
     .q_heads = 6, .kv_heads = 3, .q_len = 1, .kv_len = 67},
    {"f8e4m3 by channels, pages, lengths", .kv_dtype = ATTN_F8E4M3, .scales = INPUT_SCALES_CHANNEL,
     .options = PAGED | RAGGED, .page = 16, .batch = 4, .q_len = 9, .kv_len = 67},
    {"f8e5m2", .kv_dtype = ATTN_F8E5M2, .q_len = 35, .kv_len = 67},
    {"f8e5m2, odd dimensions, one query", .kv_dtype = ATTN_F8E5M2, .qk_dim = 23, .v_dim = 37,
     .q_len = 1, .kv_len = 67},
    {"f8e5m2 by tensor, packed, softcap", .kv_dtype = ATTN_F8E5M2, .scales = INPUT_SCALES_TENSOR,
     .options = PACKED | SOFTCAP, .softcap = 1, .batch = 4, .q_len = 35, .kv_len = 35},
    {"tree", .mask = TREE, .q_len = 35, .kv_len = 67},
    {"tree without a cache", .mask = TREE, .q_len = 67, .kv_len = 67},
    {"tree of more drafts than keys", .mask = TREE, .q_len = 67, .kv_len = 35},
    {"tree of each sequence", .mask = TREE, .batch = 3, .q_heads = 4, .kv_heads = 2, .q_len = 21,
     .kv_len = 37},
    {"tree, bias and boolean mask", .mask = TREE | BIAS | BOOL, .q_len = 35, .kv_len = 67},
    {"tree, softcap and sinks", .mask = TREE, .options = SOFTCAP | SINKS, .softcap = 1, .q_len = 35,
     .kv_len = 67},
    {"tree and lengths", .mask = TREE, .options = RAGGED, .batch = 4, .q_len = 9, .kv_len = 67},
    {"trees of packed sequences", .mask = TREE, .options = PACKED, .batch = 4, .q_len = 35,
     .kv_len = 67},
    {"tree, pages, packed queries, lengths", .mask = TREE, .options = PAGED | PACKED | RAGGED,
     .page = 5, .batch = 4, .q_len = 19, .kv_len = 67},
    {"tree, int8", .kv_dtype = ATTN_I8, .mask = TREE, .q_len = 35, .kv_len = 67},
    {"i4", .kv_dtype = ATTN_I4, .qk_dim = 96, .v_dim = 64, .q_len = 35, .kv_len = 67},
    {"i4 in groups of 64, zero points, one query", .kv_dtype = ATTN_I4, .group = 64,
     .options = ZEROS, .qk_dim = 128, .v_dim = 128, .q_len = 1, .kv_len = 67},
    {"i4, odd dimensions", .kv_dtype = ATTN_I4, .qk_dim = 23, .v_dim = 37, .q_len = 35,
     .kv_len = 67},
    {"i4, odd dimensions, zero points, one query", .kv_dtype = ATTN_I4, .options = ZEROS,
     .qk_dim = 51, .v_dim = 75, .q_len = 1, .kv_len = 67},
    {"i4 by heads", .kv_dtype = ATTN_I4, .scales = INPUT_SCALES_HEAD, .options = ZEROS,
     .q_heads = 6, .kv_heads = 3, .q_len = 35, .kv_len = 67},
    {"i4, pages, lengths", .kv_dtype = ATTN_I4, .options = PAGED | RAGGED | ZEROS, .page = 16,
     .batch = 4, .qk_dim = 64, .v_dim = 40, .q_len = 9, .kv_len = 67},
    {"i4, packed, softcap, boolean mask", .kv_dtype = ATTN_I4, .mask = BOOL,
     .options = PACKED | SOFTCAP, .softcap = 1, .batch = 4, .q_len = 35, .kv_len = 67},
    {"i4, v as a part of k", .kv_dtype = ATTN_I4, .options = SHARED_KV | ZEROS, .q_heads = 5,
     .kv_heads = 1, .qk_dim = 72, .v_dim = 40, .q_len = 9, .kv_len = 67},
    {"lists", .options = INDEX, .listed = 20, .each = 1, .q_heads = 6, .kv_heads = 2, .q_len = 9,
     .kv_len = 67},
    {"lists, one query", .options = INDEX, .listed = 20, .each = 1, .q_heads = 6, .kv_heads = 3,
     .q_len = 1, .kv_len = 67},
    {"lists of several queries", .options = INDEX, .listed = 20, .each = 4, .q_len = 35,
     .kv_len = 67},
    {"lists longer than all keys", .options = INDEX, .listed = 90, .each = 35, .q_len = 35,
     .kv_len = 67},
    {"lists, causal", .mask = CAUSAL, .options = INDEX, .listed = 30, .each = 8, .q_len = 67,
     .kv_len = 67},
    {"lists, bias and boolean mask", .mask = BIAS | BOOL, .options = INDEX, .listed = 30, .each = 8,
     .q_len = 35, .kv_len = 67},
    {"lists, window, softcap, alibi, sinks", .options = INDEX | SOFTCAP | ALIBI | SINKS,
     .softcap = 1, .window = true, .left = 40, .right = 5, .listed = 30, .each = 8, .q_len = 35,
     .kv_len = 67},
    {"lists, lengths, pages", .options = INDEX | RAGGED | PAGED, .page = 5, .listed = 20, .each = 2,
     .batch = 4, .q_len = 9, .kv_len = 67},
    {"lists, packed", .options = INDEX | PACKED, .listed = 20, .each = 4, .batch = 4, .q_len = 35,
     .kv_len = 67},
    {"lists, v as a part of k", .options = INDEX | SHARED_KV, .listed = 20, .each = 1, .q_heads = 5,
     .kv_heads = 1, .qk_dim = 40, .v_dim = 32, .q_len = 9, .kv_len = 67},
    {"lists, int8", .kv_dtype = ATTN_I8, .options = INDEX, .listed = 20, .each = 1, .q_len = 9,
     .kv_len = 67},
    {"lists, f8e4m3", .kv_dtype = ATTN_F8E4M3, .options = INDEX, .listed = 20, .each = 3,
     .q_len = 9, .kv_len = 67},
    {"lists, tree", .mask = TREE, .options = INDEX, .listed = 30, .each = 1, .q_len = 9,
     .kv_len = 67},
    {"lists, other layout", .options = INDEX, .other_layout = true, .listed = 20, .each = 1,
     .q_heads = 4, .kv_heads = 2, .q_len = 9, .kv_len = 67},
    {"lists, weights", .options = INDEX, .outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_WEIGHTS,
     .listed = 20, .each = 2, .q_len = 9, .kv_len = 67},
    {"lists, scores", .options = INDEX, .outputs = ATTN_OUTPUT_SCORES, .listed = 20, .each = 2,
     .q_len = 9, .kv_len = 67},
    {"tree, weights", .mask = TREE, .outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_WEIGHTS, .q_len = 35,
     .kv_len = 67},
};

static void vary_options(struct problem_case *c, const struct variation *v)
{
    struct attn_problem *p = &c->problem;
    if (v->mask || v->window) {
        p->mask = v->mask;
        p->options =
            (p->options & ~(unsigned)ATTN_OPTION_WINDOW) | (v->window ? ATTN_OPTION_WINDOW : 0);
        p->window_left = v->window ? v->left : -1;
        p->window_right = v->window ? v->right : -1;
    }
    if (v->mask & TREE)
        p->options &= ~(unsigned)ALIBI;
    p->options |= v->options;
    p->softcap = v->softcap != 0 ? v->softcap : p->softcap;
    p->page_size = v->page ? v->page : p->page_size;
    if (v->kv_dtype) {
        p->kv_group = v->group;
        kv_set_type(p, v->kv_dtype);
    }
    p->index_count = v->listed ? v->listed : p->index_count;
    p->index_block = v->each ? v->each : p->index_block;
    p->scale = v->scale != 0 ? v->scale : p->scale;
    p->outputs = v->outputs ? v->outputs : p->outputs;
    c->input.mask_full |= v->full_mask;
    c->input.scales = v->scales ? v->scales : c->input.scales;
    c->input.bias = v->bias ? v->bias : c->input.bias;
}

static void vary_sizes(struct attn_problem *p, const struct variation *v)
{
    if (v->other_layout)
        p->layout = p->layout == ATTN_BSHD ? ATTN_BHSD : ATTN_BSHD;
    p->batch = v->batch ? v->batch : p->batch;
    p->q_heads = v->q_heads ? v->q_heads : p->q_heads;
    p->kv_heads = v->kv_heads ? v->kv_heads : p->kv_heads;
    p->q_len = v->q_len ? v->q_len : p->q_len;
    p->kv_len = v->kv_len ? v->kv_len : p->kv_len;
    p->qk_dim = v->qk_dim ? v->qk_dim : p->qk_dim;
    p->v_dim = v->v_dim ? v->v_dim : p->v_dim;
    if (p->v_dim > p->qk_dim)
        p->options &= ~(unsigned)ATTN_OPTION_SHARED_KV;
}

static bool run(struct checker *checker, const char *phase, const struct problem_case *c)
{
    struct trial trial;
    bool unsupported;
    const unsigned turn = checker->trials++;
    if (!check_trial_open(&trial, checker, phase, c, check_layout(turn), CHECK_EVERY_COUNT,
                          &unsupported))
        return unsupported;
    for (unsigned n = PATTERNS_Q; n <= PATTERNS_V; n++)
        patterns_normal(&trial.set, &c->problem, n, random_key(turn, n), 0, 1);
    tensors_seal(&trial.set, &c->problem);
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
        struct problem_case c = check_case_of(checker, &start);
        vary_options(&c, &variations[n]);
        vary_sizes(&c.problem, &variations[n]);
        c.problem = check_shrink(&c.problem, LIMIT);
        parse_fit_input(&c.input, &c.problem);
        if (variations[n]
                .options) /* O does not change where all scores do, as slopes may make them */
            c.problem.outputs |= checker->kernel->caps.outputs & ATTN_OUTPUT_LSE;
        if (!run(checker, variations[n].phase, &c))
            return false;
    }
    return true;
}
