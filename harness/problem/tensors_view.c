/*
 * tensors_view: computes shapes, strides and bytes of operands and results.
 */
#include "tensors_view.h"

#include <unistd.h>

/* ---- operands ------------------------------------------------------------------------------ */

/* `packed`: the view has all sequences as one. */
static struct tensors_view rows_of(const struct attn_problem *p, size_t batch, size_t heads,
                                   size_t rows, size_t cols, bool packed)
{
    return (struct tensors_view){.batch = batch,
                                 .heads = heads,
                                 .rows = rows,
                                 .cols = cols,
                                 .order = p->layout,
                                 .dense = 3,
                                 .shared = packed,
                                 .rows_apart = true};
}

/* Queries, or their results. */
static struct tensors_view queries(const struct attn_problem *p, const struct tensors_shape *shape,
                                   size_t cols)
{
    const bool packed = p->options & ATTN_OPTION_PACKED;
    return rows_of(p, packed ? 1 : p->batch, p->q_heads, packed ? shape->q_rows : p->q_len, cols,
                   packed);
}

static struct tensors_view keys(const struct attn_problem *p, const struct tensors_shape *shape,
                                size_t cols)
{
    const bool paged = p->options & ATTN_OPTION_PAGED, packed = attn_keys_packed(p);
    if (paged)
        return rows_of(p, shape->pages, p->kv_heads, p->page_size, cols, packed);
    return rows_of(p, packed ? 1 : p->batch, p->kv_heads, packed ? shape->kv_rows : p->kv_len, cols,
                   packed);
}

/* An operand of four dimensions; one of size 1 is shared. */
static struct tensors_view broadcast(const size_t dims[4])
{
    struct tensors_view view = {.batch = dims[0],
                                .heads = dims[1],
                                .rows = dims[2],
                                .cols = dims[3],
                                .order = ATTN_BHSD,
                                .dense = 3};
    for (unsigned n = 0; n < 3; n++)
        view.shared |= (unsigned)(dims[n] == 1) << n;
    return view;
}

/* Scales; those of tokens are a row. */
static struct tensors_view scales(const size_t dims[4])
{
    struct tensors_view view = broadcast(dims);
    if (dims[3] > 1)
        return view;
    view.rows = 1;
    view.cols = dims[2];
    view.dense = 2;
    view.shared |= 1u << 3;
    return view;
}

/* `rows` rows of numbers. */
static struct tensors_view table(size_t rows, size_t cols)
{
    return (struct tensors_view){
        .batch = rows, .heads = 1, .rows = 1, .cols = cols, .order = ATTN_BHSD, .dense = 1};
}

/* A number for each query of each sequence; packed: the view has all sequences as one. */
static struct tensors_view drafts(const struct attn_problem *p, const struct tensors_shape *shape)
{
    const bool packed = p->options & ATTN_OPTION_PACKED;
    struct tensors_view view = table(packed ? 1 : p->batch, packed ? shape->q_rows : p->q_len);
    view.shared = packed;
    return view;
}

/* Lists of keys of each KV head, likewise. */
static struct tensors_view lists(const struct attn_problem *p, const struct tensors_shape *shape)
{
    const bool packed = p->options & ATTN_OPTION_PACKED;
    struct tensors_view view =
        rows_of(p, packed ? 1 : p->batch, p->kv_heads,
                packed ? shape->lists : attn_lists(p, p->q_len), p->index_count, packed);
    view.order = ATTN_BHSD;
    view.rows_apart = false;
    return view;
}

static struct tensors_view vector(size_t cols)
{
    return (struct tensors_view){.batch = 1, .heads = 1, .rows = 1, .cols = cols, .dense = 0};
}

static struct tensors_view rows(const struct attn_problem *p, const struct tensors_shape *shape,
                                enum operand_id id)
{
    if (id == OPERAND_Q)
        return queries(p, shape, p->qk_dim);
    struct tensors_view view = keys(p, shape, id == OPERAND_K ? p->qk_dim : p->v_dim);
    view.wide = id == OPERAND_V;
    return view;
}

/* Sizes and strides of an operand. */
static struct tensors_view layout_of(const struct attn_problem *p,
                                     const struct tensors_shape *shape, enum operand_id id)
{
    const void *dims = (const char *)shape + operand_table[id].dims;
    switch (operand_table[id].kind) {
    case OPERAND_ROWS:
        return rows(p, shape, id);
    case OPERAND_BROADCAST:
        return broadcast(dims);
    case OPERAND_SCALES:
        return scales(dims);
    case OPERAND_DRAFTS:
        return drafts(p, shape);
    case OPERAND_HEADS:
        return vector(p->q_heads);
    case OPERAND_LENGTHS:
        return vector(p->batch);
    case OPERAND_OFFSETS:
        return vector(p->batch + 1);
    case OPERAND_PAGES:
        return table(p->batch, shape->table_cols);
    case OPERAND_LISTS:
        break;
    }
    return lists(p, shape);
}

struct tensors_view tensors_operand(const struct attn_problem *p, const struct tensors_shape *shape,
                                    enum operand_id id)
{
    struct tensors_view view = layout_of(p, shape, id);
    view.name = operand_table[id].name;
    view.id = id;
    view.dtype = id == OPERAND_Q                              ? p->dtype
                 : id == OPERAND_BIAS                         ? shape->bias_dtype
                 : operand_table[id].dtype < ATTN_DTYPE_COUNT ? operand_table[id].dtype
                                                              : p->kv_dtype;
    return view;
}

/* The tensor at an offset of struct attn_tensors; NULL if t is. */
static struct attn_tensor *member(const struct attn_tensors *t, size_t offset)
{
    return t ? (struct attn_tensor *)((const char *)t + offset) : NULL;
}

size_t tensors_operands(const struct attn_tensors *t, const struct attn_problem *p,
                        const struct tensors_shape *shape,
                        struct tensors_view views[TENSORS_OPERANDS])
{
    size_t count = 0;
    for (enum operand_id id = 0; id < OPERANDS; id++) {
        if (!operands_has(p, id))
            continue;
        views[count] = tensors_operand(p, shape, id);
        views[count++].t = member(t, operand_table[id].offset);
    }
    return count;
}

size_t tensors_results(const struct attn_tensors *t, const struct attn_problem *p,
                       const struct tensors_shape *shape,
                       struct tensors_view views[TENSORS_RESULTS])
{
    const enum attn_dtype type = attn_statistics_dtype(p);
    struct tensors_view lse = queries(p, shape, 0), weights = queries(p, shape, p->kv_len);
    lse.cols = lse.rows;
    lse.rows = 1;
    lse.dense = 2;
    lse.order = weights.order = ATTN_BHSD;
    lse.rows_apart = weights.rows_apart = false;
    const struct {
        unsigned output;
        const char *name;
        size_t offset; /* in struct attn_tensors */
        enum attn_dtype dtype;
        struct tensors_view view;
    } results[TENSORS_RESULTS] = {
        {ATTN_OUTPUT_O, "o", offsetof(struct attn_tensors, o), p->dtype,
         queries(p, shape, p->v_dim)},
        {ATTN_OUTPUT_LSE, "lse", offsetof(struct attn_tensors, lse), type, lse},
        {ATTN_OUTPUT_WEIGHTS, "weights", offsetof(struct attn_tensors, weights), type, weights},
        {ATTN_OUTPUT_SCORES, "scores", offsetof(struct attn_tensors, scores), type, weights},
    };
    size_t count = 0;
    for (size_t n = 0; n < TENSORS_RESULTS; n++) {
        if (!(p->outputs & results[n].output))
            continue;
        struct tensors_view *view = &views[count++];
        *view = results[n].view;
        view->name = results[n].name;
        view->id = OPERANDS;
        view->t = member(t, results[n].offset);
        view->dtype = results[n].dtype;
    }
    return count;
}

void tensors_complete(struct attn_tensors *t, const struct attn_problem *p,
                      const struct tensors_shape *shape)
{
    if (p->options & ATTN_OPTION_SHARED_KV)
        t->v = t->k;
    t->pages = shape->pages;
    t->q_rows = shape->q_rows;
    t->kv_rows = shape->kv_rows;
}

/* ---- memory -------------------------------------------------------------------------------- */

size_t tensors_pitch(const struct tensors_view *view, size_t padding)
{
    const size_t cols = view->cols + (view->wide ? 2 : 1) * padding;
    return view->dtype == ATTN_I4 ? cols + cols % 2 : cols; /* rows begin at whole bytes */
}

size_t tensors_positions(const struct tensors_view *view, size_t padding)
{
    return view->rows + (view->rows_apart && padding);
}

void tensors_point(const struct tensors_view *view, void *data, size_t padding)
{
    const ptrdiff_t row = (ptrdiff_t)tensors_pitch(view, padding);
    const ptrdiff_t heads = (ptrdiff_t)view->heads,
                    rows = (ptrdiff_t)tensors_positions(view, padding);
    ptrdiff_t *stride = view->t->stride;
    view->t->data = data;
    view->t->dtype = view->dtype;
    stride[0] = heads * rows * row;
    stride[1] = view->order == ATTN_BHSD ? rows * row : row;
    stride[2] = view->order == ATTN_BHSD ? row : heads * row;
    stride[3] = 1;
    stride[view->dense] = 1;
    for (unsigned n = 0; n < 4; n++)
        if (view->shared >> n & 1)
            stride[n] = 0;
}

size_t tensors_extent(const struct tensors_view *view, size_t padding)
{
    const size_t rows = tensors_positions(view, padding), spare = rows - view->rows;
    const size_t row = tensors_pitch(view, padding);
    size_t n;
    if (row < padding || __builtin_mul_overflow(view->batch, view->heads, &n) ||
        __builtin_mul_overflow(n, rows, &n) || __builtin_mul_overflow(n, row, &n))
        return SIZE_MAX;
    if (n) /* no padding after the last element */
        n -= row - view->cols + spare * row * (view->order == ATTN_BHSD ? 1 : view->heads);
    if (view->dtype == ATTN_I4)
        return (n + 1) / 2;
    return __builtin_mul_overflow(n, attn_dtype_size(view->dtype), &n) ? SIZE_MAX : n;
}

size_t tensors_page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

size_t tensors_whole_pages(size_t bytes)
{
    const size_t page = tensors_page();
    return bytes > SIZE_MAX - page ? SIZE_MAX : (bytes + page - 1) / page * page;
}

size_t tensors_area(const struct tensors_view *view, size_t padding, size_t most_shift)
{
    size_t bytes = tensors_extent(view, padding);
    return __builtin_add_overflow(bytes, most_shift, &bytes) ? SIZE_MAX
                                                             : tensors_whole_pages(bytes);
}
