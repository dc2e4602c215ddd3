/*
 * library.h: oneDNN, loaded at run time for its kernels.
 *
 * The program needs its headers to be built with these kernels and its library to run them, each of
 * any 3.x: functions are called through the table below, and nothing is linked.
 */
#pragma once

#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_graph.h>

#include "attention.h"

/* What is called of it, without the prefix dnnl_. */
#define ONEDNN_FUNCTIONS(F)                        \
    F(version)                                     \
    F(get_effective_cpu_isa)                       \
    F(engine_create)                               \
    F(engine_destroy)                              \
    F(stream_create)                               \
    F(stream_destroy)                              \
    F(stream_wait)                                 \
    F(memory_desc_create_with_strides)             \
    F(memory_desc_destroy)                         \
    F(memory_desc_get_size)                        \
    F(memory_create)                               \
    F(memory_destroy)                              \
    F(memory_set_data_handle)                      \
    F(post_ops_create)                             \
    F(post_ops_destroy)                            \
    F(post_ops_append_eltwise)                     \
    F(primitive_attr_create)                       \
    F(primitive_attr_destroy)                      \
    F(primitive_attr_set_post_ops)                 \
    F(primitive_attr_set_scratchpad_mode)          \
    F(matmul_primitive_desc_create)                \
    F(softmax_forward_primitive_desc_create)       \
    F(primitive_desc_query_md)                     \
    F(primitive_desc_destroy)                      \
    F(primitive_create)                            \
    F(primitive_destroy)                           \
    F(primitive_execute)                           \
    F(graph_set_compiled_partition_cache_capacity) \
    F(graph_allocator_create)                      \
    F(graph_allocator_destroy)                     \
    F(graph_make_engine_with_allocator)            \
    F(graph_logical_tensor_init_with_strides)      \
    F(graph_logical_tensor_init_with_dims)         \
    F(graph_tensor_create)                         \
    F(graph_tensor_destroy)                        \
    F(graph_tensor_set_data_handle)                \
    F(graph_op_create)                             \
    F(graph_op_destroy)                            \
    F(graph_op_add_input)                          \
    F(graph_op_add_output)                         \
    F(graph_op_set_attr_s64)                       \
    F(graph_op_set_attr_bool)                      \
    F(graph_graph_create)                          \
    F(graph_graph_destroy)                         \
    F(graph_add_op)                                \
    F(graph_graph_finalize)                        \
    F(graph_graph_filter)                          \
    F(graph_graph_get_partition_num)               \
    F(graph_graph_get_partitions)                  \
    F(graph_partition_is_supported)                \
    F(graph_partition_compile)                     \
    F(graph_partition_destroy)                     \
    F(graph_compiled_partition_create)             \
    F(graph_compiled_partition_execute)            \
    F(graph_compiled_partition_destroy)

struct onednn {
#define F(name) __typeof__(dnnl_##name) *name;
    ONEDNN_FUNCTIONS(F)
#undef F
};

/* Functions are NULL until the library is loaded. */
extern struct onednn attn_onednn;
extern const struct attn_library attn_onednn_library;
