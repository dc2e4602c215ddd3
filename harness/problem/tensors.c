/*
 * tensors: allocates sets in process memory with guard pages, and takes checksums.
 */
#include "tensors.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

#include "system/fault.h"
#include "system/machine.h"
#include "tensors_view.h"

/* ---- memory -------------------------------------------------------------------------------- */

/* Inaccessible bytes between operands; for timing only a page. */
static size_t guard_bytes(const struct tensors_layout *layout)
{
    return layout->guard == TENSORS_TIMING ? tensors_page() : FAULT_GUARD;
}

/* Bytes of an operand's pages, which inaccessible ones precede and follow. */
static size_t area_bytes(const struct tensors_view *view, const struct tensors_layout *layout)
{
    return tensors_area(view, layout->row_padding,
                        layout->guard == TENSORS_TIMING ? TENSORS_SHIFT_RANGE : 0);
}

static void *map_areas(const struct tensors_view *views, size_t count,
                       const struct tensors_layout *layout, size_t *total)
{
    *total = guard_bytes(layout);
    for (size_t n = 0; n < count; n++)
        if (__builtin_add_overflow(*total, area_bytes(&views[n], layout), total) ||
            __builtin_add_overflow(*total, guard_bytes(layout), total)) {
            errno = ENOMEM;
            return MAP_FAILED;
        }
    return mmap(NULL, *total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Maps the views' memory and points their tensors into it. */
static bool map_views(const struct tensors_view *views, size_t count,
                      const struct tensors_layout *layout, void **mapping, size_t *mapping_bytes,
                      struct message message)
{
    char *at = map_areas(views, count, layout, mapping_bytes);
    if (at == MAP_FAILED) {
        message_print(message, "cannot map %zu bytes for operands: %s", *mapping_bytes,
                      strerror(errno));
        *mapping = NULL;
        return false;
    }
    *mapping = at;
    at += guard_bytes(layout);
    for (size_t n = 0; n < count; n++) {
        const size_t area = area_bytes(&views[n], layout);
        const size_t extent = tensors_extent(&views[n], layout->row_padding);
        const size_t front[] = {[TENSORS_TIMING] = tensors_stagger(layout->shift, n),
                                [TENSORS_GUARD_FRONT] = 0,
                                [TENSORS_GUARD_BACK] = area - extent};
        if (mprotect(at, area, PROT_READ | PROT_WRITE) != 0)
            return refuse(message, "cannot allocate %zu bytes for %s: %s", area, views[n].name,
                          strerror(errno));
        if (layout->guard != TENSORS_TIMING) /* timing places pages itself */
            machine_populate(at, area);
        tensors_point(&views[n], at + front[layout->guard], layout->row_padding);
        at += area + guard_bytes(layout);
    }
    return true;
}

bool tensors_alloc_results(struct tensor_set *set, const struct attn_problem *problem,
                           struct message message)
{
    struct tensors_view views[TENSORS_RESULTS];
    const size_t count = tensors_results(&set->tensors, problem, &set->shape, views);
    if (!map_views(views, count, &set->layout, &set->mapping[1], &set->mapping_bytes[1], message))
        return false;
    tensors_poison(set, problem);
    return true;
}

/* ---- sets ---------------------------------------------------------------------------------------- */

bool tensors_alloc_shape(struct tensor_set *set, const struct attn_problem *problem,
                         const struct tensors_shape *shape, const struct tensors_layout *layout,
                         struct message message)
{
    assert(layout->shift % 64 == 0);
    *set = (struct tensor_set){
        .tensors.size = sizeof set->tensors, .shape = *shape, .layout = *layout};
    struct tensors_view views[TENSORS_OPERANDS];
    const size_t count = tensors_operands(&set->tensors, problem, shape, views);
    if (!map_views(views, count, layout, &set->mapping[0], &set->mapping_bytes[0], message) ||
        !tensors_alloc_results(set, problem, message)) {
        tensors_free(set);
        return false;
    }
    for (size_t n = 0; n < count; n++)
        tensors_poison_padding(&views[n], layout->row_padding);
    tensors_complete(&set->tensors, problem, shape);
    tensors_seal(set, problem);
    return true;
}

void tensors_free(struct tensor_set *set)
{
    for (int n = 0; n < 2; n++)
        if (set->mapping[n])
            munmap(set->mapping[n], set->mapping_bytes[n]);
    *set = (struct tensor_set){0};
}

size_t tensors_spans(const struct tensor_set *set, const struct attn_problem *problem,
                     struct fault_region spans[TENSORS_SPANS])
{
    struct tensors_view views[TENSORS_SPANS];
    size_t count = tensors_operands(&set->tensors, problem, &set->shape, views);
    count += tensors_results(&set->tensors, problem, &set->shape, views + count);
    for (size_t n = 0; n < count; n++)
        spans[n] = (struct fault_region){
            views[n].name, views[n].t->data, tensors_extent(&views[n], set->layout.row_padding),
            views[n].dtype == ATTN_I4 ? 1 : attn_dtype_size(views[n].dtype)};
    return count;
}

struct ceilings_kv tensors_kv(const struct tensor_set *set, const struct attn_problem *problem)
{
    struct fault_region spans[TENSORS_SPANS] = {0}; /* q, k, v and others */
    tensors_spans(set, problem, spans);
    const size_t k = spans[1].bytes, half = k / 2 / ATTN_WORKSPACE_ALIGN * ATTN_WORKSPACE_ALIGN;
    if (problem->options & ATTN_OPTION_SHARED_KV)
        return (struct ceilings_kv){spans[1].data, spans[1].data + half, half};
    return (struct ceilings_kv){spans[1].data, spans[2].data,
                                k < spans[2].bytes ? k : spans[2].bytes};
}

/* ---- checksums ----------------------------------------------------------------------------- */

void tensors_seal(struct tensor_set *set, const struct attn_problem *problem)
{
    struct tensors_view views[TENSORS_OPERANDS];
    const size_t count = tensors_operands(&set->tensors, problem, &set->shape, views);
    for (size_t n = 0; n < count; n++)
        set->checksum[n] =
            XXH3_64bits(views[n].t->data, tensors_extent(&views[n], set->layout.row_padding));
}

uint64_t tensors_results_hash(const struct tensor_set *set, const struct attn_problem *problem)
{
    struct tensors_view views[TENSORS_RESULTS];
    const size_t count = tensors_results(&set->tensors, problem, &set->shape, views);
    uint64_t hash = 0;
    for (size_t n = 0; n < count; n++)
        hash = XXH3_64bits_withSeed(views[n].t->data,
                                    tensors_extent(&views[n], set->layout.row_padding), hash);
    return hash;
}

const char *tensors_changed(const struct tensor_set *set, const struct attn_problem *problem)
{
    struct tensor_set now = *set;
    struct tensors_view views[TENSORS_OPERANDS];
    const size_t count = tensors_operands(&now.tensors, problem, &set->shape, views);
    tensors_seal(&now, problem);
    for (size_t n = 0; n < count; n++)
        if (now.checksum[n] != set->checksum[n])
            return views[n].name;
    return NULL;
}
