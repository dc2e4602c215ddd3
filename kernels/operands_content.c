/*
 * operands_content: whether what operands hold is possible: lengths, offsets, pages, parents, lists of keys,
 * bytes of the mask.
 */
#include <stdarg.h>
#include <stdio.h> /* text into memory alone */

#include "operands_content.h"

bool attn_operands_refuse(const struct operands_inquiry *in, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(in->message, in->size, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- lengths, offsets and pages -------------------------------------------------------------- */

static bool lengths_fit(const struct operands_inquiry *in)
{
    const struct attn_problem *p = in->problem;
    const int32_t *lens = in->tensors->kv_lens.data;
    if (!(p->options & ATTN_OPTION_RAGGED))
        return true;
    for (size_t b = 0; b < p->batch; b++) {
        if (lens[b] < 0)
            return attn_operands_refuse(in, "kv_lens[%zu] is %d, below 0", b, lens[b]);
        if ((size_t)lens[b] > p->kv_len)
            return attn_operands_refuse(in, "kv_lens[%zu] is %d, there is room for %zu keys", b,
                                        lens[b], p->kv_len);
    }
    return true;
}

/* Offsets of sequences of at most `most` rows among `rows`. */
static bool offsets_fit(const struct operands_inquiry *in, const char *name,
                        const struct attn_tensor *t, size_t most, size_t rows)
{
    const int32_t *first = t->data;
    const size_t batch = in->problem->batch;
    if (first[0] != 0)
        return attn_operands_refuse(in, "%s[0] is %d, not 0", name, first[0]);
    for (size_t b = 1; b <= batch; b++) {
        if (first[b] < first[b - 1])
            return attn_operands_refuse(in, "%s[%zu] is %d, below the %d before it", name, b,
                                        first[b], first[b - 1]);
        if ((size_t)(first[b] - first[b - 1]) > most)
            return attn_operands_refuse(
                in, "%s[%zu] is %d, %d more than before, a sequence has %zu at most", name, b,
                first[b], first[b] - first[b - 1], most);
    }
    if ((size_t)first[batch] > rows)
        return attn_operands_refuse(in, "%s[%zu] is %d, there are %zu rows", name, batch,
                                    first[batch], rows);
    return true;
}

static bool all_offsets_fit(const struct operands_inquiry *in)
{
    const struct attn_problem *p = in->problem;
    const struct attn_tensors *t = in->tensors;
    if (!(p->options & ATTN_OPTION_PACKED))
        return true;
    return offsets_fit(in, "cu_seqlens", &t->cu_seqlens, p->q_len, t->q_rows) &&
           (!attn_keys_packed(p) ||
            offsets_fit(in, "cu_seqlens_kv", &t->cu_seqlens_kv, p->kv_len, t->kv_rows));
}

/* Pages that a sequence has keys in; the rest of its row of the table is not looked at. */
static bool pages_fit(const struct operands_inquiry *in)
{
    const struct attn_problem *p = in->problem;
    const struct attn_tensors *t = in->tensors;
    if (!(p->options & ATTN_OPTION_PAGED))
        return true;
    for (size_t b = 0; b < p->batch; b++) {
        const int32_t *table =
            (const int32_t *)t->block_table.data + (ptrdiff_t)b * t->block_table.stride[0];
        const size_t keys = attn_sequence(p, t, b).kv_len;
        for (size_t n = 0; n * p->page_size < keys; n++)
            if (table[n] < 0 || (size_t)table[n] >= t->pages)
                return attn_operands_refuse(in, "block_table[%zu, %zu] is %d, there are %zu pages",
                                            b, n, table[n], t->pages);
    }
    return true;
}

/* Parents come before their children, so that every walk from a draft to the cache ends. */
static bool parents_fit(const struct operands_inquiry *in)
{
    const struct attn_problem *p = in->problem;
    if (!(p->mask & ATTN_MASK_TREE))
        return true;
    for (size_t b = 0; b < p->batch; b++) {
        const struct attn_sequence s = attn_sequence(p, in->tensors, b);
        const int32_t *parents = attn_tree(p, in->tensors, &s, b).parents;
        for (size_t i = 0; i < s.q_len; i++)
            if (parents[i] < -1 || parents[i] >= (ptrdiff_t)i)
                return attn_operands_refuse(
                    in, "parents[%zu, %zu] is %d, neither -1 nor a draft before it", b, i,
                    parents[i]);
    }
    return true;
}

/* ---- lists of keys --------------------------------------------------------------------------- */

#define WINDOW \
    ((size_t)1 << 18) /* keys that are looked at together for any that a list has twice */

/* Whether a list, indices[b, g, number], names keys of [from, from + WINDOW) once each. */
static bool names_once(const struct operands_inquiry *in, const int32_t *keys, size_t from,
                       size_t b, size_t g, size_t number)
{
    const size_t count = in->problem->index_count;
    uint64_t named[WINDOW / 64] = {0};
    for (size_t n = 0; n < count; n++) {
        const size_t key = (size_t)keys[n] - from; /* of -1 and of keys before: a large number */
        if (key >= WINDOW)
            continue;
        size_t first = 0;
        while (named[key / 64] >> key % 64 & 1 && keys[first] != keys[n])
            first++;
        if (named[key / 64] >> key % 64 & 1)
            return attn_operands_refuse(
                in, "indices[%zu, %zu, %zu, %zu] is %d, as entry %zu of this list is", b, g, number,
                n, keys[n], first);
        named[key / 64] |= UINT64_C(1) << key % 64;
    }
    return true;
}

/* Whether a list names keys of its sequence, each once. */
static bool list_fits(const struct operands_inquiry *in, size_t b, size_t g, size_t number)
{
    const struct attn_problem *p = in->problem;
    const int32_t *keys = attn_list(p, in->tensors, b, g, number * p->index_block);
    const size_t kv_len = attn_sequence(p, in->tensors, b).kv_len;
    for (size_t n = 0; n < p->index_count; n++)
        if (keys[n] < -1 || keys[n] >= (ptrdiff_t)kv_len)
            return attn_operands_refuse(
                in,
                "indices[%zu, %zu, %zu, %zu] is %d, neither -1 nor one of %zu keys of "
                "the sequence",
                b, g, number, n, keys[n], kv_len);
    for (size_t from = 0; from < kv_len; from += WINDOW)
        if (!names_once(in, keys, from, b, g, number))
            return false;
    return true;
}

static bool lists_fit(const struct operands_inquiry *in)
{
    const struct attn_problem *p = in->problem;
    for (size_t b = 0; p->options & ATTN_OPTION_INDEX && b < p->batch; b++) {
        const size_t lists = attn_lists(p, attn_sequence(p, in->tensors, b).q_len);
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t number = 0; number < lists; number++)
                if (!list_fits(in, b, g, number))
                    return false;
    }
    return true;
}

/* ---- the mask's bytes ------------------------------------------------------------------------ */

/* The first of n bytes that is neither 0 nor 1, n where none. */
static size_t first_not_bool(const uint8_t *bytes, size_t n)
{
    uint8_t above = 0;
    size_t j = 0;
    for (size_t k = 0; k < n; k++)
        above |= bytes[k] & 0xfe;
    while (above ? bytes[j] <= 1 : j < n)
        j++;
    return j;
}

/* Looks at the part within each sequence's lengths, once where dimensions share it. */
static bool mask_is_bool(const struct operands_inquiry *in)
{
    const struct attn_problem *p = in->problem;
    const struct attn_tensors *t = in->tensors;
    const ptrdiff_t *stride = t->mask.stride;
    const size_t heads = stride[1] ? p->q_heads : 1;
    const unsigned lengths = ATTN_OPTION_RAGGED | ATTN_OPTION_PACKED;
    const size_t sequences = stride[0] || p->options & lengths ? p->batch : 1;
    if (!(p->mask & ATTN_MASK_BOOL))
        return true;
    for (size_t b = 0; b < sequences; b++) {
        const struct attn_sequence s = attn_sequence(p, t, b);
        const size_t rows = stride[2] || s.q_len == 0 ? s.q_len : 1;
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < rows; i++) {
                const uint8_t *row = attn_row(&t->mask, b, h, i);
                const size_t j = first_not_bool(row, s.kv_len);
                if (j < s.kv_len)
                    return attn_operands_refuse(
                        in, "mask[%zu, %zu, %zu, %zu] is %d, neither 0 nor 1", b, h, i, j, row[j]);
            }
    }
    return true;
}

bool attn_operands_content_fit(const struct operands_inquiry *in)
{
    return lengths_fit(in) && all_offsets_fit(in) && pages_fit(in) && parents_fit(in) &&
           lists_fit(in) && mask_is_bool(in);
}
