/*
 * variation: tests options that the problem does not use and the kernel says it supports.
 *
 * A kernel that ignores the scale is right wherever the scale is 1/sqrt(D).  So each variation changes one
 * thing of a small problem, and the kernel is judged on all of its rows.  Values are such that the default,
 * or the nearest other setting, would give a different result.
 */

#include "phases.h"
#include "problem/patterns.h"
#include "base/random.h"

/* Multiply-adds of a variation, milliseconds of reference; there are about 110 variations. */
#define LIMIT 1e6

/* What a variation changes: keys of a problem's text, which are added to the problem's; a mask or a window
 * replaces both.  Members that are 0 change nothing. */
static const struct variation {
    const char *phase, *text;
    bool other_layout, full_mask;
    enum input_scales scales;
    enum input_bias bias;
} variations[] = {
    {"scale almost 0", .text = "scale=1e-30"},
    {"scale of 0.01", .text = "scale=0.01"},
    {"scale of 1", .text = "scale=1"},
    {"scale of 30", .text = "scale=30"},
    {"negative scale", .text = "scale=-0.3"},
    {"negative scale of 30", .text = "scale=-30"},
    {"three sequences", .text = "b=3,sq=21,skv=37"},
    {"a KV head for each query head", .text = "hq=3,hkv=3"},
    {"three query heads to a KV head", .text = "hq=6,hkv=2"},
    {"one KV head", .text = "hq=5,hkv=1"},
    {"one query", .text = "sq=1,skv=67"},
    {"one key", .text = "sq=21,skv=1"},
    {"fewer queries than keys", .text = "sq=35,skv=67"},
    {"more queries than keys", .text = "sq=67,skv=35"},
    {"odd dimensions", .text = "sq=35,skv=67,d=23,dv=37"},
    {"dimensions of 1", .text = "sq=35,skv=67,d=1,dv=1"},
    {"v wider than k", .text = "sq=35,skv=67,d=16,dv=48"},
    {"v narrower than k", .text = "sq=35,skv=67,d=48,dv=16"},
    {"other layout", .text = "", .other_layout = true},
    {"other layout, three sequences", .text = "b=3,hq=4,hkv=2,sq=21,skv=37", .other_layout = true},
    {"lse alone", .text = "outputs=lse"},
    {"o and lse", .text = "outputs=o+lse"},
    {"weights alone", .text = "outputs=weights"},
    {"lse and weights", .text = "outputs=lse+weights"},
    {"o and weights", .text = "outputs=o+weights"},
    {"scores alone", .text = "outputs=scores"},
    {"o, weights and scores", .text = "outputs=o+weights+scores"},
    {"causal, fewer queries than keys", .text = "sq=35,skv=67,mask=causal"},
    {"causal, more queries than keys", .text = "sq=67,skv=35,mask=causal"},
    {"causal_top_left, fewer queries than keys", .text = "sq=35,skv=67,mask=causal_top_left"},
    {"causal_top_left, more queries than keys", .text = "sq=67,skv=35,mask=causal_top_left"},
    {"window to the left", .text = "sq=35,skv=67,window=19"},
    {"window to the right", .text = "sq=35,skv=67,window=-1:19"},
    {"window to both sides", .text = "sq=67,skv=35,window=19:5"},
    {"window of one key", .text = "sq=35,skv=67,window=0:0"},
    {"window wider than all keys", .text = "sq=35,skv=67,window=500:500"},
    {"causal and window", .text = "sq=35,skv=67,mask=causal,window=19"},
    {"causal and window to both sides", .text = "sq=67,skv=35,mask=causal,window=19:5"},
    {"causal_top_left and window", .text = "sq=35,skv=67,mask=causal_top_left,window=19"},
    {"causal_top_left and window to both sides",
     .text = "sq=67,skv=35,mask=causal_top_left,window=19:5"},
    {"boolean mask", .text = "sq=35,skv=67,mask=bool"},
    {"square boolean mask", .text = "sq=67,skv=67,mask=bool"},
    {"boolean mask of each head", .text = "b=2,hq=3,hkv=1,sq=35,skv=67,mask=bool",
     .full_mask = true},
    {"boolean mask and causal", .text = "sq=35,skv=67,mask=causal+bool"},
    {"boolean mask and causal_top_left", .text = "sq=67,skv=35,mask=causal_top_left+bool"},
    {"boolean mask and window", .text = "sq=35,skv=67,mask=bool,window=19:5"},
    {"bias", .text = "sq=35,skv=67,mask=bias"},
    {"bias of each key", .text = "sq=35,skv=67,mask=bias", .bias = INPUT_BIAS_KEYS},
    {"bias of each sequence and head", .text = "b=2,sq=35,skv=67,mask=bias",
     .bias = INPUT_BIAS_FULL},
    {"bias as causal mask", .text = "sq=35,skv=67,mask=bias", .bias = INPUT_BIAS_CAUSAL},
    {"bias and causal", .text = "sq=67,skv=35,mask=causal+bias"},
    {"bias and boolean mask", .text = "sq=35,skv=67,mask=bias+bool"},
    {"softcap of 1", .text = "sq=35,skv=67,softcap=1"},
    {"softcap and boolean mask", .text = "sq=35,skv=67,mask=bool,softcap=1"},
    {"softcap and bias", .text = "sq=35,skv=67,mask=bias,softcap=1"},
    {"sinks", .text = "hq=3,hkv=1,sq=35,skv=67,sinks=1"},
    {"sinks and boolean mask", .text = "sq=35,skv=67,mask=bool,sinks=1"},
    {"alibi", .text = "hq=3,hkv=1,sq=35,skv=67,alibi=1"},
    {"alibi and causal_top_left", .text = "sq=35,skv=67,mask=causal_top_left,alibi=1"},
    {"alibi and sinks", .text = "sq=35,skv=67,sinks=1,alibi=1"},
    {"alibi, softcap and bias", .text = "sq=35,skv=67,mask=bias,softcap=1,alibi=1"},
    {"lengths", .text = "b=4,sq=9,skv=67,ragged=1"},
    {"lengths and causal", .text = "b=4,sq=9,skv=67,mask=causal,ragged=1"},
    {"lengths and boolean mask", .text = "b=4,sq=9,skv=67,mask=bool,ragged=1"},
    {"lengths and alibi", .text = "b=4,sq=9,skv=67,alibi=1,ragged=1"},
    {"lengths of decode", .text = "b=4,sq=1,skv=67,ragged=1"},
    {"packed", .text = "b=4,sq=35,skv=35,packed=1"},
    {"packed and causal", .text = "b=4,sq=35,skv=67,mask=causal,packed=1"},
    {"packed and causal_top_left", .text = "b=4,sq=35,skv=67,mask=causal_top_left,packed=1"},
    {"packed and boolean mask", .text = "b=4,sq=35,skv=67,mask=bool,packed=1"},
    {"packed and sinks, window", .text = "b=4,sq=35,skv=67,window=19:5,sinks=1,packed=1"},
    {"packed queries, lengths, causal", .text = "b=4,sq=9,skv=67,mask=causal,ragged=1,packed=1"},
    {"pages of 16", .text = "b=3,sq=9,skv=67,page=16"},
    {"pages of 5, lengths", .text = "b=4,sq=9,skv=67,ragged=1,page=5"},
    {"pages of one key", .text = "b=2,sq=9,skv=67,page=1"},
    {"pages, boolean mask, causal", .text = "b=2,sq=9,skv=67,mask=causal+bool,page=16"},
    {"pages, packed queries, lengths",
     .text = "b=4,sq=9,skv=67,mask=causal,ragged=1,packed=1,page=16"},
    {"v as a part of k", .text = "hq=5,hkv=1,sq=9,skv=67,d=40,dv=32,shared_kv=1"},
    {"v as a part of k, pages", .text = "hq=5,hkv=1,sq=9,skv=67,d=40,dv=32,page=16,shared_kv=1"},
    {"int8", .text = "sq=35,skv=67,kv_dtype=i8"},
    {"int8, odd dimensions", .text = "sq=35,skv=67,d=23,dv=37,kv_dtype=i8"},
    {"int8 by channels", .text = "b=2,sq=35,skv=67,kv_dtype=i8", .scales = INPUT_SCALES_CHANNEL},
    {"int8, boolean mask, softcap", .text = "sq=35,skv=67,kv_dtype=i8,mask=bool,softcap=1"},
    {"int8, pages, lengths", .text = "b=4,sq=9,skv=67,kv_dtype=i8,ragged=1,page=16"},
    {"int8, packed", .text = "b=4,sq=35,skv=67,kv_dtype=i8,packed=1"},
    {"int8 by heads", .text = "hq=6,hkv=3,sq=35,skv=67,kv_dtype=i8", .scales = INPUT_SCALES_HEAD},
    {"f8e4m3", .text = "sq=35,skv=67,kv_dtype=f8e4m3"},
    {"f8e4m3, odd dimensions", .text = "sq=35,skv=67,d=23,dv=37,kv_dtype=f8e4m3"},
    {"f8e4m3 by heads, one query", .text = "hq=6,hkv=3,sq=1,skv=67,kv_dtype=f8e4m3",
     .scales = INPUT_SCALES_HEAD},
    {"f8e4m3 by channels, pages, lengths",
     .text = "b=4,sq=9,skv=67,kv_dtype=f8e4m3,ragged=1,page=16", .scales = INPUT_SCALES_CHANNEL},
    {"f8e5m2", .text = "sq=35,skv=67,kv_dtype=f8e5m2"},
    {"f8e5m2, odd dimensions, one query", .text = "sq=1,skv=67,d=23,dv=37,kv_dtype=f8e5m2"},
    {"f8e5m2 by tensor, packed, softcap",
     .text = "b=4,sq=35,skv=35,kv_dtype=f8e5m2,softcap=1,packed=1", .scales = INPUT_SCALES_TENSOR},
    {"tree", .text = "sq=35,skv=67,mask=tree"},
    {"tree without a cache", .text = "sq=67,skv=67,mask=tree"},
    {"tree of more drafts than keys", .text = "sq=67,skv=35,mask=tree"},
    {"tree of each sequence", .text = "b=3,hq=4,hkv=2,sq=21,skv=37,mask=tree"},
    {"tree, bias and boolean mask", .text = "sq=35,skv=67,mask=bias+bool+tree"},
    {"tree, softcap and sinks", .text = "sq=35,skv=67,mask=tree,softcap=1,sinks=1"},
    {"tree and lengths", .text = "b=4,sq=9,skv=67,mask=tree,ragged=1"},
    {"trees of packed sequences", .text = "b=4,sq=35,skv=67,mask=tree,packed=1"},
    {"tree, pages, packed queries, lengths",
     .text = "b=4,sq=19,skv=67,mask=tree,ragged=1,packed=1,page=5"},
    {"tree, int8", .text = "sq=35,skv=67,kv_dtype=i8,mask=tree"},
    {"i4", .text = "sq=35,skv=67,d=96,dv=64,kv_dtype=i4"},
    {"i4 in groups of 64, zero points, one query",
     .text = "sq=1,skv=67,d=128,dv=128,kv_dtype=i4,kv_group=64,kv_zeros=1"},
    {"i4, odd dimensions", .text = "sq=35,skv=67,d=23,dv=37,kv_dtype=i4"},
    {"i4, odd dimensions, zero points, one query",
     .text = "sq=1,skv=67,d=51,dv=75,kv_dtype=i4,kv_zeros=1"},
    {"i4 by heads", .text = "hq=6,hkv=3,sq=35,skv=67,kv_dtype=i4,kv_zeros=1",
     .scales = INPUT_SCALES_HEAD},
    {"i4, pages, lengths",
     .text = "b=4,sq=9,skv=67,d=64,dv=40,kv_dtype=i4,kv_zeros=1,ragged=1,page=16"},
    {"i4, packed, softcap, boolean mask",
     .text = "b=4,sq=35,skv=67,kv_dtype=i4,mask=bool,softcap=1,packed=1"},
    {"i4, v as a part of k",
     .text = "hq=5,hkv=1,sq=9,skv=67,d=72,dv=40,kv_dtype=i4,kv_zeros=1,shared_kv=1"},
    {"lists", .text = "hq=6,hkv=2,sq=9,skv=67,keys=index:20"},
    {"lists, one query", .text = "hq=6,hkv=3,sq=1,skv=67,keys=index:20"},
    {"lists of several queries", .text = "sq=35,skv=67,keys=index:20:4"},
    {"lists longer than all keys", .text = "sq=35,skv=67,keys=index:90:35"},
    {"lists, causal", .text = "sq=67,skv=67,mask=causal,keys=index:30:8"},
    {"lists, bias and boolean mask", .text = "sq=35,skv=67,mask=bias+bool,keys=index:30:8"},
    {"lists, window, softcap, alibi, sinks",
     .text = "sq=35,skv=67,window=40:5,softcap=1,sinks=1,alibi=1,keys=index:30:8"},
    {"lists, lengths, pages", .text = "b=4,sq=9,skv=67,ragged=1,page=5,keys=index:20:2"},
    {"lists, packed", .text = "b=4,sq=35,skv=67,packed=1,keys=index:20:4"},
    {"lists, v as a part of k",
     .text = "hq=5,hkv=1,sq=9,skv=67,d=40,dv=32,shared_kv=1,keys=index:20"},
    {"lists, int8", .text = "sq=9,skv=67,kv_dtype=i8,keys=index:20"},
    {"lists, f8e4m3", .text = "sq=9,skv=67,kv_dtype=f8e4m3,keys=index:20:3"},
    {"lists, tree", .text = "sq=9,skv=67,mask=tree,keys=index:30"},
    {"lists, other layout", .text = "hq=4,hkv=2,sq=9,skv=67,keys=index:20", .other_layout = true},
    {"lists, weights", .text = "sq=9,skv=67,keys=index:20:2,outputs=o+weights"},
    {"lists, scores", .text = "sq=9,skv=67,keys=index:20:2,outputs=scores"},
    {"tree, weights", .text = "sq=35,skv=67,mask=tree,outputs=o+weights"},
};

static void vary(struct problem_case *c, const struct variation *v)
{
    struct attn_problem *p = &c->problem;
    if (parse_gives(v->text, "mask") || parse_gives(v->text, "window"))
        parse_change("mask=none,window=-1", p);
    if (parse_gives(v->text, "kv_dtype"))
        p->kv_group = 0;
    parse_change(v->text, p);
    if (parse_gives(v->text, "kv_dtype"))
        kv_set_type(p, p->kv_dtype);
    if (parse_gives(v->text, "mask") && p->mask & ATTN_MASK_TREE)
        p->options &= ~(unsigned)ATTN_OPTION_ALIBI;
    if (p->v_dim > p->qk_dim)
        p->options &= ~(unsigned)ATTN_OPTION_SHARED_KV;
    if (v->other_layout)
        p->layout = p->layout == ATTN_BSHD ? ATTN_BHSD : ATTN_BSHD;
    c->input.mask_full |= v->full_mask;
    c->input.scales = v->scales ? v->scales : c->input.scales;
    c->input.bias = v->bias ? v->bias : c->input.bias;
}

/* Whether LSE must be compared, too: slopes may change all scores of a row equally, which leaves O as it
 * is. */
static bool needs_lse(const struct variation *v)
{
    struct attn_problem alone;
    attn_problem_init(&alone);
    parse_change(v->text, &alone);
    return alone.options & ~(unsigned)ATTN_OPTION_WINDOW;
}

static bool run(struct checker *checker, const char *phase, const struct problem_case *c)
{
    struct trial trial;
    const unsigned turn = checker->trials++;
    if (!trial_open(&trial, checker, phase, c, trial_layout(turn), TRIAL_EVERY_COUNT))
        return checker->result->ok;
    for (unsigned n = PATTERNS_Q; n <= PATTERNS_V; n++)
        patterns_normal(&trial.set, &c->problem, n, random_key(turn, n), 0, 1);
    tensors_seal(&trial.set, &c->problem);
    const bool right = trial_judge(&trial, SIZE_MAX);
    trial_close(&trial);
    return right;
}

/* The problem from which variations start: with few heads, because shorter lengths do not make up for
 * many. */
static struct attn_problem fewer_heads(const struct attn_problem *small)
{
    struct attn_problem p = *small;
    const size_t group = p.q_heads / p.kv_heads;
    p.kv_heads = p.kv_heads > 2 ? 2 : p.kv_heads;
    p.q_heads = p.kv_heads * (group > 8 ? 8 : group);
    return shrink_problem(&p, LIMIT);
}

bool variation_run(struct checker *checker, const struct attn_problem *small)
{
    const struct attn_problem start = fewer_heads(small);
    for (size_t n = 0; n < sizeof variations / sizeof *variations; n++) {
        struct problem_case c = shrink_case(checker, &start);
        vary(&c, &variations[n]);
        c.problem = shrink_problem(&c.problem, LIMIT);
        parse_fit_input(&c.input, &c.problem);
        if (needs_lse(&variations[n]))
            c.problem.outputs |= checker->kernel->caps.outputs & ATTN_OUTPUT_LSE;
        if (!run(checker, variations[n].phase, &c))
            return false;
    }
    return true;
}
