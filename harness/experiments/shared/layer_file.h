/*
 * layer_file: layers in safetensors files, searched in the folders of cases' files (tests/data/README.md).
 *
 * A layer with its input and weights:
 *
 *     PREFIXx                 (B, S, d_in)       input; B may be left out of x, o and y for one sequence
 *     PREFIXwq, wk, wv        (d_in, H * D)      weights, as (input, output); or the (output, input) of
 *                                                torch.nn.Linear, wq.weight and wq.bias, or of
 *                                                torch.nn.MultiheadAttention, in_proj_weight (with kdim or
 *                                                vdim q_proj_weight and so on), in_proj_bias,
 *                                                out_proj.weight and out_proj.bias
 *     PREFIXbq, bk, bv        (H * D)            biases, each optional
 *     PREFIXwo, bo            (H * D, d_out), (d_out)   output projection, optional
 *     PREFIXo                 (B, H, S, D)       output of attention, optional: checked if there is
 *                                                no wo, and gives the number of heads
 *     PREFIXy                 (B, S, d_out or H * D)    output of the layer, optional: checked
 *     PREFIXcontext           (B, Skv, d_context)       of cross-attention: input of K and V, whose weights
 *                                                are (d_context, H * D)
 */
#pragma once

#include "experiments/experiment.h"
#include "problem/safetensors.h"
#include "self_attention.h"

enum layer_tensor {
    LAYER_X,
    LAYER_WQ,
    LAYER_WK,
    LAYER_WV,
    LAYER_BQ,
    LAYER_BK,
    LAYER_BV,
    LAYER_WO,
    LAYER_BO,
    LAYER_O,
    LAYER_Y,
    LAYER_CONTEXT,
    LAYER_TENSORS
};

/* Data lies in the step's memory (experiment_alloc()). */
struct layer_file {
    struct attn_self_attention layer;
    float *data[LAYER_TENSORS]; /* NULL where the file has none */
    enum layer_tensor output;   /* which tensor is the layer's output: LAYER_Y or LAYER_O */
    enum attn_dtype dtype;      /* of the file's tensors */
};

/* Finds and opens the file; NULL fills work->message.  Copies a tensor of it to the step's memory; `turned`:
 * transposed. */
struct safetensors *layer_file_in(const char *path, struct experiment_work *work);
float *layer_file_copy(const struct safetensor *tensor, bool turned, struct experiment_work *work);

/* `heads` 0: as many as o has.  False fills work->message with the tensor that is missing or has another
 * shape or type. */
bool layer_file_open(struct layer_file *file, const char *path, const char *prefix, size_t heads,
                     struct experiment_work *work);

/* The layer's operands, with y as its output. */
struct attn_self_attention_tensors layer_file_tensors(const struct layer_file *file, float *y);

/* The absolute tolerance for an output with this largest element, from sums of d_in products; the same for
 * all d_in below 384. */
double layer_file_allowed(double largest, size_t d_in, enum attn_dtype dtype);
