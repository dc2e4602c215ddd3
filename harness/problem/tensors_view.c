/*
 * tensors_view: shapes, strides and bytes of operands and results.
 */
#include "tensors_view.h"

#include <string.h>
#include <unistd.h>

size_t tensors_operands(struct attn_tensors *t, const struct attn_problem *p,
                        struct tensors_view views[TENSORS_VIEWS])
{
    const struct tensors_view kv = {
        .dtype = p->kv_dtype,
        .batch = p->batch,
        .heads = p->kv_heads,
        .rows = p->kv_len,
        .order = p->layout,
    };
    views[0] = (struct tensors_view){
        .name = "q",
        .t = &t->q,
        .dtype = p->dtype,
        .batch = p->batch,
        .heads = p->q_heads,
        .rows = p->q_len,
        .cols = p->qk_dim,
        .order = p->layout,
    };
    views[1] = views[2] = kv;
    views[1].name = "k";
    views[1].t = &t->k;
    views[1].cols = p->qk_dim;
    views[2].name = "v";
    views[2].t = &t->v;
    views[2].cols = p->v_dim;
    return 3;
}

size_t tensors_results(struct attn_tensors *t, const struct attn_problem *p,
                       struct tensors_view views[TENSORS_VIEWS])
{
    const struct tensors_view common = {.batch = p->batch, .heads = p->q_heads, .rows = p->q_len};
    size_t n = 0;
    if (p->outputs & ATTN_OUTPUT_O) {
        views[n] = common;
        views[n].name = "o";
        views[n].t = &t->o;
        views[n].dtype = p->dtype;
        views[n].cols = p->v_dim;
        views[n++].order = p->layout;
    }
    if (p->outputs & ATTN_OUTPUT_LSE) {
        views[n] = common;
        views[n].name = "lse";
        views[n].t = &t->lse;
        views[n].rows = 1;
        views[n].cols = p->q_len;
        views[n++].one_row = true;
    }
    if (p->outputs & ATTN_OUTPUT_WEIGHTS) {
        views[n] = common;
        views[n].name = "weights";
        views[n].t = &t->weights;
        views[n++].cols = p->kv_len;
    }
    return n;
}

void tensors_set_strides(const struct tensors_view *view, size_t padding)
{
    const ptrdiff_t row = (ptrdiff_t)(view->cols + padding);
    const ptrdiff_t heads = (ptrdiff_t)view->heads, rows = (ptrdiff_t)view->rows;
    ptrdiff_t *stride = view->t->stride;
    stride[0] = heads * rows * row;
    stride[1] = view->order == ATTN_BHSD ? rows * row : row;
    stride[2] = view->order == ATTN_BHSD ? row : heads * row;
    stride[3] = 1;
    if (view->one_row)
        stride[2] = 1;
}

size_t tensors_extent(const struct tensors_view *view, size_t padding)
{
    size_t row, n;
    if (__builtin_add_overflow(view->cols, padding, &row) ||
        __builtin_mul_overflow(view->batch, view->heads, &n) ||
        __builtin_mul_overflow(n, view->rows, &n) || __builtin_mul_overflow(n, row, &n) ||
        __builtin_mul_overflow(n - padding, attn_dtype_size(view->dtype), &n))
        return SIZE_MAX;
    return n;
}

size_t tensors_page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Four lanes of multiply and fold (as wyhash does with the 128-bit product, wang-yi 2019), so that
 * checking a set costs less than a read of DRAM. */
uint64_t tensors_hash(const void *data, size_t bytes)
{
    uint64_t lane[4] = {1, 2, 3, 4};
    const char *p = data;
    for (size_t at = 0; at < bytes; at += sizeof lane) {
        uint64_t word[4] = {0};
        memcpy(word, p + at, bytes - at < sizeof word ? bytes - at : sizeof word);
        for (int k = 0; k < 4; k++) {
            const unsigned __int128 product =
                (unsigned __int128)(lane[k] ^ word[k]) * 0x9e3779b97f4a7c15u + (unsigned)k + 1;
            lane[k] = (uint64_t)product ^ (uint64_t)(product >> 64);
        }
    }
    uint64_t hash = bytes;
    for (int k = 0; k < 4; k++)
        hash = (hash ^ lane[k]) * 0xbf58476d1ce4e5b9u ^ hash >> 29;
    return hash;
}
