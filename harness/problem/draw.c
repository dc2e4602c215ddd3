/*
 * draw: draws sizes, options and inputs.
 */
#include "draw.h"

#include <assert.h>
#include <stdio.h>

#include "base/random.h"

/* A stream of random numbers, and how many were used. */
struct stream {
    uint64_t key, taken;
};

static size_t below(struct stream *s, size_t n)
{
    return (size_t)random_below(s->key, s->taken++, n);
}

/* Once in n times. */
static bool once_in(struct stream *s, size_t n)
{
    return below(s, n) == 0;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Possible sizes of kernels' blocks of keys that are no powers of two. */
static const size_t blocks[] = {48, 80, 96, 112, 160, 192, 224, 320, 384};
enum { BLOCKS = sizeof blocks / sizeof *blocks };

/* A length of some whole blocks, give or take one, by the problem's number, so that each size is drawn with
 * any seed. */
static size_t whole_blocks(struct stream *s, size_t n)
{
    return blocks[n % BLOCKS] * (2 + below(s, 5)) + n / BLOCKS % 3 - 1;
}

/* A length near a power of two, or any number of two digits. */
static size_t length(struct stream *s, size_t longest_log2)
{
    if (once_in(s, 4))
        return 1 + below(s, 99);
    const size_t n = ((size_t)1 << below(s, longest_log2 + 1)) + below(s, 3);
    return n > 1 ? n - 1 : 1;
}

/* A dimension: of a model, any small one, larger ones with any remainder of 8, or, by the problem's number,
 * each multiple of 8 up to 320 and the two of latent attention. */
static size_t dimension(struct stream *s, size_t n)
{
    static const size_t dims[] = {8, 16, 32, 40, 64, 72, 80, 96, 112, 128, 160, 192, 256};
    const size_t eights = n % 42;
    if (once_in(s, 4))
        return once_in(s, 2) ? 1 + below(s, 40) : 8 * (8 + below(s, 32)) + 1 + n % 7;
    if (once_in(s, 3))
        return dims[below(s, sizeof dims / sizeof *dims)];
    return eights < 40 ? 8 * (1 + eights) : eights == 40 ? 512 : 576;
}

/* Few sequences and heads, or more than a byte has bits or a vector lanes. */
static void draw_heads(struct stream *s, struct attn_problem *p)
{
    static const size_t groups[] = {1, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16};
    p->batch = once_in(s, 8) ? 8 + below(s, 18) : 1 + below(s, 3);
    p->kv_heads = once_in(s, 8) ? 9 + below(s, 9) : 1 + below(s, 3);
    p->q_heads = p->kv_heads * groups[below(s, sizeof groups / sizeof *groups)];
}

static double work(const struct attn_problem *p)
{
    return (double)p->batch * (double)p->q_heads * (double)p->q_len * (double)p->kv_len *
           (double)(p->qk_dim + p->v_dim);
}

static void draw_lengths(struct stream *s, size_t n, struct attn_problem *p)
{
    const bool many = p->batch > 8; /* short ones, so that make_cheap() keeps them */
    p->kv_len = many ? length(s, 7) : once_in(s, 3) ? whole_blocks(s, n) : length(s, 15);
    p->q_len = once_in(s, 4) ? 1 : once_in(s, 2) ? p->kv_len : length(s, many ? 7 : 13);
}

/* Reduces sequences and heads, then dimensions, then queries, then keys, until the work is at most `most`. */
static void make_cheap(struct stream *s, struct attn_problem *p, double most)
{
    if (work(p) > most && p->batch <= 8)
        p->batch = 1;
    if (work(p) > most) {
        p->q_heads /= p->kv_heads;
        p->kv_heads = 1;
    }
    if (work(p) > most)
        p->q_heads = 1;
    if (work(p) > most && once_in(s, 2))
        p->qk_dim = p->v_dim = 8;
    while (work(p) > most)
        if (p->q_len == 1 && (p->qk_dim != 8 || p->v_dim != 8))
            p->qk_dim = p->v_dim = 8;
        else if (p->q_len == 1 && p->kv_len == 1)
            break; /* many sequences, which stay */
        else if (p->q_len == 1)
            p->kv_len /= 2;
        else if (p->q_len > p->kv_len && once_in(s, 2))
            p->kv_len = length(s, 10);
        else
            p->q_len = length(s, 10);
}

/* ---- options --------------------------------------------------------------------------------- */

static void draw_types(struct stream *s, struct attn_problem *p)
{
    static const enum attn_dtype types[] = {ATTN_F32, ATTN_F32,  ATTN_F32,  ATTN_F32,
                                            ATTN_F16, ATTN_BF16, ATTN_BF16, ATTN_F64};
    p->dtype = p->kv_dtype = types[below(s, sizeof types / sizeof *types)];
    if (p->dtype != ATTN_F64 && once_in(s, 8))
        p->kv_dtype =
            (const enum attn_dtype[]){ATTN_I8, ATTN_F8E4M3, ATTN_F8E5M2, ATTN_I4}[below(s, 4)];
    if (p->kv_dtype == ATTN_I4) {
        p->kv_group = once_in(s, 2) ? 64 : 32;
        p->options |= once_in(s, 2) ? ATTN_OPTION_ZERO_POINTS : 0;
    }
    p->layout = once_in(s, 3) ? ATTN_BSHD : ATTN_BHSD;
    if (once_in(s, 3))
        p->outputs |= ATTN_OUTPUT_LSE;
    if (once_in(s, 8))
        p->scale = (float[]){0.7f, -0.3f}[below(s, 2)];
}

static void draw_masks(struct stream *s, struct attn_problem *p)
{
    if (once_in(s, 3))
        p->mask |= once_in(s, 3) ? ATTN_MASK_CAUSAL_TOP_LEFT : ATTN_MASK_CAUSAL;
    else if (once_in(s, 6))
        p->mask |= ATTN_MASK_TREE;
    if (once_in(s, 6))
        p->mask |= ATTN_MASK_BOOL;
    if (once_in(s, 8))
        p->mask |= ATTN_MASK_BIAS;
}

static void draw_options(struct stream *s, struct attn_problem *p)
{
    static const unsigned options[] = {ATTN_OPTION_WINDOW, ATTN_OPTION_SOFTCAP,  ATTN_OPTION_SINKS,
                                       ATTN_OPTION_ALIBI,  ATTN_OPTION_RAGGED,   ATTN_OPTION_PAGED,
                                       ATTN_OPTION_PACKED, ATTN_OPTION_SHARED_KV};
    for (size_t n = 0; n < sizeof options / sizeof *options; n++)
        if (once_in(s, 7))
            p->options |= options[n];
    if (p->batch > 8 && once_in(s, 2)) /* options with values for each sequence */
        p->options |= options[4 + below(s, 3)];
    if (p->q_heads > 32 && once_in(s, 2)) /* options with values for each head */
        p->options |= options[2 + below(s, 2)];
    if (p->kv_len > 2048 &&
        !once_in(s, 3)) /* few problems are long enough for a wide window to hide keys */
        p->options |= ATTN_OPTION_WINDOW;
    if (p->mask & ATTN_MASK_TREE)
        p->options &= ~(unsigned)(ATTN_OPTION_WINDOW | ATTN_OPTION_ALIBI);
    if (p->options & ATTN_OPTION_WINDOW) {
        p->window_left = (ptrdiff_t)below(s, p->kv_len + 1);
        p->window_right = once_in(s, 2) ? -1 : (ptrdiff_t)below(s, p->kv_len + 1);
    }
    if (p->options & ATTN_OPTION_SOFTCAP)
        p->softcap = (float[]){0.5f, 5, 30}[below(s, 3)];
    if (p->options & ATTN_OPTION_PAGED)
        p->page_size = once_in(s, 2) ? 16 : 1 + below(s, 40);
    if (p->options & ATTN_OPTION_SHARED_KV && p->v_dim > p->qk_dim)
        p->v_dim = p->qk_dim;
    if (once_in(s, 7)) {
        p->options |= ATTN_OPTION_INDEX;
        p->index_count = 1 + below(s, p->kv_len + p->kv_len / 4 + 1);
        p->index_block = once_in(s, 2) ? 1 : 1 + below(s, 2 * p->q_len);
    }
}

static void draw_input(struct stream *s, struct problem_case *c)
{
    const struct attn_problem *p = &c->problem;
    struct parse_error error;
    char text[PARSE_TEXT];
    static const char *const scales[] = {"+scales:channel", "+scales:head", "+scales:tensor"};
    const bool own = once_in(s, 2); /* sequences and heads do not share tensors */
    int n = snprintf(text, sizeof text, "normal:%zu%s%s%s%s", 1 + below(s, 1000),
                     own && p->mask & ATTN_MASK_BOOL ? "+mask:elements:0.6:full" : "",
                     own && p->mask & ATTN_MASK_BIAS ? "+bias:full" : "",
                     own && attn_dtype_scaled(p->kv_dtype)
                         ? scales[p->kv_dtype == ATTN_I4 ? 1 + below(s, 2) : below(s, 3)]
                         : "",
                     own && p->options & ATTN_OPTION_INDEX ? "+index:blocks:8" : "");
    const size_t pages = p->options & ATTN_OPTION_PAGED ? p->kv_len / p->page_size : 0;
    if (pages && once_in(s, 2)) {
        const size_t keys = (1 + below(s, pages)) * p->page_size;
        n += snprintf(text + n, sizeof text - (size_t)n, "+prefix:%zu", keys);
        if (p->options & ATTN_OPTION_RAGGED)
            snprintf(text + n, sizeof text - (size_t)n, "+lens:%zu:%zu", keys, p->kv_len);
    }
    if (!parse_input_for(text, p, &c->input, &error))
        assert(!"an input that suits the problem");
}

void draw_case(struct problem_case *c, uint64_t seed, size_t n, double most_work)
{
    struct stream stream = {.key = random_key(seed, n)}, *s = &stream;
    struct attn_problem *p = &c->problem;
    *c = (struct problem_case){.name = ""};
    snprintf(c->name, sizeof c->name, "draw-%zu", n + 1);
    attn_problem_init(p);
    draw_heads(s, p);
    p->qk_dim = dimension(s, n / 2); /* every second problem has options */
    p->v_dim = once_in(s, 4) ? dimension(s, n / 2 + 21) : p->qk_dim;
    draw_lengths(s, n / 2, p);
    make_cheap(s, p, most_work);
    if (n % 2 == 0) {
        p->mask = once_in(s, 2) ? ATTN_MASK_CAUSAL : ATTN_MASK_NONE;
    } else {
        draw_types(s, p);
        draw_masks(s, p);
        draw_options(s, p);
    }
    draw_input(s, c);
}
