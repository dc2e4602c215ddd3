/*
 * tensors_tables: fills lengths, offsets and page tables, and poisons memory that these exclude.
 */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/message.h"
#include "clause.h"
#include "element.h"
#include "kv.h"
#include "lengths.h"
#include "tensors_view.h"

/* ---- lengths and tables -------------------------------------------------------------------- */

/* Fills offsets: the first row of each sequence, and the end of the last one. */
static void set_offsets(const struct attn_tensor *t, const size_t *lengths, size_t batch)
{
    int32_t *offsets = t->data, sum = 0;
    for (size_t b = 0; b < batch; b++) {
        offsets[b] = sum;
        sum += (int32_t)lengths[b];
    }
    offsets[batch] = sum;
}

/* The numbers 0 to n - 1 in a drawn order; free() them. */
static size_t *shuffled(size_t n, uint64_t key)
{
    size_t *numbers = calloc(n, sizeof *numbers);
    for (size_t k = 0; numbers && k < n; k++)
        numbers[k] = k;
    if (numbers)
        random_shuffle(numbers, n, key);
    return numbers;
}

/* Assigns pages to the sequences, those of a prefix to the first one for all; entries after a sequence's last
 * page are -1. */
static bool set_table(struct tensor_set *set, const struct problem_case *c, uint64_t key)
{
    const struct attn_problem *p = &c->problem;
    const struct attn_tensor *t = &set->tensors.block_table;
    size_t *pages = shuffled(set->shape.pages, key);
    const size_t shared = clause_prefix_pages(c);
    size_t next = 0;
    for (size_t b = 0; pages && b < p->batch; b++) {
        const size_t keys = attn_sequence(p, &set->tensors, b).kv_len;
        int32_t *row = (int32_t *)t->data + (ptrdiff_t)b * t->stride[0];
        for (size_t n = 0; n < set->shape.table_cols; n++)
            row[n] = b && n < shared           ? ((int32_t *)t->data)[n]
                     : n * p->page_size < keys ? (int32_t)pages[next++]
                                               : -1;
    }
    free(pages);
    return pages;
}

bool tensors_fill_tables(struct tensor_set *set, const struct problem_case *c, uint64_t stream,
                         struct message message)
{
    const struct attn_problem *p = &c->problem;
    const struct attn_tensors *t = &set->tensors;
    struct lengths lengths = {0};
    bool memory = true;
    if (lengths_vary_q(p) || lengths_vary_kv(p))
        memory = lengths_of(c, &lengths);
    if (memory && lengths_vary_q(p))
        set_offsets(&t->cu_seqlens, lengths.q, p->batch);
    if (memory && attn_keys_packed(p))
        set_offsets(&t->cu_seqlens_kv, lengths.kv, p->batch);
    for (size_t b = 0; memory && p->options & ATTN_OPTION_RAGGED && b < p->batch; b++)
        ((int32_t *)t->kv_lens.data)[b] = (int32_t)lengths.kv[b];
    if (memory && p->options & ATTN_OPTION_PAGED)
        memory = set_table(set, c, random_key(c->input.seed, stream));
    lengths_free(&lengths);
    if (!memory)
        message_print(message, "no memory for tables of %zu sequences", p->batch);
    return memory;
}

/* ---- poison -------------------------------------------------------------------------------- */

/* Poisons a row: integers of 4 and 8 bits, which have no NaN, by numbers [first, first + cols) of a stream. */
static void poison_row(const struct attn_tensor *t, char *row, size_t cols, uint64_t key,
                       uint64_t first)
{
    const size_t size = attn_dtype_size(t->dtype);
    const uint64_t poison = tensors_padding_poison(t->dtype);
    if (t->dtype == ATTN_I4) {
        for (size_t d = 0; d < cols; d++)
            attn_set_nibble(row, d, (unsigned)random_bits(key, first + d) & 15);
    } else if (t->dtype == ATTN_I8) {
        for (size_t d = 0; d < cols; d++)
            row[d] = (char)random_bits(key, first + d);
    } else {
        memcpy(row, &poison, size);
        for (size_t done = 1; done < cols; done *= 2)
            memcpy(row + done * size, row, (cols - done < done ? cols - done : done) * size);
    }
}

/* Poisons rows [from, to) of K or V in a block. */
static void poison_rows(const struct attn_tensor *t, size_t b, size_t heads, size_t from, size_t to,
                        size_t cols, uint64_t key)
{
    for (size_t g = 0; g < heads; g++)
        for (size_t r = from; r < to; r++)
            poison_row(t, attn_row(t, b, g, r), cols, key, (r * heads + g) * cols);
}

/* The number of keys in each page; free() it. */
static size_t *used_of_pages(const struct tensor_set *set, const struct attn_problem *p)
{
    const struct attn_tensor *t = &set->tensors.block_table;
    size_t *used = calloc(set->shape.pages, sizeof *used);
    for (size_t b = 0; used && b < p->batch; b++) {
        const size_t keys = attn_sequence(p, &set->tensors, b).kv_len;
        const int32_t *row = (const int32_t *)t->data + (ptrdiff_t)b * t->stride[0];
        for (size_t first = 0; first < keys; first += p->page_size) {
            const size_t left = keys - first;
            used[row[first / p->page_size]] = left < p->page_size ? left : p->page_size;
        }
    }
    return used;
}

/* Poisons K and V beyond the keys in use, by blocks, which are pages or sequences. */
static bool poison_keys(struct tensor_set *set, const struct attn_problem *p, uint64_t key)
{
    const bool paged = p->options & ATTN_OPTION_PAGED;
    const size_t blocks = paged ? set->shape.pages : p->batch;
    const size_t rows = paged ? p->page_size : p->kv_len;
    size_t *used = paged ? used_of_pages(set, p) : NULL;
    if (paged && !used)
        return false;
#pragma omp parallel for if (blocks * rows * p->qk_dim > TENSORS_PARALLEL)
    for (size_t n = 0; n < blocks; n++) {
        const size_t from = paged ? used[n] : attn_sequence(p, &set->tensors, n).kv_len;
        poison_rows(&set->tensors.k, n, p->kv_heads, from, rows, p->qk_dim, random_key(key, n));
        if (!(p->options & ATTN_OPTION_SHARED_KV))
            poison_rows(&set->tensors.v, n, p->kv_heads, from, rows, p->v_dim, random_key(~key, n));
    }
    free(used);
    return true;
}

/* Poisons the scales of keys beyond the end of a sequence. */
static void poison_scales(struct tensor_set *set, const struct attn_problem *p)
{
    const uint32_t bits = (uint32_t)tensors_padding_poison(ATTN_F32);
    const struct attn_tensors *t = &set->tensors;
    const struct attn_tensor *const both[] = {&t->k_scale, &t->v_scale, &t->k_zero, &t->v_zero};
    const bool zeros = p->options & ATTN_OPTION_ZERO_POINTS;
    for (int n = 0; n < (zeros ? 4 : 2); n++)
        for (size_t b = 0; both[n]->stride[2] && b < p->batch; b++)
            for (size_t g = 0; g < p->kv_heads; g++)
                for (size_t j = attn_sequence(p, &set->tensors, b).kv_len; j < p->kv_len; j++)
                    for (size_t d = 0; d < kv_groups(p, n % 2 ? p->v_dim : p->qk_dim); d++)
                        memcpy((float *)attn_row(both[n], b, g, j) +
                                   (ptrdiff_t)d * both[n]->stride[3],
                               &bits, sizeof bits);
}

bool tensors_poison_tails(struct tensor_set *set, const struct attn_problem *p, uint64_t key,
                          struct message message)
{
    const unsigned cached = ATTN_OPTION_RAGGED | ATTN_OPTION_PAGED;
    if (!(p->options & cached))
        return true;
    if (!poison_keys(set, p, key))
        return refuse(message, "no memory for %zu pages", set->shape.pages);
    if (attn_dtype_scaled(p->kv_dtype))
        poison_scales(set, p);
    return true;
}
