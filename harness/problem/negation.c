/*
 * negation: finds the memory to change, and changes it in place.
 */
#define _GNU_SOURCE
#include "negation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/random.h"
#include "kv.h"
#include "tensors_view.h"

#define HUGE ((size_t)2 << 20) /* as in tensors_file.c: copied whole, to stay huge pages */
#define MOST_BYTES 8           /* largest element */

bool negation_open(struct negation *n, const struct attn_problem *p, bool all, uint64_t random)
{
    const unsigned shared = ATTN_OPTION_PAGED | ATTN_OPTION_PACKED | ATTN_OPTION_SHARED_KV;
    *n = (struct negation){.of_scales = kv_integers(p->kv_dtype),
                           .columns = calloc(p->v_dim, sizeof *n->columns)};
    all = all || n->of_scales;
    n->first_batch = all || p->options & shared ? 0 : (size_t)random_below(random, 0, p->batch);
    n->batches = all || p->options & shared ? SIZE_MAX : 1;
    n->first_head = all ? 0 : (size_t)random_below(random, 1, p->kv_heads);
    n->heads = all ? p->kv_heads : 1;
    return n->columns;
}

void negation_close(struct negation *n)
{
    free(n->columns);
    n->columns = NULL;
}

/* ---- parts to negate ------------------------------------------------------------------------- */

/* The heads of an operand or result that are negated. */
struct part {
    struct tensors_view view;
    size_t batch, batches, head, heads;
};

static struct part part_of(const struct negation *n, const struct tensors_view *view, size_t group)
{
    const size_t batch = n->first_batch < view->batch ? n->first_batch : view->batch;
    const size_t most = view->batch - batch;
    return (struct part){
        .view = *view,
        .batch = batch,
        .batches = n->batches < most ? n->batches : most,
        .head = n->first_head * group,
        .heads = n->heads * group,
    };
}

/* The operands' parts. */
static size_t parts_of(const struct negation *n, const struct tensor_set *set,
                       const struct attn_problem *p, struct part parts[2])
{
    struct tensors_view views[TENSORS_OPERANDS];
    const struct attn_tensors *tensors = &set->tensors;
    const size_t count = tensors_operands(tensors, p, &set->shape, views);
    const bool shared = p->options & ATTN_OPTION_SHARED_KV;
    size_t found = 0;
    for (size_t k = 0; k < count; k++) {
        const struct attn_tensor *t = views[k].t;
        if (n->of_scales ? t == &tensors->v_scale : t == (shared ? &tensors->k : &tensors->v))
            parts[found++] = part_of(n, &views[k], 1);
        else if (shared && !n->of_scales && t == &tensors->q)
            parts[found++] = part_of(n, &views[k], p->q_heads / p->kv_heads);
    }
    return found;
}

/* The whole pages of `size` bytes from the first to the last element of a part, inside the set's mapping. */
static void *pages_of(const struct negation *n, const struct part *part,
                      const struct tensor_set *set, size_t size, size_t *bytes)
{
    const struct tensors_view *v = &part->view;
    const size_t element = attn_dtype_size(v->dtype);
    const uintptr_t low = (uintptr_t)set->mapping[0], high = low + set->mapping_bytes[0];
    uintptr_t from = (uintptr_t)v->t->data, to = from + tensors_extent(v, set->layout.row_padding);
    if (!n->of_scales && part->batches && v->rows) {
        from = (uintptr_t)attn_row(v->t, part->batch, part->head, 0);
        to = (uintptr_t)attn_row(v->t, part->batch + part->batches - 1,
                                 part->head + part->heads - 1, v->rows - 1) +
             v->cols * element;
    }
    from = from / size * size;
    to = (to + size - 1) / size * size;
    from = from < low ? low : from;
    *bytes = (to > high ? high : to) - from;
    return (void *)from; /* NOLINT(performance-no-int-to-ptr) */
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Replaces mapped pages of a file by a copy. */
static bool own(void *at, size_t bytes)
{
    void *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (copy == MAP_FAILED)
        return false;
    memcpy(copy, at, bytes);
    const int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
    if (mprotect(copy, bytes, PROT_READ) == 0 &&
        mremap(copy, bytes, bytes, flags, at) != MAP_FAILED)
        return true;
    munmap(copy, bytes);
    return false;
}

bool negation_own(const struct negation *n, struct tensor_set *set, const struct attn_problem *p,
                  struct message message)
{
    struct part parts[2];
    size_t bytes;
    for (size_t count = parts_of(n, set, p, parts); count > 0; count--) {
        pages_of(n, &parts[count - 1], set, tensors_page(), &bytes);
        void *at =
            pages_of(n, &parts[count - 1], set, bytes < HUGE ? tensors_page() : HUGE, &bytes);
        if (bytes && !own(at, bytes))
            return refuse(message, "cannot copy %zu bytes of operands: %s", bytes, strerror(errno));
    }
    return true;
}

/* ---- negating -------------------------------------------------------------------------------- */

/* The bits of a row to flip: the sign bit of each column that changes. */
static void pattern_of(const unsigned char *turned, size_t columns, size_t element,
                       unsigned char *pattern)
{
    memset(pattern, 0, columns * element);
    for (size_t d = 0; d < columns; d++)
        pattern[d * element + element - 1] = turned[d] ? 0x80 : 0;
}

static void flip(unsigned char *restrict row, const unsigned char *restrict pattern, size_t bytes)
{
    for (size_t n = 0; n < bytes; n++)
        row[n] ^= pattern[n];
}

static void flip_scales(const struct tensors_view *v, size_t padding)
{
    unsigned char *scale = v->t->data;
    for (size_t n = sizeof(float); n <= tensors_extent(v, padding); n += sizeof(float))
        scale[n - 1] ^= 0x80;
}

static void flip_part(const struct part *part, const unsigned char *pattern, size_t bytes)
{
    for (size_t b = 0; b < part->batches; b++)
        for (size_t h = 0; h < part->heads; h++)
            for (size_t i = 0; i < part->view.rows; i++)
                flip(attn_row(part->view.t, part->batch + b, part->head + h, i), pattern, bytes);
}

/* Draws the columns; turned[d]: column d changes. */
static void draw(struct negation *n, size_t columns, uint64_t random, unsigned char *turned)
{
    bool any = false;
    for (size_t d = 0; d < columns; d++) {
        turned[d] = n->of_scales || random_below(random, d, 2);
        any = any || turned[d];
    }
    turned[0] |= !any;
    for (size_t d = 0; d < columns; d++)
        n->columns[d] ^= turned[d];
}

void negation_turn(struct negation *n, const struct tensor_set *set, const struct attn_problem *p,
                   uint64_t random)
{
    unsigned char *turned = calloc(p->v_dim, 1 + MOST_BYTES);
    struct part parts[2];
    if (!turned)
        return; /* operands stay unchanged */
    unsigned char *pattern = turned + p->v_dim;
    draw(n, p->v_dim, random, turned);
    for (size_t count = parts_of(n, set, p, parts); count > 0; count--) {
        const struct part *part = &parts[count - 1];
        const size_t element = attn_dtype_size(part->view.dtype);
        size_t bytes;
        void *at = pages_of(n, part, set, tensors_page(), &bytes);
        pattern_of(turned, p->v_dim, element, pattern);
        mprotect(at, bytes, PROT_READ | PROT_WRITE);
        if (n->of_scales)
            flip_scales(&part->view, set->layout.row_padding);
        else
            flip_part(part, pattern, p->v_dim * element);
        mprotect(at, bytes, PROT_READ);
    }
    free(turned);
}

/* ---- results --------------------------------------------------------------------------------- */

/* An element's bits, negated if `turned`; zeros and NaN, whose signs arithmetic leaves open, without sign. */
static uint64_t canonical(uint64_t bits, uint64_t sign, uint64_t infinity, bool turned)
{
    const uint64_t magnitude = bits & (sign - 1);
    const bool has_sign = magnitude != 0 && magnitude <= infinity;
    return !has_sign ? magnitude : turned ? bits ^ sign : bits;
}

static void undo_row(void *row, enum attn_dtype dtype, const unsigned char *turned, size_t n)
{
    const uint64_t half = dtype == ATTN_F16 ? 0x7c00 : 0x7f80;
    const uint64_t sign = (uint64_t)1 << (8 * attn_dtype_size(dtype) - 1);
    for (size_t d = 0; d < n; d++)
        if (dtype == ATTN_F32) {
            uint32_t *o = row;
            o[d] = (uint32_t)canonical(o[d], sign, 0x7f800000, turned[d]);
        } else if (dtype == ATTN_F64) {
            uint64_t *o = row;
            o[d] = canonical(o[d], sign, (uint64_t)0x7ff << 52, turned[d]);
        } else {
            uint16_t *o = row;
            o[d] = (uint16_t)canonical(o[d], sign, half, turned[d]);
        }
}

void negation_undo(const struct negation *n, const struct tensor_set *set,
                   const struct attn_problem *p)
{
    struct tensors_view views[TENSORS_RESULTS];
    if (!(p->outputs & ATTN_OUTPUT_O))
        return;
    tensors_results(&set->tensors, p, &set->shape, views);
    const struct part o = part_of(n, &views[0], p->q_heads / p->kv_heads);
    for (size_t b = 0; b < o.batches; b++)
        for (size_t h = 0; h < o.heads; h++)
            for (size_t i = 0; i < o.view.rows; i++)
                undo_row(attn_row(&set->tensors.o, o.batch + b, o.head + h, i), p->dtype,
                         n->columns, p->v_dim);
}

bool negation_is_of(const struct negation *n, const struct attn_problem *p, size_t b, size_t h,
                    size_t d)
{
    const size_t j = h / (p->q_heads / p->kv_heads);
    return n->columns[d] && b >= n->first_batch && b - n->first_batch < n->batches &&
           j >= n->first_head && j - n->first_head < n->heads;
}
