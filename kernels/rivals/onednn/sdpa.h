/*
 * sdpa.h: part of kernel onednn_graph: the pattern, compiled.
 *
 *     MatMul(Q, K, transpose_b) -> Multiply(scale) -> Add(mask) -> SoftMax -> MatMul(V)
 *     -> StaticTranspose(heads and rows) -> Reorder
 *
 * The mask is left out where nothing is hidden, and so are the last two.  Version 3.2 knows the
 * pattern as one with the mask and with the turned output that frameworks want: it gets a mask of a
 * single 0, and the strides of the output turn it back.  Scores are float: in bf16 they would be rounded,
 * and where the library cannot do otherwise (3.7 cannot, 3.12 can) the pattern is refused.  Weights are of
 * the type of V.
 */
#pragma once

#include <string.h>

#include "library.h"

/* Inputs in the order of their numbers, then the output, then what stands between them. */
enum { Q, K, SCALE, V, MASK, O, SCORES, SCALED, MASKED, WEIGHTS, PRODUCT, TURNED, TENSORS };
enum { INPUTS = MASK + 1 };

/* (batch, heads, rows, dim) of each, and their strides in elements. */
struct sdpa_shape {
    dnnl_dims_t dims[TENSORS], strides[TENSORS];
    dnnl_data_type_t type;
    bool masked; /* the mask hides something */
};

struct sdpa {
    dnnl_engine_t engine;
    dnnl_graph_allocator_t allocator;
    dnnl_stream_t stream;
    dnnl_graph_graph_t graph;
    dnnl_graph_partition_t partition;
    dnnl_graph_compiled_partition_t compiled;
    dnnl_graph_logical_tensor_t logical[TENSORS];
    dnnl_graph_tensor_t tensor[O + 1];
    int inputs; /* the first so many */
    bool turned;
};

/* Drops what was drawn and compiled. */
static void erase(struct sdpa *s)
{
    for (int i = 0; i <= O; i++)
        if (s->tensor[i])
            attn_onednn.graph_tensor_destroy(s->tensor[i]);
    if (s->compiled)
        attn_onednn.graph_compiled_partition_destroy(s->compiled);
    if (s->partition)
        attn_onednn.graph_partition_destroy(s->partition);
    if (s->graph)
        attn_onednn.graph_graph_destroy(s->graph);
    memset(s->tensor, 0, sizeof s->tensor);
    s->compiled = NULL;
    s->partition = NULL;
    s->graph = NULL;
}

static void sdpa_close(struct sdpa *s)
{
    erase(s);
    if (s->stream)
        attn_onednn.stream_destroy(s->stream);
    if (s->engine)
        attn_onednn.engine_destroy(s->engine);
    if (s->allocator)
        attn_onednn.graph_allocator_destroy(s->allocator);
}

static bool describe(struct sdpa *s, const struct sdpa_shape *shape)
{
    bool described = true;
    for (int i = 0; described && i < TENSORS; i++) {
        const bool inside = i > O && i < WEIGHTS, turned = i == TURNED || (i == O && s->turned);
        const dnnl_dim_t *n = shape->dims[i], *stride = shape->strides[i];
        const dnnl_dims_t dims = {n[0], n[turned ? 2 : 1], n[turned ? 1 : 2], n[3]};
        const dnnl_dims_t strides = {stride[0], stride[turned ? 2 : 1], stride[turned ? 1 : 2],
                                     stride[3]};
        const dnnl_data_type_t type = inside || i == SCALE || i == MASK ? dnnl_f32 : shape->type;
        const dnnl_graph_tensor_property_t property =
            i == SCALE ? dnnl_graph_tensor_property_constant : dnnl_graph_tensor_property_variable;
        described = attn_onednn.graph_logical_tensor_init_with_strides(
                        &s->logical[i], (size_t)i, type, i == SCALE ? 1 : 4, dims, strides,
                        property) == dnnl_success;
    }
    return described;
}

static bool attribute(dnnl_graph_op_t op, dnnl_graph_op_kind_t kind, int b)
{
    static const int64_t last = -1, turned[] = {0, 2, 1, 3};
    static const uint8_t yes = 1;
    dnnl_status_t set = dnnl_success;
    if (kind == dnnl_graph_op_softmax)
        set = attn_onednn.graph_op_set_attr_s64(op, dnnl_graph_op_attr_axis, &last, 1);
    if (kind == dnnl_graph_op_static_transpose)
        set = attn_onednn.graph_op_set_attr_s64(op, dnnl_graph_op_attr_order, turned, 4);
    if (b == K)
        set = attn_onednn.graph_op_set_attr_bool(op, dnnl_graph_op_attr_transpose_b, &yes, 1);
    return set == dnnl_success;
}

/* Adds an operation from tensor a, and b where there is one, to another. */
static bool add(struct sdpa *s, dnnl_graph_op_kind_t kind, int a, int b, int to)
{
    dnnl_graph_op_t op = NULL;
    const bool added =
        attn_onednn.graph_op_create(&op, (size_t)to, kind, "sdpa") == dnnl_success &&
        attn_onednn.graph_op_add_input(op, &s->logical[a]) == dnnl_success &&
        (b < 0 || attn_onednn.graph_op_add_input(op, &s->logical[b]) == dnnl_success) &&
        attn_onednn.graph_op_add_output(op, &s->logical[to]) == dnnl_success &&
        attribute(op, kind, b) && attn_onednn.graph_add_op(s->graph, op) == dnnl_success;
    if (op)
        attn_onednn.graph_op_destroy(op);
    return added;
}

/* The pattern as one partition; false where the library takes it apart or not at all. */
static bool draw(struct sdpa *s)
{
    const bool masked = s->inputs > MASK;
    size_t count = 0;
    uint8_t supported = 0;
    return attn_onednn.graph_graph_create(&s->graph, dnnl_cpu) == dnnl_success &&
           add(s, dnnl_graph_op_matmul, Q, K, SCORES) &&
           add(s, dnnl_graph_op_multiply, SCORES, SCALE, SCALED) &&
           (!masked || add(s, dnnl_graph_op_add, SCALED, MASK, MASKED)) &&
           add(s, dnnl_graph_op_softmax, masked ? MASKED : SCALED, -1, WEIGHTS) &&
           add(s, dnnl_graph_op_matmul, WEIGHTS, V, s->turned ? PRODUCT : O) &&
           (!s->turned || (add(s, dnnl_graph_op_static_transpose, PRODUCT, -1, TURNED) &&
                           add(s, dnnl_graph_op_reorder, TURNED, -1, O))) &&
           attn_onednn.graph_graph_finalize(s->graph) == dnnl_success &&
           attn_onednn.graph_graph_filter(s->graph, dnnl_graph_partition_policy_fusion) ==
               dnnl_success &&
           attn_onednn.graph_graph_get_partition_num(s->graph, &count) == dnnl_success &&
           count == 1 &&
           attn_onednn.graph_graph_get_partitions(s->graph, 1, &s->partition) == dnnl_success &&
           attn_onednn.graph_partition_is_supported(s->partition, &supported) == dnnl_success &&
           supported;
}

static bool compile(struct sdpa *s)
{
    const dnnl_graph_logical_tensor_t *inputs[INPUTS], *output = &s->logical[O];
    for (int i = 0; i < s->inputs; i++)
        inputs[i] = &s->logical[i];
    bool compiled =
        attn_onednn.graph_compiled_partition_create(&s->compiled, s->partition) == dnnl_success &&
        attn_onednn.graph_partition_compile(s->partition, s->compiled, (size_t)s->inputs, inputs, 1,
                                            &output, s->engine) == dnnl_success;
    for (int i = 0; compiled && i <= O; i++)
        compiled = (i >= s->inputs && i != O) ||
                   attn_onednn.graph_tensor_create(&s->tensor[i], &s->logical[i], s->engine,
                                                   NULL) == dnnl_success;
    return compiled;
}

/* The pattern without what it does not need, else as 3.2 knows it. */
static bool open_drawing(struct sdpa *s, const struct sdpa_shape *shape)
{
    for (int old = 0; old <= 1; old++) {
        s->inputs = shape->masked || old ? INPUTS : MASK;
        s->turned = old;
        if (describe(s, shape) && draw(s) && compile(s))
            return true;
        erase(s);
    }
    return false;
}

/* False where the library does not compile it; the caller closes it then too. */
static bool sdpa_open(struct sdpa *s, const struct sdpa_shape *shape,
                      dnnl_graph_host_allocate_f take, dnnl_graph_host_deallocate_f give)
{
    /* A partition that is kept would be used for the next plan, whose engine is another: 3.6 aborts. */
    return attn_onednn.graph_set_compiled_partition_cache_capacity(0) == dnnl_success &&
           attn_onednn.graph_allocator_create(&s->allocator, take, give) == dnnl_success &&
           attn_onednn.graph_make_engine_with_allocator(&s->engine, dnnl_cpu, 0, s->allocator) ==
               dnnl_success &&
           attn_onednn.stream_create(&s->stream, s->engine, dnnl_stream_in_order) == dnnl_success &&
           open_drawing(s, shape);
}

static void sdpa_place(struct sdpa *s, int tensor, const void *data)
{
    if (tensor < s->inputs || tensor == O)
        attn_onednn.graph_tensor_set_data_handle(s->tensor[tensor], (void *)data);
}

static void sdpa_run(struct sdpa *s)
{
    const_dnnl_graph_tensor_t inputs[INPUTS], output = s->tensor[O];
    for (int i = 0; i < s->inputs; i++)
        inputs[i] = s->tensor[i];
    attn_onednn.graph_compiled_partition_execute(s->compiled, s->stream, (size_t)s->inputs, inputs,
                                                 1, &output);
    attn_onednn.stream_wait(s->stream);
}
