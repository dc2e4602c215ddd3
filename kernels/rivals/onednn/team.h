/*
 * team.h: part of kernel onednn: the compiled shapes of a plan, and what each thread needs to run
 * them.
 *
 * A primitive may run in several threads at a time, but a memory object, which tells it where a
 * matrix lies, and a scratchpad belong to one call: each thread has its own.
 */
#pragma once

#include <omp.h>
#include <stdlib.h>

#include "onednn_block.h"
#include "shape.h"

/* Where a thread's calls of a shape find their matrices and their scratchpad. */
struct handles {
    dnnl_memory_t matrix[MATRICES];
    dnnl_memory_t scratchpad[PRIMITIVES];
};

struct member {
    dnnl_stream_t stream;
    void *scratchpad;
    struct handles *handles; /* of each shape */
};

/* Shapes stand at twice the number of their count of keys, one further for the last rows of a slab;
 * those that no block has are empty. */
struct team {
    struct geometry geometry;
    dnnl_engine_t engine;
    struct shape shapes[2 * (MOST_COUNTS + 1)];
    struct member *members;
    int threads;
};

static size_t shape_of(const struct geometry *g, const struct block *block)
{
    const size_t count = (block->keys + g->step - 1) / g->step;
    return 2 * count - 2 + (block->rows < g->rows);
}

static void handles_close(struct handles *handles)
{
    for (int i = 0; i < MATRICES; i++)
        if (handles->matrix[i])
            attn_onednn.memory_destroy(handles->matrix[i]);
    for (int i = 0; i < PRIMITIVES; i++)
        if (handles->scratchpad[i])
            attn_onednn.memory_destroy(handles->scratchpad[i]);
}

static void team_close(struct team *team)
{
    const size_t count = sizeof team->shapes / sizeof *team->shapes;
    for (int t = 0; team->members && t < team->threads; t++) {
        struct member *member = &team->members[t];
        for (size_t i = 0; member->handles && i < count; i++)
            handles_close(&member->handles[i]);
        if (member->stream)
            attn_onednn.stream_destroy(member->stream);
        free(member->handles);
        free(member->scratchpad);
    }
    for (size_t i = 0; i < count; i++)
        shape_close(&team->shapes[i]);
    if (team->engine)
        attn_onednn.engine_destroy(team->engine);
    free(team->members);
    free(team);
}

/* Compiles what the blocks of a KV head need, which is the same for each. */
static bool open_shapes(struct team *team, const struct attn_problem *p, dnnl_data_type_t type)
{
    const struct geometry *g = &team->geometry;
    for (size_t i = 0; i < g->slabs * g->blocks; i++) {
        const struct block block = block_at(p, g, 0, 0, i);
        struct shape *shape = block.keys ? &team->shapes[shape_of(g, &block)] : NULL;
        if (shape && !shape->rows &&
            !shape_open(shape, p, block.rows, block.keys, team->engine, type))
            return false;
    }
    return true;
}

static size_t scratchpad_bytes(const struct team *team)
{
    size_t most = 0;
    for (size_t i = 0; i < sizeof team->shapes / sizeof *team->shapes; i++)
        for (int k = 0; team->shapes[i].rows && k < PRIMITIVES; k++) {
            const size_t bytes = attn_onednn.memory_desc_get_size(team->shapes[i].scratchpad_md[k]);
            most = bytes > most ? bytes : most;
        }
    return attn_round_up(most + ATTN_WORKSPACE_ALIGN, ATTN_WORKSPACE_ALIGN);
}

static bool open_handles(struct handles *handles, const struct shape *shape, dnnl_engine_t engine,
                         void *scratchpad)
{
    for (int i = 0; i < MATRICES; i++)
        if (attn_onednn.memory_create(&handles->matrix[i], shape->md[i], engine,
                                      DNNL_MEMORY_NONE) != dnnl_success)
            return false;
    for (int i = 0; i < PRIMITIVES; i++)
        if (attn_onednn.memory_create(&handles->scratchpad[i], shape->scratchpad_md[i], engine,
                                      scratchpad) != dnnl_success)
            return false;
    return true;
}

static bool open_member(struct team *team, struct member *member, size_t bytes)
{
    const size_t count = sizeof team->shapes / sizeof *team->shapes;
    member->scratchpad = aligned_alloc(ATTN_WORKSPACE_ALIGN, bytes);
    member->handles = calloc(count, sizeof *member->handles);
    if (!member->scratchpad || !member->handles ||
        attn_onednn.stream_create(&member->stream, team->engine, dnnl_stream_in_order) !=
            dnnl_success)
        return false;
    for (size_t i = 0; i < count; i++)
        if (team->shapes[i].rows &&
            !open_handles(&member->handles[i], &team->shapes[i], team->engine, member->scratchpad))
            return false;
    return true;
}

/* NULL fills *why.  What is compiled here runs on one thread. */
static struct team *team_open(const struct attn_problem *p, int threads, dnnl_data_type_t type,
                              const char **why)
{
    const int before = omp_get_max_threads();
    struct team *team = calloc(1, sizeof *team);
    *why = "no memory for oneDNN's primitives";
    if (!team || !(team->members = calloc((size_t)threads, sizeof *team->members))) {
        free(team);
        return NULL;
    }
    team->threads = threads;
    team->geometry = geometry_of(p);
    omp_set_num_threads(1);
    bool opened = attn_onednn.engine_create(&team->engine, dnnl_cpu, 0) == dnnl_success;
    if (opened && !(opened = open_shapes(team, p, type)))
        *why = "oneDNN has no such products on this processor";
    const size_t bytes = opened ? scratchpad_bytes(team) : 0;
    for (int t = 0; opened && t < threads; t++)
        opened = open_member(team, &team->members[t], bytes);
    omp_set_num_threads(before);
    if (opened)
        return team;
    team_close(team);
    return NULL;
}
