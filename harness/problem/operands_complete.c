/*
 * operands_complete: options from the tensors that there are, then types, then sizes.
 */
#include "operands_complete.h"

#include <stdio.h>
#include <string.h>

#include "base/refuse.h"
#include "lengths.h"
#include "operands_locate.h"

enum operand {
    Q,
    K,
    V,
    BIAS,
    MASK,
    SINKS,
    SLOPES,
    KV_LENS,
    CU_SEQLENS,
    CU_SEQLENS_KV,
    BLOCK_TABLE,
    K_SCALE,
    V_SCALE,
    K_ZERO,
    V_ZERO,
    PARENTS,
    INDICES,
    OPERANDS
};

/* clang-format off */
static const char *const names[OPERANDS] = {
    [Q] = "q", [K] = "k", [V] = "v", [BIAS] = "bias", [MASK] = "mask", [SINKS] = "sinks",
    [SLOPES] = "slopes", [KV_LENS] = "kv_lens", [CU_SEQLENS] = "cu_seqlens",
    [CU_SEQLENS_KV] = "cu_seqlens_kv", [BLOCK_TABLE] = "block_table", [K_SCALE] = "k_scale",
    [V_SCALE] = "v_scale", [K_ZERO] = "k_zero", [V_ZERO] = "v_zero",
    [PARENTS] = "parents", [INDICES] = "indices",
};
/* clang-format on */

/* What is being completed. */
struct completion {
    const struct operands_file *file;
    const char *text;
    struct attn_problem *p;
    const struct safetensor *t[OPERANDS]; /* NULL where the file has none */
    char *message;
    size_t message_size;
};

/* Refuses a tensor that is there: NAME is TYPE (SHAPE), and what is wrong with that. */
static bool refuse_tensor(const struct completion *c, enum operand which, const char *what)
{
    char shape[SAFETENSORS_SHAPE_TEXT];
    safetensors_print_shape(c->t[which], shape);
    return refuse_file(c->message, c->message_size, c->file->path, "%s is %s%s", c->t[which]->name,
                       shape, what);
}

static bool refuse_missing(const struct completion *c, enum operand which, const char *needs)
{
    return refuse_file(c->message, c->message_size, c->file->path, "no tensor %s%s%s",
                       c->file->prefix, names[which], needs);
}

/* ---- options ------------------------------------------------------------------------------- */

static bool complete_masks(const struct completion *c)
{
    const unsigned asked = c->p->mask;
    const struct safetensor *t = c->t[MASK];
    const bool added = t && operands_is_real(t), hides = t && operands_is_bool(t);
    if (t && !added && !hides)
        return refuse_tensor(c, MASK, ", a mask is bool, u8 or real numbers, which are added");
    if (added && c->t[BIAS])
        return refuse_tensor(c, MASK, " and would be added, as the tensor bias is; leave one out");
    if (asked & ATTN_MASK_BOOL && !hides)
        return refuse_missing(c, MASK, " of bool, which mask=bool needs");
    if (asked & ATTN_MASK_BIAS && !added && !c->t[BIAS])
        return refuse_missing(c, BIAS, ", which mask=bias needs");
    if (asked & ATTN_MASK_TREE && !c->t[PARENTS])
        return refuse_missing(c, PARENTS, ", which mask=tree needs");
    c->p->mask |= c->t[PARENTS] ? ATTN_MASK_TREE : 0;
    c->p->mask |= hides ? ATTN_MASK_BOOL : 0;
    c->p->mask |= added || c->t[BIAS] ? ATTN_MASK_BIAS : 0;
    return true;
}

/* Options that are there with a tensor. */
static bool complete_options(const struct completion *c)
{
    static const struct {
        enum operand operand;
        enum attn_option option;
        const char *needs;
    } options[] = {
        {SINKS, ATTN_OPTION_SINKS, ", which sinks=1 needs"},
        {SLOPES, ATTN_OPTION_ALIBI, ", which alibi=1 needs"},
        {KV_LENS, ATTN_OPTION_RAGGED, ", which ragged=1 needs"},
        {CU_SEQLENS, ATTN_OPTION_PACKED, ", which packed=1 needs"},
        {BLOCK_TABLE, ATTN_OPTION_PAGED, ", which page needs"},
        {INDICES, ATTN_OPTION_INDEX, ", which keys=index needs"},
    };
    for (size_t n = 0; n < sizeof options / sizeof *options; n++) {
        if (c->p->options & options[n].option && !c->t[options[n].operand])
            return refuse_missing(c, options[n].operand, options[n].needs);
        c->p->options |= c->t[options[n].operand] ? options[n].option : 0;
    }
    return true;
}

/* Tensors that need each other, and those that exclude each other. */
static bool go_together(const struct completion *c)
{
    const bool shared = c->p->options & ATTN_OPTION_SHARED_KV;
    const bool packed_keys = lengths_pack_keys(c->p);
    const bool scaled = attn_dtype_scaled(c->p->kv_dtype);
    char needs[64];
    snprintf(needs, sizeof needs, ", which k and v of %s need", attn_dtype_name(c->p->kv_dtype));
    if (!c->t[V] && !shared)
        return refuse_missing(c, V, "");
    if (c->t[V] && shared)
        return refuse_tensor(c, V, ", but with shared_kv=1 the values are part of k");
    if (packed_keys && !c->t[CU_SEQLENS_KV])
        return refuse_missing(c, CU_SEQLENS_KV,
                              ", which packed keys need; keys in a cache: kv_lens or block_table");
    if (!packed_keys && c->t[CU_SEQLENS_KV])
        return refuse_tensor(c, CU_SEQLENS_KV,
                             c->t[CU_SEQLENS] ? ", but the keys are in a cache"
                                              : ", but there is no cu_seqlens");
    for (enum operand n = K_SCALE; n <= V_SCALE; n++) {
        if (scaled && !c->t[n])
            return refuse_missing(c, n, needs);
        if (!scaled && c->t[n])
            return refuse_tensor(c, n, ", but k and v are not i8, f8e4m3, f8e5m2 or i4");
    }
    const bool i4 = c->p->kv_dtype == ATTN_I4, zeros = c->t[K_ZERO] || c->t[V_ZERO];
    c->p->options |= i4 && zeros ? ATTN_OPTION_ZERO_POINTS : 0;
    for (enum operand n = K_ZERO; n <= V_ZERO; n++) {
        if (c->p->options & ATTN_OPTION_ZERO_POINTS && !c->t[n])
            return refuse_missing(c, n, ", which kv_zeros=1 needs");
        if (!i4 && c->t[n])
            return refuse_tensor(c, n, ", but k and v are not i4");
    }
    return true;
}

/* ---- types --------------------------------------------------------------------------------- */

static bool complete_types(const struct completion *c)
{
    struct attn_problem *p = c->p;
    const struct safetensor *q = c->t[Q], *k = c->t[K], *v = c->t[V];
    if (!q || !k)
        return refuse_missing(c, q ? K : Q, "");
    if (!operands_is_real(q))
        return refuse_tensor(c, Q, ", not real numbers");
    const bool nibbles = p->kv_dtype == ATTN_I4; /* which no file says */
    if (nibbles && strcmp(k->format, "U8") != 0)
        return refuse_tensor(c, K, ", not u8, which has two elements of i4");
    const bool scaled = nibbles || attn_dtype_scaled(k->dtype);
    if (!scaled && k->dtype != q->dtype)
        return refuse_tensor(c, K, ", of another type than q");
    if (v && strcmp(v->format, k->format) != 0)
        return refuse_tensor(c, V, ", of another type than k");
    if (!parse_gives(c->text, "dtype"))
        p->dtype = q->dtype == ATTN_F64 ? ATTN_F32 : q->dtype; /* double has to be asked for */
    p->kv_dtype = nibbles ? ATTN_I4 : scaled ? k->dtype : p->dtype;
    if (!nibbles)
        p->kv_group = 0;
    return true;
}

/* ---- sizes --------------------------------------------------------------------------------- */

/* The longest of the sequences that a tensor of offsets counts; 1 where it makes no sense, which
 * attn_tensors_valid() finds.  `rows` is more than any can have. */
static size_t longest(const struct safetensor *offsets, size_t rows)
{
    double most = 1;
    for (size_t n = 1; n < offsets->shape[0]; n++) {
        const double length = safetensors_get(offsets, n) - safetensors_get(offsets, n - 1);
        most = length > most ? length : most;
    }
    return most < (double)rows ? (size_t)most : rows;
}

/* A tensor of offsets ends where the rows do. */
static bool ends_with_rows(const struct completion *c, enum operand which, size_t rows)
{
    const struct safetensor *t = c->t[which];
    if (t->rank != 1 || t->shape[0] < 2 || !operands_is_integer(t))
        return refuse_tensor(c, which, ", not i32 or i64 of one element a sequence and one more");
    const size_t last = t->shape[0] - 1;
    const double end = safetensors_get(t, last);
    return end == (double)rows ||
           refuse_file(c->message, c->message_size, c->file->path,
                       "%s[%zu] is %.0f, there are %zu rows", t->name, last, end, rows);
}

/* Rows of sequences behind each other: (H, rows, D) or (1, H, rows, D). */
static bool read_packed(const struct completion *c, enum operand which, enum operand offsets,
                        size_t *heads, size_t *length, size_t *dim, bool given)
{
    const struct safetensor *t = c->t[which];
    if (t->rank != 3 && (t->rank != 4 || t->shape[0] != 1))
        return refuse_tensor(c, which, ", not (H, rows, D) or (1, H, rows, D)");
    const size_t *shape = t->shape + (t->rank - 3);
    if (!ends_with_rows(c, offsets, shape[1]))
        return false;
    *heads = shape[0];
    *dim = shape[2];
    *length = given ? *length : longest(c->t[offsets], shape[1]);
    return true;
}

/* (B, H, S, D), or (B, S, H * D) where the text gives H. */
static bool read_dense(const struct completion *c, enum operand which, size_t *batch, size_t *heads,
                       size_t *length, size_t *dim)
{
    const struct safetensor *t = c->t[which];
    const bool given =
        parse_gives(c->text, which == Q ? "hq" : "hkv") || parse_gives(c->text, "hq");
    if (t->rank == 2)
        return refuse_tensor(c, which, ", not (B, H, S, D); of one head, store x[None, None]");
    if (t->rank == 3 && !given)
        return refuse_tensor(c, which,
                             ": (B, S, H * D) needs hq and hkv in --problem; (H, S, D) is x[None]");
    if (t->rank == 3 && t->shape[2] % *heads)
        return refuse_tensor(c, which, ", whose last dimension its heads do not divide");
    if (t->rank != 3 && t->rank != 4)
        return refuse_tensor(c, which, ", not (B, H, S, D) or (B, S, H * D)");
    *batch = t->shape[0];
    *length = t->shape[t->rank - 2];
    *heads = t->rank == 4 ? t->shape[1] : *heads;
    *dim = t->rank == 4 ? t->shape[3] : t->shape[2] / *heads;
    return true;
}

static bool complete_pages(const struct completion *c)
{
    struct attn_problem *p = c->p;
    const struct safetensor *k = c->t[K], *table = c->t[BLOCK_TABLE];
    if (k->rank != 4)
        return refuse_tensor(c, K, ", not (pages, Hkv, page_size, D)");
    if (table->rank != 2)
        return refuse_tensor(c, BLOCK_TABLE, ", not (B, pages of a sequence)");
    p->kv_heads = k->shape[1];
    p->page_size = k->shape[2];
    p->qk_dim = p->kv_dtype == ATTN_I4 ? p->qk_dim : k->shape[3];
    if (!parse_gives(c->text, "skv") &&
        __builtin_mul_overflow(table->shape[1], p->page_size, &p->kv_len))
        return refuse_tensor(c, BLOCK_TABLE, ", which is too many keys");
    return true;
}

/* The sizes of v are those of k, the last one aside. */
static void complete_v(const struct completion *c)
{
    const struct safetensor *v = c->t[V];
    struct attn_problem *p = c->p;
    const bool flat = v && v->rank == 3 && !lengths_pack_keys(p) && p->kv_heads;
    const size_t last = v && v->rank ? v->shape[v->rank - 1] / (flat ? p->kv_heads : 1) : 0;
    if (p->kv_dtype == ATTN_I4 && v) { /* an odd one has to be given, or is that of k */
        if (!parse_gives(c->text, "dv"))
            p->v_dim = last == (p->qk_dim + 1) / 2 ? p->qk_dim : 2 * last;
    } else if (v && v->rank)
        p->v_dim = last;
    else if (!parse_gives(c->text, "dv"))
        p->v_dim = p->qk_dim;
}

/* COUNT is a dimension of the lists; QUERIES the text's, or what makes so many lists of all queries. */
static bool complete_lists(const struct completion *c)
{
    const struct safetensor *t = c->t[INDICES];
    struct attn_problem *p = c->p;
    if (!t)
        return true;
    const bool packed = p->options & ATTN_OPTION_PACKED, given = parse_gives(c->text, "keys");
    if (t->rank != 4 && (t->rank != 3 || !packed))
        return refuse_tensor(c, INDICES,
                             packed ? ", not (Hkv, lists, COUNT) or (1, Hkv, lists, COUNT)"
                                    : ", not (B, Hkv, lists, COUNT)");
    const size_t lists = t->shape[t->rank - 2], count = t->shape[t->rank - 1];
    if (!lists || !count)
        return refuse_tensor(c, INDICES, ", which is no list");
    if (!given && !packed && lists != p->q_len)
        return refuse_tensor(
            c, INDICES, ": a list of several queries needs keys=index:COUNT:QUERIES in --problem");
    p->index_count = count;
    p->index_block = given ? p->index_block : 1;
    return true;
}

static bool complete_sizes(const struct completion *c)
{
    struct attn_problem *p = c->p;
    size_t batch, dim; /* of k: the reader compares them */
    const bool packed = p->options & ATTN_OPTION_PACKED;
    bool complete = packed ? read_packed(c, Q, CU_SEQLENS, &p->q_heads, &p->q_len, &p->qk_dim,
                                         parse_gives(c->text, "sq"))
                           : read_dense(c, Q, &p->batch, &p->q_heads, &p->q_len, &p->qk_dim);
    if (complete && packed)
        p->batch = c->t[CU_SEQLENS]->shape[0] - 1;
    if (complete && p->options & ATTN_OPTION_PAGED)
        complete = complete_pages(c);
    else if (complete && lengths_pack_keys(p))
        complete = read_packed(c, K, CU_SEQLENS_KV, &p->kv_heads, &p->kv_len, &dim,
                               parse_gives(c->text, "skv"));
    else if (complete)
        complete = read_dense(c, K, &batch, &p->kv_heads, &p->kv_len, &dim);
    if (complete)
        complete_v(c);
    return complete && complete_lists(c);
}

/* A mask with fewer keys than there are would leave the others open. */
static bool masks_reach_all(const struct completion *c)
{
    for (enum operand n = BIAS; n <= MASK; n++) {
        const struct safetensor *t = c->t[n];
        if (t && (!t->rank || t->shape[t->rank - 1] != c->p->kv_len)) {
            char what[64];
            snprintf(what, sizeof what, ", its last dimension must be the %zu keys", c->p->kv_len);
            return refuse_tensor(c, n, what);
        }
    }
    return true;
}

bool operands_complete(const struct operands_file *file, const char *text,
                       struct attn_problem *problem, char *message, size_t message_size)
{
    struct completion c = {file, text, problem, {NULL}, message, message_size};
    for (size_t n = 0; n < OPERANDS; n++)
        c.t[n] = operands_named(file, names[n]);
    return complete_options(&c) && complete_masks(&c) && complete_types(&c) && go_together(&c) &&
           complete_sizes(&c) && masks_reach_all(&c);
}
