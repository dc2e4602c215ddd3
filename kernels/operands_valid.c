/*
 * operands_valid: whether operands are what their problem says, in one line that names the first that
 * is not.  Kernels do not check: a caller with data of others asks here before it calls one.
 */
#include "operands_content.h"

/* ---- there, and of the right type ------------------------------------------------------------ */

struct operand {
    const char *name;
    const struct attn_tensor *tensor;
    bool needed;
    enum attn_dtype dtype, other; /* it may have either */
    bool packed;                  /* rows of all sequences follow each other */
};

static bool operand_present(const struct operands_inquiry *in, const struct operand *o)
{
    if (!o->needed)
        return true;
    if (!o->tensor->data)
        return attn_operands_refuse(in, "%s is missing", o->name);
    const enum attn_dtype dtype = o->tensor->dtype;
    if ((unsigned)dtype >= ATTN_DTYPE_COUNT)
        return attn_operands_refuse(in, "%s has no data type (%d)", o->name, (int)dtype);
    if (dtype != o->dtype && dtype != o->other)
        return attn_operands_refuse(in, "%s is %s, not %s%s%s", o->name, attn_dtype_name(dtype),
                                    attn_dtype_name(o->dtype), o->other == o->dtype ? "" : " or ",
                                    o->other == o->dtype ? "" : attn_dtype_name(o->other));
    if (o->packed && o->tensor->stride[0] != 0)
        return attn_operands_refuse(in, "%s is packed and has stride[0] %td, not 0", o->name,
                                    o->tensor->stride[0]);
    return true;
}

/* NAME: an operand of that field's name, needed where a condition holds. */
#define OPERAND(NAME, NEEDED, DTYPE, OTHER, PACKED)                                          \
    {                                                                                        \
        .name = #NAME, .tensor = &t->NAME, .needed = NEEDED, .dtype = DTYPE, .other = OTHER, \
        .packed = PACKED                                                                     \
    }

static bool all_present(const struct operands_inquiry *in)
{
    const struct attn_problem *p = in->problem;
    const struct attn_tensors *t = in->tensors;
    const bool packed = p->options & ATTN_OPTION_PACKED, kv_packed = attn_keys_packed(p);
    const bool back = p->pass == ATTN_BACKWARD, scaled = attn_dtype_scaled(p->kv_dtype);
    const unsigned out = p->outputs;
    const enum attn_dtype type = p->dtype, kv = p->kv_dtype, statistics = attn_statistics_dtype(p);
    const struct operand all[] = {
        OPERAND(q, true, type, type, packed),
        OPERAND(k, true, kv, kv, kv_packed),
        OPERAND(v, true, kv, kv, kv_packed),
        OPERAND(o, back || out & ATTN_OUTPUT_O, type, type, packed),
        OPERAND(lse, back || out & ATTN_OUTPUT_LSE, statistics, statistics, packed),
        OPERAND(weights, out & ATTN_OUTPUT_WEIGHTS, statistics, statistics, packed),
        OPERAND(scores, out & ATTN_OUTPUT_SCORES, statistics, statistics, packed),
        OPERAND(bias, p->mask & ATTN_MASK_BIAS, ATTN_F32, type, false),
        OPERAND(mask, p->mask & ATTN_MASK_BOOL, ATTN_BOOL, ATTN_BOOL, false),
        OPERAND(parents, p->mask & ATTN_MASK_TREE, ATTN_I32, ATTN_I32, packed),
        OPERAND(sinks, p->options & ATTN_OPTION_SINKS, ATTN_F32, ATTN_F32, false),
        OPERAND(slopes, p->options & ATTN_OPTION_ALIBI, ATTN_F32, ATTN_F32, false),
        OPERAND(kv_lens, p->options & ATTN_OPTION_RAGGED, ATTN_I32, ATTN_I32, false),
        OPERAND(cu_seqlens, packed, ATTN_I32, ATTN_I32, false),
        OPERAND(cu_seqlens_kv, kv_packed, ATTN_I32, ATTN_I32, false),
        OPERAND(block_table, p->options & ATTN_OPTION_PAGED, ATTN_I32, ATTN_I32, false),
        OPERAND(indices, p->options & ATTN_OPTION_INDEX, ATTN_I32, ATTN_I32, packed),
        OPERAND(k_scale, scaled, ATTN_F32, ATTN_F32, kv_packed),
        OPERAND(v_scale, scaled, ATTN_F32, ATTN_F32, kv_packed),
        OPERAND(k_zero, p->options & ATTN_OPTION_ZERO_POINTS, ATTN_F32, ATTN_F32, kv_packed),
        OPERAND(v_zero, p->options & ATTN_OPTION_ZERO_POINTS, ATTN_F32, ATTN_F32, kv_packed),
        OPERAND(dO, back, type, type, packed),
        OPERAND(dQ, out & ATTN_OUTPUT_DQ, type, type, packed),
        OPERAND(dK, out & ATTN_OUTPUT_DK, type, type, kv_packed),
        OPERAND(dV, out & ATTN_OUTPUT_DV, type, type, kv_packed),
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!operand_present(in, &all[i]))
            return false;
    return true;
}

/* A tensor whose last dimension is number `last`, and of a result how many elements of the others there are;
 * 0: it may lie as it likes. */
struct strided {
    const char *name;
    const struct attn_tensor *tensor;
    bool used;
    int last;
    size_t row, extent[3]; /* of the last dimension; of those before it */
};

/* Rows of a result must not overlap, and the last dimension of every tensor is dense. */
static bool rows_fit(const struct operands_inquiry *in, const struct strided *s)
{
    const ptrdiff_t *stride = s->tensor->stride;
    if (!s->used)
        return true;
    if (s->row > 1 && stride[s->last] != 1)
        return attn_operands_refuse(in, "%s has stride[%d] %td, not 1", s->name, s->last,
                                    stride[s->last]);
    for (int n = 0; n < s->last; n++) {
        const size_t distance = stride[n] < 0 ? -(size_t)stride[n] : (size_t)stride[n];
        if (s->extent[n] > 1 && distance < s->row)
            return attn_operands_refuse(in,
                                        "%s has stride[%d] %td: its rows of %zu elements overlap",
                                        s->name, n, stride[n], s->row);
    }
    return true;
}

static bool all_rows_fit(const struct operands_inquiry *in)
{
    const struct attn_problem *p = in->problem;
    const struct attn_tensors *t = in->tensors;
    const bool packed = p->options & ATTN_OPTION_PACKED;
    const size_t batch = packed ? 1 : p->batch;
    const unsigned out = packed && !t->q_rows ? 0 : p->outputs; /* none has a row */
    const struct strided all[] = {
        {"q", &t->q, true, 3, p->qk_dim, {0}},
        {"k", &t->k, true, 3, p->qk_dim, {0}},
        {"v", &t->v, true, 3, p->v_dim, {0}},
        {"bias", &t->bias, p->mask & ATTN_MASK_BIAS, 3, p->kv_len, {0}},
        {"mask", &t->mask, p->mask & ATTN_MASK_BOOL, 3, p->kv_len, {0}},
        {"parents", &t->parents, p->mask & ATTN_MASK_TREE, 1, p->q_len, {0}},
        {"indices", &t->indices, p->options & ATTN_OPTION_INDEX, 3, p->index_count, {0}},
        {"o", &t->o, out & ATTN_OUTPUT_O, 3, p->v_dim, {batch, p->q_heads, p->q_len}},
        {"lse", &t->lse, out & ATTN_OUTPUT_LSE, 3, 1, {batch, p->q_heads, p->q_len}},
        {"weights",
         &t->weights,
         out & ATTN_OUTPUT_WEIGHTS,
         3,
         p->kv_len,
         {batch, p->q_heads, p->q_len}},
        {"scores",
         &t->scores,
         out & ATTN_OUTPUT_SCORES,
         3,
         p->kv_len,
         {batch, p->q_heads, p->q_len}},
    };
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        if (!rows_fit(in, &all[n]))
            return false;
    return true;
}

/* Rows of i4 begin at bytes, and the groups of a row follow each other. */
static bool nibbles_fit(const struct operands_inquiry *in)
{
    const struct attn_problem *p = in->problem;
    const struct attn_tensors *t = in->tensors;
    const bool zeros = p->options & ATTN_OPTION_ZERO_POINTS;
    const struct {
        const char *name;
        const struct attn_tensor *tensor;
        bool used, rows;
        size_t groups;
    } all[] = {
        {"k", &t->k, true, true, 0},
        {"v", &t->v, true, true, 0},
        {"k_scale", &t->k_scale, true, false, (p->qk_dim - 1) / p->kv_group + 1},
        {"v_scale", &t->v_scale, true, false, (p->v_dim - 1) / p->kv_group + 1},
        {"k_zero", &t->k_zero, zeros, false, (p->qk_dim - 1) / p->kv_group + 1},
        {"v_zero", &t->v_zero, zeros, false, (p->v_dim - 1) / p->kv_group + 1},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const ptrdiff_t *stride = all[i].tensor->stride;
        for (int n = 0; all[i].rows && n < 3; n++)
            if (stride[n] % 2)
                return attn_operands_refuse(
                    in,
                    "%s has stride[%d] %td, and rows of i4 begin at whole bytes: "
                    "their strides are even",
                    all[i].name, n, stride[n]);
        if (all[i].used && all[i].groups > 1 && stride[3] != 0 && stride[3] != 1)
            return attn_operands_refuse(in, "%s has stride[3] %td, neither 0 nor 1", all[i].name,
                                        stride[3]);
    }
    return true;
}

static bool strides_fit(const struct operands_inquiry *in)
{
    const struct attn_problem *p = in->problem;
    const struct attn_tensors *t = in->tensors;
    const ptrdiff_t *scale = t->k_scale.stride;
    if (p->options & ATTN_OPTION_SHARED_KV) {
        if (t->v.data != t->k.data)
            return attn_operands_refuse(in, "v is not where k is, with which it shares its rows");
        for (int n = 0; n < 3; n++)
            if (t->v.stride[n] != t->k.stride[n])
                return attn_operands_refuse(
                    in, "v has stride[%d] %td, k, with which it shares its rows, %td", n,
                    t->v.stride[n], t->k.stride[n]);
    }
    if (!attn_dtype_scaled(p->kv_dtype))
        return true;
    if (p->kv_dtype == ATTN_I4)
        return nibbles_fit(in);
    if (scale[3] != 0 && scale[3] != 1)
        return attn_operands_refuse(in, "k_scale has stride[3] %td, neither 0 nor 1", scale[3]);
    if (scale[3] == 1 && scale[2] != 0)
        return attn_operands_refuse(
            in,
            "k_scale has stride[2] %td and stride[3] 1: scales are one a token or one "
            "a channel, with a stride of 0",
            scale[2]);
    return true;
}

bool attn_tensors_valid(const struct attn_problem *problem, const struct attn_tensors *tensors,
                        char *message, size_t size)
{
    const struct operands_inquiry in = {problem, tensors, message, size};
    const char *why;
    if (!attn_problem_valid(problem, &why))
        return attn_operands_refuse(&in, "%s", why);
    if (tensors->size < sizeof *tensors)
        return attn_operands_refuse(&in, "the size field of the operands is not set");
    return all_present(&in) && all_rows_fit(&in) && strides_fit(&in) &&
           attn_operands_content_fit(&in);
}
