/*
 * shape.h: part of kernel onednn: the primitives for blocks of one size.
 *
 * Matrices are dense: scores and weights rows x keys, the others as wide as the head.  K is read as
 * it lies and taken for the transposed matrix that the first product needs.  That of heads of one element is
 * a row, which 3.6 multiplies wrongly unless it is told so.
 */
#pragma once

#include "library.h"

enum { SCORES, SOFTMAX, OUTPUT, PRIMITIVES };
enum { Q, K, S, P, V, O, MATRICES };

struct shape {
    size_t rows, keys;
    dnnl_memory_desc_t md[MATRICES];
    dnnl_primitive_t primitive[PRIMITIVES];
    dnnl_memory_desc_t scratchpad_md[PRIMITIVES];
};

static void shape_close(struct shape *shape)
{
    for (int i = 0; i < PRIMITIVES; i++) {
        if (shape->primitive[i])
            attn_onednn.primitive_destroy(shape->primitive[i]);
        if (shape->scratchpad_md[i])
            attn_onednn.memory_desc_destroy(shape->scratchpad_md[i]);
    }
    for (int i = 0; i < MATRICES; i++)
        if (shape->md[i])
            attn_onednn.memory_desc_destroy(shape->md[i]);
    *shape = (struct shape){.rows = 0};
}

static bool describe(struct shape *shape, const struct attn_problem *p, dnnl_data_type_t type)
{
    const dnnl_dim_t rows = (dnnl_dim_t)shape->rows, keys = (dnnl_dim_t)shape->keys;
    const dnnl_dim_t d = (dnnl_dim_t)p->qk_dim, dv = (dnnl_dim_t)p->v_dim;
    const struct {
        dnnl_dims_t dims, strides;
        dnnl_data_type_t type;
    } of[MATRICES] = {
        [Q] = {{rows, d}, {d, 1}, type},           [K] = {{d, keys}, {d > 1 ? 1 : keys, d}, type},
        [S] = {{rows, keys}, {keys, 1}, dnnl_f32}, [P] = {{rows, keys}, {keys, 1}, type},
        [V] = {{keys, dv}, {dv, 1}, type},         [O] = {{rows, dv}, {dv, 1}, type},
    };
    for (int i = 0; i < MATRICES; i++)
        if (attn_onednn.memory_desc_create_with_strides(&shape->md[i], 2, of[i].dims, of[i].type,
                                                        of[i].strides) != dnnl_success)
            return false;
    return true;
}

/* The scores' factor, applied to sums that are float still; scratchpads are the caller's. */
static bool attributes(dnnl_primitive_attr_t *plain, dnnl_primitive_attr_t *scaled, float scale)
{
    dnnl_post_ops_t factor = NULL;
    const bool made =
        attn_onednn.primitive_attr_create(plain) == dnnl_success &&
        attn_onednn.primitive_attr_create(scaled) == dnnl_success &&
        attn_onednn.primitive_attr_set_scratchpad_mode(*plain, dnnl_scratchpad_mode_user) ==
            dnnl_success &&
        attn_onednn.primitive_attr_set_scratchpad_mode(*scaled, dnnl_scratchpad_mode_user) ==
            dnnl_success &&
        attn_onednn.post_ops_create(&factor) == dnnl_success &&
        attn_onednn.post_ops_append_eltwise(factor, dnnl_eltwise_linear, scale, 0) ==
            dnnl_success &&
        attn_onednn.primitive_attr_set_post_ops(*scaled, factor) == dnnl_success;
    if (factor)
        attn_onednn.post_ops_destroy(factor);
    return made;
}

/* Compiles what `descriptor` describes, and drops that. */
static bool compile(struct shape *shape, int which, dnnl_primitive_desc_t descriptor)
{
    const_dnnl_memory_desc_t scratchpad =
        attn_onednn.primitive_desc_query_md(descriptor, dnnl_query_scratchpad_md, 0);
    const dnnl_dim_t bytes =
        scratchpad ? (dnnl_dim_t)attn_onednn.memory_desc_get_size(scratchpad) : 0;
    const bool compiled =
        attn_onednn.memory_desc_create_with_strides(&shape->scratchpad_md[which], 1,
                                                    (dnnl_dims_t){bytes}, dnnl_u8,
                                                    (dnnl_dims_t){1}) == dnnl_success &&
        attn_onednn.primitive_create(&shape->primitive[which], descriptor) == dnnl_success;
    attn_onednn.primitive_desc_destroy(descriptor);
    return compiled;
}

static bool compile_all(struct shape *shape, dnnl_engine_t engine,
                        const_dnnl_primitive_attr_t plain, const_dnnl_primitive_attr_t scaled)
{
    dnnl_primitive_desc_t descriptor;
    return attn_onednn.matmul_primitive_desc_create(&descriptor, engine, shape->md[Q], shape->md[K],
                                                    NULL, shape->md[S], scaled) == dnnl_success &&
           compile(shape, SCORES, descriptor) &&
           attn_onednn.softmax_forward_primitive_desc_create(
               &descriptor, engine, dnnl_forward_inference, dnnl_softmax_accurate, shape->md[S],
               shape->md[S], 1, plain) == dnnl_success &&
           compile(shape, SOFTMAX, descriptor) &&
           attn_onednn.matmul_primitive_desc_create(&descriptor, engine, shape->md[P], shape->md[V],
                                                    NULL, shape->md[O], plain) == dnnl_success &&
           compile(shape, OUTPUT, descriptor);
}

/* False where the library has no such primitive; the shape is empty then. */
static bool shape_open(struct shape *shape, const struct attn_problem *p, size_t rows, size_t keys,
                       dnnl_engine_t engine, dnnl_data_type_t type)
{
    dnnl_primitive_attr_t plain = NULL, scaled = NULL;
    *shape = (struct shape){.rows = rows, .keys = keys};
    const bool opened = describe(shape, p, type) &&
                        attributes(&plain, &scaled, attn_problem_scale(p)) &&
                        compile_all(shape, engine, plain, scaled);
    if (plain)
        attn_onednn.primitive_attr_destroy(plain);
    if (scaled)
        attn_onednn.primitive_attr_destroy(scaled);
    if (!opened)
        shape_close(shape);
    return opened;
}
