/*
 * tensors_poison: poisons memory that must not be read or must be written, and verifies that afterwards.
 */
#include <string.h>

#include "element.h"
#include "tensors_view.h"

/* Bit patterns by dtype.  Memory that must not be read or written: a signalling NaN; memory that must be
 * written: a quiet NaN with a payload that arithmetic does not produce.  Integers: numbers outside of every
 * range; booleans: neither 0 nor 1. */
uint64_t tensors_padding_poison(enum attn_dtype dtype)
{
    static const uint64_t bits[ATTN_DTYPE_COUNT] = {
        [ATTN_F32] = 0x7fadbeef, [ATTN_BF16] = 0x7fad,
        [ATTN_F16] = 0x7dad,     [ATTN_I8] = 0x80,
        [ATTN_I4] = 0xd,         [ATTN_F8E4M3] = 0x7f,
        [ATTN_F8E5M2] = 0x7d,    [ATTN_I32] = 0x7fadbeef,
        [ATTN_BOOL] = 0xad,      [ATTN_F64] = 0x7ff5adbeefadbeef};
    return bits[dtype];
}

static uint64_t result_poison(enum attn_dtype dtype)
{
    static const uint64_t bits[ATTN_DTYPE_COUNT] = {[ATTN_F32] = 0x7fd1dead,
                                                    [ATTN_BF16] = 0x7fd1,
                                                    [ATTN_F16] = 0x7ed1,
                                                    [ATTN_F64] = 0x7ffd1deaddeaddea};
    return bits[dtype];
}

/* The bits of 1 in a type of Q, K or V; of i4 with a zero point of 8. */
static uint64_t bits_of_one(enum attn_dtype dtype)
{
    uint64_t bits = 0;
    const struct attn_tensor one = {&bits, dtype, {0}};
    tensors_set(&one, 0, 0, 0, 0, dtype == ATTN_I4 ? 9 : 1);
    return bits;
}

static void set_bits(void *row, enum attn_dtype dtype, size_t at, uint64_t bits)
{
    switch (attn_dtype_size(dtype)) {
    case 0:
        attn_set_nibble(row, at, (unsigned)bits);
        return;
    case 8:
        ((uint64_t *)row)[at] = bits;
        return;
    case 4:
        ((uint32_t *)row)[at] = (uint32_t)bits;
        return;
    case 2:
        ((uint16_t *)row)[at] = (uint16_t)bits;
        return;
    default:
        ((uint8_t *)row)[at] = (uint8_t)bits;
    }
}

/* The bits of an element of a result. */
static uint64_t get_bits(const void *row, enum attn_dtype dtype, size_t at)
{
    const size_t bytes = attn_dtype_size(dtype);
    return bytes == 8   ? ((const uint64_t *)row)[at]
           : bytes == 4 ? ((const uint32_t *)row)[at]
                        : ((const uint16_t *)row)[at];
}

/* Row number n of a view, n < rows_of(view). */
struct row {
    size_t b, h, r;
    void *data;
    bool padded; /* false for the last row in memory */
};

static size_t rows_of(const struct tensors_view *view)
{
    return view->batch * view->heads * view->rows;
}

static struct row row_number(const struct tensors_view *view, size_t n)
{
    struct row row = {n / view->rows / view->heads, n / view->rows % view->heads, n % view->rows,
                      NULL, n + 1 < rows_of(view)};
    row.data = attn_row(view->t, row.b, row.h, row.r);
    return row;
}

/* Sets the padding between the rows of a view; for i4 also unused elements in the last byte of a row. */
static void fill_padding(const struct tensors_view *view, size_t padding, uint64_t bits)
{
    const char *end = (const char *)view->t->data + tensors_extent(view, padding);
    const size_t rows = tensors_positions(view, padding), whole = tensors_pitch(view, padding);
    const bool filled = padding || whole > view->cols;
    for (size_t n = 0; filled && n < view->batch * view->heads * rows; n++) {
        char *row = attn_row(view->t, n / rows / view->heads, n / rows % view->heads, n % rows);
        if (row >= end)
            continue; /* the last row in memory has no padding */
        const size_t size = attn_dtype_size(view->dtype), left = (size_t)(end - row);
        const size_t room = size ? left / size : 2 * left;
        for (size_t d = n % rows < view->rows ? view->cols : 0; d < (room < whole ? room : whole);
             d++)
            set_bits(row, view->dtype, d, bits);
    }
}

void tensors_poison_padding(const struct tensors_view *view, size_t padding)
{
    fill_padding(view, padding, tensors_padding_poison(view->dtype));
}

void tensors_poison_whole(const struct tensors_view *view)
{
    const uint64_t bits = tensors_padding_poison(view->dtype);
    const size_t size = view->dtype == ATTN_I4 ? 1 : attn_dtype_size(view->dtype),
                 bytes = tensors_extent(view, 0);
    char *data = view->t->data;
    for (size_t at = 0; at < bytes; at += size)
        memcpy(data + at, &bits, size);
}

void tensors_poison_result(const struct tensors_view *view)
{
    for (size_t n = 0; n < rows_of(view); n++) {
        const struct row row = row_number(view, n);
        for (size_t d = 0; d < view->cols; d++)
            set_bits(row.data, view->dtype, d, result_poison(view->dtype));
    }
}

void tensors_poison(struct tensor_set *set, const struct attn_problem *problem)
{
    struct tensors_view views[TENSORS_RESULTS];
    const size_t count = tensors_results(&set->tensors, problem, &set->shape, views);
    for (size_t v = 0; v < count; v++) {
        tensors_poison_result(&views[v]);
        tensors_poison_padding(&views[v], set->layout.row_padding);
    }
}

bool tensors_show_padding(struct tensor_set *set, const struct attn_problem *problem)
{
    struct tensors_view views[TENSORS_OPERANDS];
    const size_t count = tensors_operands(&set->tensors, problem, &set->shape, views);
    for (size_t v = 0; v < count; v++) {
        if (operand_table[views[v].id].kind == OPERAND_ROWS)
            fill_padding(&views[v], set->layout.row_padding, bits_of_one(views[v].dtype));
    }
    return set->layout.row_padding > 0;
}

/* The sequence of a row of packed queries. */
static size_t sequence_of(const struct attn_problem *p, const struct attn_tensors *t, size_t row)
{
    size_t b = 0;
    while (b + 1 < p->batch && row >= (size_t)((const int32_t *)t->cu_seqlens.data)[b + 1])
        b++;
    return b;
}

/* The spot of an element; LSE has one row per head, with a column for each query. */
static struct tensors_spot spot_of(const struct tensors_view *view, const struct attn_problem *p,
                                   const struct attn_tensors *t, const struct row *row, size_t d)
{
    struct tensors_spot spot = {view->name, row->b, row->h, row->r, d};
    if (view->dense == 2) {
        spot.i = d;
        spot.d = 0;
    }
    if (p->options & ATTN_OPTION_PACKED) {
        spot.b = sequence_of(p, t, spot.i);
        spot.i -= attn_sequence(p, t, spot.b).q_first;
    }
    return spot;
}

/* Finds the first element in columns [from, to) of the rows whose bits are, or are not, `bits`. */
static bool find(const struct tensors_view *view, const struct attn_problem *p,
                 const struct attn_tensors *t, size_t from, size_t to, bool equal, uint64_t bits,
                 struct tensors_spot *spot)
{
    for (size_t n = 0; n < rows_of(view); n++) {
        const struct row row = row_number(view, n);
        if (from >= view->cols && !row.padded)
            continue;
        for (size_t d = from; d < to; d++)
            if ((get_bits(row.data, view->dtype, d) == bits) == equal) {
                *spot = spot_of(view, p, t, &row, d);
                return true;
            }
    }
    return false;
}

/* Whether the results have no unwritten element, or no written padding. */
static bool is_sound(const struct tensor_set *set, const struct attn_problem *problem, bool padding,
                     struct tensors_spot *spot)
{
    struct tensors_view views[TENSORS_RESULTS];
    const size_t count = tensors_results(&set->tensors, problem, &set->shape, views);
    for (size_t v = 0; v < count; v++) {
        const size_t cols = views[v].cols, from = padding ? cols : 0;
        const uint64_t bits = (padding ? tensors_padding_poison : result_poison)(views[v].dtype);
        if (find(&views[v], problem, &set->tensors, from,
                 padding ? cols + set->layout.row_padding : cols, !padding, bits, spot))
            return false;
    }
    return true;
}

bool tensors_written(const struct tensor_set *set, const struct attn_problem *problem,
                     struct tensors_spot *spot)
{
    return is_sound(set, problem, false, spot);
}

bool tensors_padding_intact(const struct tensor_set *set, const struct attn_problem *problem,
                            struct tensors_spot *spot)
{
    return is_sound(set, problem, true, spot);
}

bool tensors_last_written(const struct tensor_set *set, const struct attn_problem *problem,
                          struct tensors_spot *spot)
{
    struct tensors_view views[TENSORS_RESULTS];
    tensors_results(&set->tensors, problem, &set->shape, views);
    if (!(problem->outputs & ATTN_OUTPUT_O))
        return false;
    for (size_t n = rows_of(&views[0]); n-- > 0;) {
        const struct row row = row_number(&views[0], n);
        if (get_bits(row.data, views[0].dtype, views[0].cols - 1) !=
            result_poison(views[0].dtype)) {
            *spot = spot_of(&views[0], problem, &set->tensors, &row, 0);
            return true;
        }
    }
    return false;
}
