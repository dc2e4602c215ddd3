/*
 * operands_complete: determines options from the tensors present, then types, then sizes.
 */
#include "operands_file.h"

#include <stdio.h>
#include <string.h>

/* The problem to complete. */
struct completion {
    const struct operands_file *file;
    const char *text;
    struct attn_problem *p;
    const struct safetensor *t[OPERANDS]; /* NULL: the file has none */
};

/* Refuses a tensor: "NAME is TYPE (SHAPE)", and why that is wrong. */
static bool refuse_tensor(const struct completion *c, enum operand_id which, const char *what)
{
    char shape[SAFETENSORS_SHAPE_TEXT];
    safetensors_print_shape(c->t[which], shape);
    return operands_refuse(c->file, "%s is %s%s", c->t[which]->name, shape, what);
}

static bool refuse_missing(const struct completion *c, enum operand_id which, const char *needs)
{
    return operands_refuse(c->file, "no tensor %s%s%s", c->file->prefix, operand_table[which].name,
                           needs);
}

/* ---- options ------------------------------------------------------------------------------- */

static bool complete_masks(const struct completion *c)
{
    const unsigned asked = c->p->mask;
    const struct safetensor *t = c->t[OPERAND_MASK];
    const bool added = t && safetensors_is_real(t), hides = t && safetensors_is_bool(t);
    if (t && !added && !hides)
        return refuse_tensor(c, OPERAND_MASK,
                             ", a mask is bool, u8 or real numbers, which are added");
    if (added && c->t[OPERAND_BIAS])
        return refuse_tensor(c, OPERAND_MASK,
                             " and would be added, as the tensor bias is; leave one out");
    if (asked & ATTN_MASK_BOOL && !hides)
        return refuse_missing(c, OPERAND_MASK, " of bool, which mask=bool needs");
    if (asked & ATTN_MASK_BIAS && !added && !c->t[OPERAND_BIAS])
        return refuse_missing(c, OPERAND_BIAS, ", which mask=bias needs");
    c->p->mask |= hides ? ATTN_MASK_BOOL : 0;
    c->p->mask |= added || c->t[OPERAND_BIAS] ? ATTN_MASK_BIAS : 0;
    return true;
}

/* Sets the options that tensors imply; masks may have two names, and zero points also need a type. */
static bool complete_options(const struct completion *c)
{
    for (enum operand_id id = 0; id < OPERANDS; id++) {
        const struct operand *o = &operand_table[id];
        char needs[64];
        if (!o->asked || o->kind == OPERAND_BROADCAST || o->kind == OPERAND_SCALES)
            continue;
        snprintf(needs, sizeof needs, ", which %s needs", o->asked);
        if ((c->p->options & o->options || c->p->mask & o->masks) && !c->t[id])
            return refuse_missing(c, id, needs);
        c->p->options |= c->t[id] ? o->options : 0;
        c->p->mask |= c->t[id] ? o->masks : 0;
    }
    return true;
}

/* Refuses tensors without those that they require, and tensors that exclude each other. */
static bool go_together(const struct completion *c)
{
    const bool packed_keys = attn_keys_packed(c->p), own_v = operands_has(c->p, OPERAND_V);
    char needs[64];
    snprintf(needs, sizeof needs, ", which k and v of %s need", attn_dtype_name(c->p->kv_dtype));
    if (!c->t[OPERAND_V] && own_v)
        return refuse_missing(c, OPERAND_V, "");
    if (c->t[OPERAND_V] && !own_v)
        return refuse_tensor(c, OPERAND_V, ", but with shared_kv=1 the values are part of k");
    if (packed_keys && !c->t[OPERAND_CU_SEQLENS_KV])
        return refuse_missing(c, OPERAND_CU_SEQLENS_KV,
                              ", which packed keys need; keys in a cache: kv_lens or block_table");
    if (!packed_keys && c->t[OPERAND_CU_SEQLENS_KV])
        return refuse_tensor(c, OPERAND_CU_SEQLENS_KV,
                             c->t[OPERAND_CU_SEQLENS] ? ", but the keys are in a cache"
                                                      : ", but there is no cu_seqlens");
    if (c->p->kv_dtype == ATTN_I4 && (c->t[OPERAND_K_ZERO] || c->t[OPERAND_V_ZERO]))
        c->p->options |= ATTN_OPTION_ZERO_POINTS;
    for (enum operand_id id = OPERAND_K_SCALE; id <= OPERAND_V_ZERO; id++) {
        const bool zero = id >= OPERAND_K_ZERO;
        if (operands_has(c->p, id) && !c->t[id])
            return refuse_missing(c, id, zero ? ", which kv_zeros=1 needs" : needs);
        if (!operands_has(c->p, id) && c->t[id])
            return refuse_tensor(c, id,
                                 zero ? ", but k and v are not i4"
                                      : ", but k and v are not i8, f8e4m3, f8e5m2 or i4");
    }
    return true;
}

/* ---- types --------------------------------------------------------------------------------- */

static bool complete_types(const struct completion *c)
{
    struct attn_problem *p = c->p;
    const struct safetensor *q = c->t[OPERAND_Q], *k = c->t[OPERAND_K], *v = c->t[OPERAND_V];
    if (!q || !k)
        return refuse_missing(c, q ? OPERAND_K : OPERAND_Q, "");
    if (!safetensors_is_real(q))
        return refuse_tensor(c, OPERAND_Q, ", not real numbers");
    const bool nibbles = p->kv_dtype == ATTN_I4; /* only the text has it */
    if (nibbles && strcmp(k->format, "U8") != 0)
        return refuse_tensor(c, OPERAND_K, ", not u8, which has two elements of i4");
    const bool scaled = nibbles || attn_dtype_scaled(k->dtype);
    if (!scaled && k->dtype != q->dtype)
        return refuse_tensor(c, OPERAND_K, ", of another type than q");
    if (v && strcmp(v->format, k->format) != 0)
        return refuse_tensor(c, OPERAND_V, ", of another type than k");
    if (!parse_gives(c->text, "dtype"))
        p->dtype = q->dtype == ATTN_F64 ? ATTN_F32 : q->dtype; /* the text must ask for double */
    p->kv_dtype = nibbles ? ATTN_I4 : scaled ? k->dtype : p->dtype;
    p->kv_group = nibbles ? p->kv_group : 0;
    return true;
}

/* ---- sizes --------------------------------------------------------------------------------- */

/* The longest sequence by a tensor of offsets; 1 if it is invalid, which attn_tensors_valid() reports.
 * `rows` bounds all lengths. */
static size_t longest(const struct safetensor *offsets, size_t rows)
{
    double most = 1;
    for (size_t n = 1; n < offsets->shape[0]; n++) {
        const double length = safetensors_get(offsets, n) - safetensors_get(offsets, n - 1);
        most = length > most ? length : most;
    }
    return most < (double)rows ? (size_t)most : rows;
}

/* Refuses a tensor of offsets whose last one is not the number of rows. */
static bool ends_with_rows(const struct completion *c, enum operand_id which, size_t rows)
{
    const struct safetensor *t = c->t[which];
    if (t->rank != 1 || t->shape[0] < 2 || !safetensors_is_integer(t))
        return refuse_tensor(c, which, ", not i32 or i64 of one element a sequence and one more");
    const size_t last = t->shape[0] - 1;
    const double end = safetensors_get(t, last);
    return end == (double)rows || operands_refuse(c->file, "%s[%zu] is %.0f, there are %zu rows",
                                                  t->name, last, end, rows);
}

/* Reads sizes of packed sequences: (H, rows, D) or (1, H, rows, D). */
static bool read_packed(const struct completion *c, enum operand_id which, enum operand_id offsets,
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

/* Reads sizes of (B, H, S, D), or of (B, S, H * D) if the text gives H. */
static bool read_dense(const struct completion *c, enum operand_id which, size_t *batch,
                       size_t *heads, size_t *length, size_t *dim)
{
    const struct safetensor *t = c->t[which];
    const bool given =
        parse_gives(c->text, which == OPERAND_Q ? "hq" : "hkv") || parse_gives(c->text, "hq");
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
    const struct safetensor *k = c->t[OPERAND_K], *table = c->t[OPERAND_BLOCK_TABLE];
    if (k->rank != 4)
        return refuse_tensor(c, OPERAND_K, ", not (pages, Hkv, page_size, D)");
    if (table->rank != 2)
        return refuse_tensor(c, OPERAND_BLOCK_TABLE, ", not (B, pages of a sequence)");
    p->kv_heads = k->shape[1];
    p->page_size = k->shape[2];
    p->qk_dim = p->kv_dtype == ATTN_I4 ? p->qk_dim : k->shape[3];
    if (!parse_gives(c->text, "skv") &&
        __builtin_mul_overflow(table->shape[1], p->page_size, &p->kv_len))
        return refuse_tensor(c, OPERAND_BLOCK_TABLE, ", which is too many keys");
    return true;
}

/* Sets Dv; other sizes of v are those of k. */
static void complete_v(const struct completion *c)
{
    const struct safetensor *v = c->t[OPERAND_V];
    struct attn_problem *p = c->p;
    const bool flat = v && v->rank == 3 && !attn_keys_packed(p) && p->kv_heads;
    const size_t last = v && v->rank ? v->shape[v->rank - 1] / (flat ? p->kv_heads : 1) : 0;
    if (p->kv_dtype == ATTN_I4 && v) { /* an odd Dv must be given, or be k's D */
        if (!parse_gives(c->text, "dv"))
            p->v_dim = last == (p->qk_dim + 1) / 2 ? p->qk_dim : 2 * last;
    } else if (v && v->rank)
        p->v_dim = last;
    else if (!parse_gives(c->text, "dv"))
        p->v_dim = p->qk_dim;
}

/* Sets COUNT, a dimension of the lists, and QUERIES, by the text or by the number of lists. */
static bool complete_lists(const struct completion *c)
{
    const struct safetensor *t = c->t[OPERAND_INDICES];
    struct attn_problem *p = c->p;
    if (!t)
        return true;
    const bool packed = p->options & ATTN_OPTION_PACKED, given = parse_gives(c->text, "keys");
    if (t->rank != 4 && (t->rank != 3 || !packed))
        return refuse_tensor(c, OPERAND_INDICES,
                             packed ? ", not (Hkv, lists, COUNT) or (1, Hkv, lists, COUNT)"
                                    : ", not (B, Hkv, lists, COUNT)");
    const size_t lists = t->shape[t->rank - 2], count = t->shape[t->rank - 1];
    if (!lists || !count)
        return refuse_tensor(c, OPERAND_INDICES, ", which is no list");
    if (!given && !packed && lists != p->q_len)
        return refuse_tensor(
            c, OPERAND_INDICES,
            ": a list of several queries needs keys=index:COUNT:QUERIES in --problem");
    p->index_count = count;
    p->index_block = given ? p->index_block : 1;
    return true;
}

static bool complete_sizes(const struct completion *c)
{
    struct attn_problem *p = c->p;
    size_t batch, dim; /* of k, which operands_file compares with q's */
    const bool packed = p->options & ATTN_OPTION_PACKED;
    bool complete = packed
                        ? read_packed(c, OPERAND_Q, OPERAND_CU_SEQLENS, &p->q_heads, &p->q_len,
                                      &p->qk_dim, parse_gives(c->text, "sq"))
                        : read_dense(c, OPERAND_Q, &p->batch, &p->q_heads, &p->q_len, &p->qk_dim);
    if (complete && packed)
        p->batch = c->t[OPERAND_CU_SEQLENS]->shape[0] - 1;
    if (complete && p->options & ATTN_OPTION_PAGED)
        complete = complete_pages(c);
    else if (complete && attn_keys_packed(p))
        complete = read_packed(c, OPERAND_K, OPERAND_CU_SEQLENS_KV, &p->kv_heads, &p->kv_len, &dim,
                               parse_gives(c->text, "skv"));
    else if (complete)
        complete = read_dense(c, OPERAND_K, &batch, &p->kv_heads, &p->kv_len, &dim);
    if (complete)
        complete_v(c);
    return complete && complete_lists(c);
}

/* Refuses a mask with fewer keys than k has. */
static bool masks_reach_all(const struct completion *c)
{
    char what[64];
    snprintf(what, sizeof what, ", its last dimension must be the %zu keys", c->p->kv_len);
    for (enum operand_id id = OPERAND_BIAS; id <= OPERAND_MASK; id++) {
        const struct safetensor *t = c->t[id];
        if (t && (!t->rank || t->shape[t->rank - 1] != c->p->kv_len))
            return refuse_tensor(c, id, what);
    }
    return true;
}

bool operands_complete(const struct operands_file *file, const char *text,
                       struct attn_problem *problem)
{
    struct completion c = {file, text, problem, {NULL}};
    for (enum operand_id n = 0; n < OPERANDS; n++)
        c.t[n] = operands_named(file, n);
    return complete_options(&c) && complete_masks(&c) && complete_types(&c) && go_together(&c) &&
           complete_sizes(&c) && masks_reach_all(&c);
}
