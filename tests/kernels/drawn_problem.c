#include "base/random.h"
#include "drawn_operands.h"

/* Random numbers, and how many were taken. */
struct stream {
    uint64_t key, drawn;
};

static size_t below(struct stream *d, size_t n)
{
    return random_below(d->key, d->drawn++, n);
}

static unsigned bit_of(struct stream *d, unsigned set)
{
    unsigned bits[32] = {0}, n = 0;
    for (unsigned bit = 0; bit < 32; bit++)
        if (set & 1u << bit)
            bits[n++] = bit;
    return bits[below(d, n)];
}

/* One bit in three of the set. */
static unsigned some_of(struct stream *d, unsigned set)
{
    unsigned some = 0;
    for (unsigned bit = 0; bit < 32; bit++)
        if (set & 1u << bit && below(d, 3) == 0)
            some |= 1u << bit;
    return some;
}

const struct drawn_limits drawn_everything = {
    .q_len = 7,
    .kv_len = 24,
    .dim = 40,
    .masks = ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT | ATTN_MASK_BIAS | ATTN_MASK_BOOL |
             ATTN_MASK_TREE,
    .options = ATTN_OPTION_WINDOW | ATTN_OPTION_SOFTCAP | ATTN_OPTION_SINKS | ATTN_OPTION_ALIBI |
               ATTN_OPTION_RAGGED | ATTN_OPTION_PAGED | ATTN_OPTION_PACKED | ATTN_OPTION_SHARED_KV |
               ATTN_OPTION_INDEX | ATTN_OPTION_ZERO_POINTS,
    .dtypes = 1u << ATTN_F32 | 1u << ATTN_BF16 | 1u << ATTN_F16 | 1u << ATTN_F64,
    .kv_dtypes = 1u << ATTN_I8 | 1u << ATTN_F8E4M3 | 1u << ATTN_F8E5M2 | 1u << ATTN_I4,
};

struct attn_problem drawn_problem(const struct drawn_limits *limits, uint64_t seed)
{
    struct stream stream = {.key = random_key(seed, 1)}, *d = &stream;
    struct attn_problem p;
    attn_problem_init(&p);
    p.batch = 1 + below(d, 3);
    p.kv_heads = 1 + below(d, 2);
    p.q_heads = p.kv_heads * (1 + below(d, 3));
    p.q_len = 1 + below(d, below(d, 2) ? limits->q_len : 4);
    p.kv_len = below(d, 4) ? 1 + below(d, limits->kv_len) : p.q_len; /* some are square */
    p.qk_dim = 1 + below(d, limits->dim);
    p.v_dim = 1 + below(d, limits->dim);
    p.dtype = p.kv_dtype = (enum attn_dtype)bit_of(d, limits->dtypes);
    if (limits->kv_dtypes && (below(d, 3) == 0 || limits->quantised))
        p.kv_dtype = (enum attn_dtype)bit_of(d, limits->kv_dtypes);
    p.outputs = 1 + (unsigned)below(d, 7);
    p.mask = limits->must_masks | some_of(d, limits->masks);
    if (p.mask & ATTN_MASK_CAUSAL)
        p.mask &= ~(unsigned)ATTN_MASK_CAUSAL_TOP_LEFT;
    p.options = limits->must_options | some_of(d, limits->options);
    if (p.mask & ATTN_MASK_TREE) {
        p.mask &= ~(unsigned)(ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT);
        p.options &= ~(unsigned)(ATTN_OPTION_WINDOW | ATTN_OPTION_ALIBI);
    }
    if (p.kv_dtype == ATTN_I4)
        p.kv_group = 32 << below(d, 2);
    else
        p.options &= ~(unsigned)ATTN_OPTION_ZERO_POINTS;
    p.layout = below(d, 2) ? ATTN_BSHD : ATTN_BHSD;
    if (p.options & ATTN_OPTION_SHARED_KV && p.v_dim > p.qk_dim)
        p.v_dim = p.qk_dim;
    if (p.options & ATTN_OPTION_SOFTCAP)
        p.softcap = (float[]){0.5f, 3, 30}[below(d, 3)];
    if (p.options & ATTN_OPTION_WINDOW) {
        p.window_left = (ptrdiff_t)below(d, p.kv_len + 2) - 1;
        p.window_right = (ptrdiff_t)below(d, p.kv_len + 2) - 1;
    }
    if (p.options & ATTN_OPTION_PAGED)
        p.page_size = 1 + below(d, below(d, 2) ? 5 : p.kv_len + 3);
    if (p.options & ATTN_OPTION_INDEX) {
        p.index_count = 1 + below(d, p.kv_len + 4);
        p.index_block = 1 + below(d, 4);
    }
    p.scale = (float[]){0, 0, 0.7f, -0.3f}[below(d, 4)];
    return p;
}
