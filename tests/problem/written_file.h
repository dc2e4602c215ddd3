/*
 * written_file: a safetensors file of operands that a test makes.
 *
 * Included after cmocka.h.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "problem/operands_file.h"
#include "problem/parse.h"
#include "problem/safetensors.h"
#include "problem/tensors.h"

#define WRITTEN_MOST 16
#define WRITTEN_ELEMENTS 4096

/* A file under construction. */
struct written {
    char path[64];
    struct safetensor tensors[WRITTEN_MOST];
    size_t count;
    double data[WRITTEN_MOST][WRITTEN_ELEMENTS];
};

static inline struct written *begin(void)
{
    struct written *w = calloc(1, sizeof *w);
    assert_non_null(w);
    snprintf(w->path, sizeof w->path, "/tmp/test_operands_file.%d", (int)getpid());
    return w;
}

/* Element number n of a tensor is base + n / 8, of integers base + n. */
static inline void add(struct written *w, const char *name, enum attn_dtype dtype, float base,
                       size_t rank, const size_t *shape)
{
    size_t elements = 1;
    for (size_t n = 0; n < rank; n++)
        elements *= shape[n];
    assert_true(elements <= WRITTEN_ELEMENTS && w->count < WRITTEN_MOST);
    struct safetensor *t = &w->tensors[w->count];
    *t = (struct safetensor){.name = name,
                             .dtype = dtype,
                             .rank = rank,
                             .data = w->data[w->count],
                             .bytes = elements * attn_dtype_size(dtype)};
    memcpy(t->shape, shape, rank * sizeof *shape);
    const struct attn_tensor view = {w->data[w->count++], dtype, {0}};
    for (size_t n = 0; n < elements; n++) {
        const bool whole = dtype == ATTN_I8 || dtype == ATTN_I32;
        const double x = (double)base + (whole ? (double)n : (double)n / 8);
        if (dtype == ATTN_I32)
            ((int32_t *)view.data)[n] = (int32_t)x;
        else if (dtype == ATTN_F64)
            ((double *)view.data)[n] = x;
        else
            tensors_set(&view, 0, 0, 0, n, dtype == ATTN_BOOL ? (double)(n % 3 == 0) : x);
    }
}

#define SHAPE(...)                                                             \
    (sizeof((const size_t[]){__VA_ARGS__}) / sizeof(size_t)), (const size_t[]) \
    {                                                                          \
        __VA_ARGS__                                                            \
    }

static inline void end(struct written *w)
{
    char message[256];
    if (!safetensors_write(w->path, w->tensors, w->count, MESSAGE(message)))
        fail_msg("%s", message);
}

/* Reads the operands that begin with "x."; false fills message. */
static inline bool load(const struct written *w, struct tensor_set *set,
                        const struct attn_problem *p, struct message message)
{
    static const struct tensors_layout layout = {0};
    struct safetensors *opened = safetensors_open(w->path, message);
    const struct operands_file file = {opened, w->path, "x.", message};
    const bool loaded = opened && operands_file_load(&file, set, p, &layout);
    safetensors_close(opened);
    return loaded;
}

static inline void discard(struct written *w)
{
    unlink(w->path);
    free(w);
}
