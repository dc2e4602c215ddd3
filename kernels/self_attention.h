/*
 * self_attention.h: the layer around attention, from tokens to tokens.
 *
 *     Q = X Wq + bq,  K = X Wk + bk,  V = X Wv + bv        per token, heads side by side
 *     O = attention(Q, K, V)                               any kernel, per head
 *     Y = O, or O Wo + bo
 *
 * In cross-attention K and V are made from a context of another length and width instead of X.
 *
 * X, the weights and the results are f32, dense and row-major.  Masks and options are passed to the
 * attention as attention.h defines them.  Projections are CBLAS products; each block of rows is one call
 * on one thread, so that results do not depend on the thread count.
 */
#pragma once

#include "attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What to compute. */
struct attn_self_attention {
    size_t size;
    size_t batch, len, d_in; /* X is (batch, len, d_in) */
    size_t heads;
    size_t qk_dim, v_dim; /* of one head */
    size_t d_out;         /* of the output projection; 0: none, Y is (batch, len, heads * v_dim) */
    unsigned mask;        /* enum attn_mask, any but a tree */
    bool weights;         /* wants the attention weights */
    bool scale_by_v_dim;  /* scores by 1/sqrt(v_dim), not 1/sqrt(qk_dim) */
    float scale;          /* of the scores; 0: as the line above says */
    /* As in struct attn_problem, without options that change the layout: window, softcap, sinks, alibi,
     * and ragged for sequences padded to `len`. */
    unsigned options;
    float softcap;
    ptrdiff_t window_left, window_right;
    /* Cross-attention: the context is (batch, context_len, context_d_in); 0: K and V come from X. */
    size_t context_len, context_d_in;
};

/* Operands and results; NULL where absent. */
struct attn_self_attention_tensors {
    size_t size;
    const float *x;
    /* (d_in, heads * qk_dim), twice, and (d_in, heads * v_dim); of cross-attention wk and wv have
     * context_d_in rows. */
    const float *wq, *wk, *wv;
    const float *bq, *bk, *bv; /* optional */
    const float *wo, *bo;      /* (heads * v_dim, d_out) where d_out is not 0; bo optional */
    float *y;
    float *weights; /* (batch, heads, len, keys) where wanted: keys is len, or context_len */
    /* Operands of the attention, as in struct attn_tensors; strides of 0 broadcast (len, keys) or (batch,
     * 1, len, keys) to (batch, heads, len, keys). */
    struct attn_tensor bias, mask;
    struct attn_tensor sinks, slopes; /* (heads) f32 */
    struct attn_tensor kv_lens;       /* (batch) i32 */
    const float *context;             /* of cross-attention */
};

/* A layer bound to a kernel, a thread count and its workspace. */
struct attn_self_attention_plan {
    size_t size;
    struct attn_self_attention layer;
    int threads;
    /* In the workspace, to be read after a call: (batch, len, heads * dim), of k and v context_len rows. */
    float *q, *k, *v;
    float *o; /* (batch, len, heads * v_dim) where there is an output projection */
    struct attn_plan attention;
};

/* The attention inside, as a problem. */
void attn_self_attention_problem(const struct attn_self_attention *layer,
                                 struct attn_problem *problem);

/* Bytes that a plan needs, a multiple of ATTN_WORKSPACE_ALIGN; 0 where the layer makes no sense. */
size_t attn_self_attention_workspace(const struct attn_self_attention *layer,
                                     const struct attn_kernel *kernel, int threads);

/* False sets *why and leaves nothing to destroy. */
bool attn_self_attention_init(struct attn_self_attention_plan *plan,
                              const struct attn_self_attention *layer,
                              const struct attn_kernel *kernel, int threads, void *workspace,
                              size_t workspace_bytes, const char **why);
void attn_self_attention_destroy(struct attn_self_attention_plan *plan);

/* The whole layer, and its three parts in their order. */
void attn_self_attention_execute(const struct attn_self_attention_plan *plan,
                                 const struct attn_self_attention_tensors *tensors);
void attn_self_attention_project(const struct attn_self_attention_plan *plan,
                                 const struct attn_self_attention_tensors *tensors);
void attn_self_attention_attend(const struct attn_self_attention_plan *plan,
                                const struct attn_self_attention_tensors *tensors);
void attn_self_attention_output(const struct attn_self_attention_plan *plan,
                                const struct attn_self_attention_tensors *tensors);

#ifdef __cplusplus
}
#endif
