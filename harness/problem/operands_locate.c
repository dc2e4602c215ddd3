/*
 * operands_locate: accepts the types and shapes that a file may have for an operand.
 */
#include "operands_file.h"

#include <stdio.h>
#include <string.h>

#include "kv.h"
#include "tensors_view.h"

#define ANY SIZE_MAX /* a size that the file determines */
#define NEEDED 160   /* bytes of a description of what a problem needs */

/* ---- shapes -------------------------------------------------------------------------------- */

/* Whether the tensor's dimensions broadcast to the last ones of `full` (ANY: any size); the source's first
 * ones are 1. */
static bool broadcast(const struct safetensor *t, const size_t full[4], struct operands_source *s)
{
    const size_t first = 4 - t->rank;
    size_t elements = 1;
    for (size_t n = 4; n-- > 0;) {
        s->dims[n] = n < first ? 1 : t->shape[n - first];
        s->stride[n] = s->dims[n] == 1 ? 0 : elements;
        elements *= s->dims[n];
        if (s->dims[n] != 1 && full[n] != ANY && s->dims[n] != full[n])
            return false;
    }
    return true;
}

/* Whether the tensor has all dimensions of `full`. */
static bool is_full(const struct safetensor *t, const size_t full[4], struct operands_source *s)
{
    bool same = t->rank == 4 && broadcast(t, full, s);
    for (size_t n = 0; same && n < 4; n++)
        same = full[n] == ANY || s->dims[n] == full[n];
    return same;
}

/* (B, S, H * D) */
static bool is_flat(const struct safetensor *t, const size_t full[4], struct operands_source *s)
{
    const size_t heads = full[1], rows = full[2], dim = full[3];
    const struct operands_source source = {
        t, {full[0], heads, rows, dim}, {rows * heads * dim, dim, heads * dim, 1}};
    *s = source;
    return t->rank == 3 && t->shape[0] == full[0] && t->shape[1] == rows &&
           t->shape[2] == heads * dim;
}

/* The same tensor with a first dimension of 1. */
static struct safetensor with_batch(const struct safetensor *t)
{
    struct safetensor whole = *t;
    if (t->rank == 3) {
        whole.rank = 4;
        whole.shape[0] = 1;
        memcpy(whole.shape + 1, t->shape, 3 * sizeof *t->shape);
    }
    return whole;
}

/* ---- operands ------------------------------------------------------------------------------ */

/* The operand searched, and a description of accepted types and shapes. */
struct search {
    const struct attn_problem *p;
    const struct tensors_shape *shape;
    struct tensors_view view; /* sizes that the file determines are 0, or those that it has */
    const struct safetensor *t;
    char needed[NEEDED];
};

/* A size that must match, or ANY if the file determines it. */
static size_t known(size_t size)
{
    return size ? size : ANY;
}

static void say_needed(struct search *s, const char *type, const size_t *dims, size_t rank)
{
    snprintf(s->needed, NEEDED, "%s (", type);
    for (size_t n = 0; n < rank; n++)
        if (dims[n] == ANY)
            message_add(s->needed, NEEDED, "%s*", n ? "," : "");
        else
            message_add(s->needed, NEEDED, "%s%zu", n ? "," : "", dims[n]);
    message_add(s->needed, NEEDED, ")");
}

/* q, k or v */
static bool locate_rows(struct search *s, struct operands_source *source)
{
    const struct tensors_view *view = &s->view;
    const bool nibbles = view->dtype == ATTN_I4; /* two a byte */
    const bool scaled = attn_dtype_scaled(view->dtype), packed = view->shared;
    const bool paged = view->id != OPERAND_Q && s->p->options & ATTN_OPTION_PAGED;
    const size_t full[4] = {known(view->batch), view->heads, known(view->rows),
                            nibbles ? (view->cols + 1) / 2 : view->cols};
    const bool type = nibbles  ? strcmp(s->t->format, "U8") == 0
                      : scaled ? s->t->dtype == view->dtype
                               : safetensors_is_real(s->t);
    say_needed(s,
               nibbles ? "u8"
                       : attn_dtype_name(scaled                      ? view->dtype
                                         : safetensors_is_real(s->t) ? s->t->dtype
                                                                     : ATTN_F32),
               full, 4);
    const struct safetensor whole = packed ? with_batch(s->t) : *s->t;
    if (is_full(&whole, full, source))
        return type;
    return type && !paged && !packed && is_flat(s->t, full, source);
}

/* bias or mask */
static bool locate_mask(struct search *s, struct operands_source *source)
{
    const struct attn_problem *p = s->p;
    const size_t full[4] = {p->batch, p->q_heads, p->q_len, p->kv_len};
    const bool boolean = s->view.id == OPERAND_MASK;
    say_needed(s, boolean ? "bool" : "f32", full, 4);
    message_add(s->needed, NEEDED, " or what broadcasts to it");
    if (s->t->rank < 1 || s->t->rank > 4 || !broadcast(s->t, full, source))
        return false;
    source->dims[3] = p->kv_len;
    return boolean ? safetensors_is_bool(s->t) : safetensors_is_real(s->t);
}

/* k_scale, v_scale, k_zero or v_zero */
static bool locate_scale(struct search *s, struct operands_source *source)
{
    const struct attn_problem *p = s->p;
    const bool packed = attn_keys_packed(p), i4 = p->kv_dtype == ATTN_I4;
    const enum operand_id id = s->view.id;
    const bool k = id == OPERAND_K_SCALE || id == OPERAND_K_ZERO;
    const size_t dim = k ? p->qk_dim : p->v_dim, each = k ? dim : 1;
    const size_t full[4] = {packed ? 1 : p->batch, p->kv_heads,
                            packed ? s->shape->kv_rows : p->kv_len, i4 ? kv_groups(p, dim) : each};
    struct safetensor t = *s->t;
    say_needed(s, "f32", full, 4);
    message_add(s->needed, NEEDED, " or what broadcasts to it");
    if (t.rank == 0 || (t.rank == 1 && t.shape[0] == 1)) /* one for all */
        for (t.rank = 0; t.rank < 4;)
            t.shape[t.rank++] = 1;
    if (t.rank == 3) /* one for each key */
        t.shape[t.rank++] = 1;
    const size_t *scale = k ? s->shape->k_scale : s->shape->v_scale;
    const bool zero = id == OPERAND_K_ZERO || id == OPERAND_V_ZERO;
    if (zero) /* as many as scales */
        say_needed(s, "f32", scale, 4);
    return t.rank == 4 && safetensors_is_real(s->t) && broadcast(&t, full, source) &&
           (!zero || memcmp(source->dims, scale, sizeof source->dims) == 0);
}

/* A number for each head or sequence, offsets, parents (B, Sq) or packed (rows), or rows of a page table,
 * which may be longer. */
static bool locate_numbers(struct search *s, struct operands_source *source)
{
    const struct tensors_view *view = &s->view;
    const struct safetensor *t = s->t;
    const bool integer = view->dtype == ATTN_I32, vector = view->dense == 0;
    const size_t rank = vector || view->shared ? 1 : 2, full[] = {view->batch, view->cols};
    say_needed(s, integer ? "i32" : "f32", full + (2 - rank), rank);
    if (t->rank != rank || (rank == 2 && t->shape[0] != view->batch))
        return false;
    const size_t cols = t->shape[rank - 1];
    *source = (struct operands_source){t, {view->batch, cols, 1, 1}, {cols, 1, 0, 0}};
    if (vector)
        *source = (struct operands_source){t, {cols, 1, 1, 1}, {1, 1, 0, 0}};
    return (cols == view->cols || (view->id == OPERAND_BLOCK_TABLE && cols > view->cols)) &&
           (integer ? safetensors_is_integer(t) : safetensors_is_real(t));
}

/* (B, Hkv, lists, COUNT); packed (Hkv, lists, COUNT) or (1, Hkv, lists, COUNT) */
static bool locate_lists(struct search *s, struct operands_source *source)
{
    const struct tensors_view *view = &s->view;
    const size_t full[4] = {view->batch, view->heads, known(view->rows), view->cols};
    const struct safetensor whole = view->shared ? with_batch(s->t) : *s->t;
    say_needed(s, "i32", full, 4);
    return is_full(&whole, full, source) && safetensors_is_integer(s->t);
}

/* ---- the list ------------------------------------------------------------------------------ */

static bool (*const locate[])(struct search *search, struct operands_source *source) = {
    [OPERAND_ROWS] = locate_rows,       [OPERAND_BROADCAST] = locate_mask,
    [OPERAND_SCALES] = locate_scale,    [OPERAND_DRAFTS] = locate_numbers,
    [OPERAND_HEADS] = locate_numbers,   [OPERAND_LENGTHS] = locate_numbers,
    [OPERAND_OFFSETS] = locate_numbers, [OPERAND_PAGES] = locate_numbers,
    [OPERAND_LISTS] = locate_lists,
};

const struct safetensor *operands_named(const struct operands_file *file, enum operand_id id)
{
    return safetensors_find(file->file, file->prefix, operand_table[id].name);
}

/* The tensor of an operand.  A mask of real numbers is the bias if there is no other. */
static const struct safetensor *find(const struct operands_file *file, enum operand_id id)
{
    const struct safetensor *found = operands_named(file, id);
    if (found || id != OPERAND_BIAS)
        return found;
    found = operands_named(file, OPERAND_MASK);
    return found && safetensors_is_real(found) ? found : NULL;
}

bool operands_locate(const struct operands_file *file, const struct attn_problem *p,
                     enum operand_id id, const struct tensors_shape *shape,
                     struct operands_source *source)
{
    char text[SAFETENSORS_SHAPE_TEXT];
    struct tensors_shape least = *shape; /* a page table has entries for all keys, and maybe more */
    least.table_cols = p->page_size ? kv_pages(p, p->kv_len) : 0;
    struct search search = {p, shape, tensors_operand(p, &least, id), find(file, id), ""};
    if (!search.t)
        return operands_refuse(file, "no tensor %s%s", file->prefix, operand_table[id].name);
    const bool found = locate[operand_table[id].kind](&search, source);
    source->tensor = search.t;
    if (found)
        return true;
    safetensors_print_shape(search.t, text);
    return operands_refuse(file, "%s is %s, the problem needs %s", search.t->name, text,
                           search.needed);
}
