/*
 * exchange: lays the file out, and copies rows into and out of it.
 */
#define _GNU_SOURCE
#include "exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clause.h"
#include "kv.h"
#include "safetensors.h"
#include "system/memory_file.h"
#include "tensors_view.h"

#define ALIGNMENT ((size_t)64) /* of every tensor */
#define ABREAST TENSORS_SPANS  /* most tensors of a set */
#define NAME 24                /* bytes of "weights.4095" */

struct exchange {
    int fd;
    char *map;
    size_t bytes; /* of file and mapping */
    struct attn_problem problem;
    struct tensors_shape shape;
    size_t sets;
    size_t *offsets; /* of tensor number n of set s in the file: [s * ABREAST + n] */
};

struct exchange *exchange_open(struct message message)
{
    struct exchange *e = calloc(1, sizeof *e);
    if (e && (e->fd = memory_file_create("attnbench-exchange")) >= 0 &&
        fcntl(e->fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0)
        return e;
    message_print(message, "cannot make a file in memory: %s", strerror(errno));
    exchange_close(e);
    return NULL;
}

static void unmap(struct exchange *e)
{
    if (e->map)
        munmap(e->map, e->bytes);
    e->map = NULL;
    e->bytes = 0;
}

void exchange_close(struct exchange *e)
{
    if (!e)
        return;
    unmap(e);
    close(e->fd);
    free(e->offsets);
    free(e);
}

int exchange_file(const struct exchange *e)
{
    return e->fd;
}

/* ---- layout ---------------------------------------------------------------------------------- */

/* Views of a set's operands, then results. */
struct views {
    size_t operands, count;
    struct tensors_view view[ABREAST];
    struct attn_tensors tensors; /* the views point into it */
};

static void make_views(const struct exchange *e, const struct tensors_shape *shape,
                       struct views *views)
{
    struct attn_tensors *t = &views->tensors;
    *views = (struct views){0};
    views->operands = tensors_operands(t, &e->problem, shape, views->view);
    views->count =
        views->operands + tensors_results(t, &e->problem, shape, views->view + views->operands);
}

/* The stored shape: (B, Hq, Sq, D), LSE (B, Hq, Sq), a table (B, n), a number per head (Hq), scales of keys
 * (B, Hkv, Skv, 1). */
static void shape_of(const struct tensors_view *view, struct safetensor *t)
{
    const bool heads_first = view->order == ATTN_BHSD;
    const size_t before[] = {view->batch, heads_first ? view->heads : view->rows,
                             heads_first ? view->rows : view->heads};
    t->rank = view->dense;
    memcpy(t->shape, before, t->rank * sizeof *before);
    t->shape[t->rank++] = view->dtype == ATTN_I4 ? (view->cols + 1) / 2 : view->cols; /* bytes */
    if (view->dense == 2 && view->shared >> 3 & 1)
        t->shape[t->rank++] = 1;
}

/* Tensors for the header. */
struct plan {
    struct safetensor *tensors;
    char (*names)[NAME];
    size_t count, pads;
    size_t at; /* end of the data so far, bytes */
};

static void append(struct plan *plan, const struct safetensor *t, const char *name, size_t number)
{
    plan->tensors[plan->count] = *t;
    plan->tensors[plan->count].name = plan->names[plan->count];
    snprintf(plan->names[plan->count], NAME, "%s.%zu", name, number);
    plan->count++;
    plan->at += t->bytes;
}

static void pad(struct plan *plan, size_t bytes)
{
    const struct safetensor gap = {.dtype = ATTN_I8, .rank = 1, .shape = {bytes}, .bytes = bytes};
    if (bytes)
        append(plan, &gap, "pad", plan->pads++);
}

/* Plans every tensor of every set and the padding before it; false: sizes overflow. */
static bool lay_out(struct exchange *e, size_t shift, struct plan *plan)
{
    struct views views;
    make_views(e, &e->shape, &views);
    for (size_t s = 0; s < e->sets; s++)
        for (size_t n = 0; n < views.count; n++) {
            const struct tensors_view *view = &views.view[n];
            struct safetensor t = {.dtype = view->dtype, .bytes = tensors_extent(view, 0)};
            pad(plan, (ALIGNMENT - plan->at % ALIGNMENT) % ALIGNMENT + tensors_stagger(shift, n));
            if (t.bytes > PTRDIFF_MAX / 2 - plan->at)
                return false;
            shape_of(view, &t);
            e->offsets[s * ABREAST + n] = plan->at;
            append(plan, &t, view->name, s);
        }
    return true;
}

/* Makes the file at least so long and maps it.  Reserves its pages, so that lack of memory is an error now,
 * not SIGBUS later. */
static bool grow(struct exchange *e, size_t bytes, struct message message)
{
    if (bytes <= e->bytes)
        return true;
    unmap(e);
    const int error = posix_fallocate(e->fd, 0, (off_t)bytes);
    void *map =
        error ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, e->fd, 0);
    if (map == MAP_FAILED)
        return refuse(message, "no memory for a file of %zu bytes: %s", bytes,
                      strerror(error ? error : errno));
    e->map = map;
    e->bytes = bytes;
    return true;
}

/* Writes the header.  The last padding extends to the end of the file, whose size depends on the header's;
 * the longest possible padding gives the longest header. */
static bool write_header(struct exchange *e, struct plan *plan, struct message message)
{
    const size_t longest = e->bytes + plan->at + ((size_t)1 << 40), end = plan->at;
    size_t bytes = 0, needed;
    pad(plan, longest);
    char *header = safetensors_header(plan->tensors, plan->count, 0, &needed);
    free(header);
    const bool room = header && grow(e, needed + end + ALIGNMENT, message);
    plan->tensors[plan->count - 1].bytes = plan->tensors[plan->count - 1].shape[0] =
        room ? e->bytes - needed - end : 0;
    header = room ? safetensors_header(plan->tensors, plan->count, needed, &bytes) : NULL;
    if (header)
        memcpy(e->map, header, bytes);
    free(header);
    for (size_t n = 0; n < e->sets * ABREAST; n++)
        e->offsets[n] += bytes;
    return header;
}

bool exchange_arrange(struct exchange *e, const struct attn_problem *problem,
                      const struct tensors_shape *shape, size_t sets, size_t shift,
                      struct message message)
{
    const size_t most = sets * ABREAST * 2 + 1; /* each with padding, and the last padding */
    struct plan plan = {.tensors = calloc(most, sizeof *plan.tensors),
                        .names = calloc(most, sizeof *plan.names)};
    size_t *offsets = reallocarray(e->offsets, sets * ABREAST, sizeof *offsets);
    e->offsets = offsets ? offsets : e->offsets;
    e->problem = *problem;
    e->shape = *shape;
    e->sets = offsets ? sets : 0;
    memset(e->offsets, 0, e->sets * ABREAST * sizeof *offsets);
    message_print(message, "no memory for %zu sets of operands", sets);
    const bool right = plan.tensors && plan.names && offsets && lay_out(e, shift, &plan) &&
                       write_header(e, &plan, message);
    for (size_t s = 0; right && s < sets; s++)
        exchange_write(e, s, &(struct attn_tensors){0});
    free(plan.tensors);
    free(plan.names);
    return right;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Copies the rows of a view, of a page table only the entries in use.  A dimension that the file stores once,
 * `from` stores once, too. */
static void copy_rows(const struct exchange *e, const struct tensors_view *view,
                      const struct attn_tensors *all, const struct attn_tensor *from,
                      const struct attn_tensor *to)
{
    const bool table = from == &all->block_table;
    for (size_t b = 0; b < view->batch; b++) {
        const size_t cols =
            table ? kv_pages(&e->problem, attn_sequence(&e->problem, all, b).kv_len) : view->cols;
        for (size_t h = 0; h < view->heads; h++)
            for (size_t i = 0; i < view->rows; i++)
                tensors_copy_row(view, from, to, (size_t[]){b, h, i}, cols);
    }
}

/* The member of other tensors that corresponds to a view. */
static const struct attn_tensor *counterpart(const struct tensors_view *view,
                                             const struct attn_tensors *of,
                                             const struct attn_tensors *others)
{
    return (const void *)((const char *)others + ((const char *)view->t - (const char *)of));
}

/* The shape of operands, which may be smaller than the file has room for. */
static struct tensors_shape shape_held(const struct exchange *e, const struct attn_tensors *tensors)
{
    struct tensors_shape shape = e->shape;
    shape.pages = tensors->pages;
    shape.q_rows = tensors->q_rows;
    shape.kv_rows = tensors->kv_rows;
    shape.lists = clause_index_lists(&e->problem, tensors);
    if (attn_keys_packed(&e->problem)) {
        size_t *const scaled[] = {&shape.k_scale[2], &shape.v_scale[2]};
        for (int n = 0; n < 2; n++)
            *scaled[n] = *scaled[n] < shape.kv_rows ? *scaled[n] : shape.kv_rows;
    }
    return shape;
}

bool exchange_holds(const struct exchange *e, const struct attn_tensors *tensors)
{
    return tensors->pages <= e->shape.pages && tensors->q_rows <= e->shape.q_rows &&
           tensors->kv_rows <= e->shape.kv_rows &&
           clause_index_lists(&e->problem, tensors) <= e->shape.lists;
}

/* A set in the file, and views of the part that operands outside fill. */
struct place {
    struct views whole, held;
};

static void find_place(const struct exchange *e, size_t set, const struct attn_tensors *outside,
                       struct place *place)
{
    const struct tensors_shape shape = shape_held(e, outside);
    make_views(e, &e->shape, &place->whole);
    make_views(e, &shape, &place->held);
    for (size_t n = 0; n < place->whole.count; n++)
        tensors_point(&place->whole.view[n], e->map + e->offsets[set * ABREAST + n], 0);
}

void exchange_write(struct exchange *e, size_t set, const struct attn_tensors *from)
{
    struct place place;
    find_place(e, set, from, &place);
    for (size_t n = 0; n < place.whole.count; n++) {
        const struct tensors_view *view = &place.whole.view[n], *held = &place.held.view[n];
        const struct attn_tensor *source = counterpart(view, &place.whole.tensors, from);
        if (n >= place.whole.operands) {
            tensors_poison_result(view);
        } else if (source->data) {
            if (source == &from->block_table || tensors_extent(held, 0) < tensors_extent(view, 0))
                tensors_poison_whole(view);
            copy_rows(e, held, from, source, view->t);
        } else {
            memset(view->t->data, 0, tensors_extent(view, 0));
        }
    }
}

void exchange_read(struct exchange *e, size_t set, const struct attn_tensors *to)
{
    struct place place;
    find_place(e, set, to, &place);
    for (size_t n = place.whole.operands; n < place.whole.count; n++) {
        const struct tensors_view *view = &place.whole.view[n];
        copy_rows(e, &place.held.view[n], &place.whole.tensors, view->t,
                  counterpart(view, &place.whole.tensors, to));
        tensors_poison_result(view);
    }
}
