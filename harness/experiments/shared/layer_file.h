/*
 * layer_file: layers of safetensors files, found where the files of cases are (tests/data/README.md).
 *
 * A layer with its input and weights:
 *
 *     PREFIXx                 (B, S, d_in)       input; (S, d_in) of one sequence, and o and y then, too
 *     PREFIXwq, wk, wv        (d_in, H * D)      weights, as (input, output); wq.weight and wq.bias of a
 *                                                torch.nn.Linear, as (output, input), are taken, too, and
 *                                                in_proj_weight (or q_proj_weight and so on, of a kdim or
 *                                                vdim of its own), in_proj_bias, out_proj.weight and
 *                                                out_proj.bias of a torch.nn.MultiheadAttention
 *     PREFIXbq, bk, bv        (H * D)            biases, each optional
 *     PREFIXwo, bo            (H * D, d_out), (d_out)   output projection, optional
 *     PREFIXo                 (B, H, S, D)       output of attention, optional: checked if there is
 *                                                no wo, and gives the number of heads
 *     PREFIXy                 (B, S, d_out or H * D)    output of the layer, optional: checked
 *     PREFIXcontext           (B, Skv, d_context)       of cross-attention: what K and V are made from, with
 *                                                wk and wv of (d_context, H * D)
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_LAYER_FILE_H
#define HARNESS_EXPERIMENTS_SHARED_LAYER_FILE_H

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

/* Data of a file lies in memory of the step. */
struct layer_file {
    struct attn_self_attention layer;
    float *data[LAYER_TENSORS]; /* NULL where the file has none */
    enum layer_tensor output;   /* which tensor is the layer's output: LAYER_Y or LAYER_O */
    enum attn_dtype dtype;      /* in which it is stored */
};

/* The file, found; NULL fills the message.  A tensor of it in memory of the step; `turned`: a matrix that is
 * stored the other way round. */
struct safetensors *layer_file_in(const char *path, struct experiment_work *work);
float *layer_file_copy(const struct safetensor *tensor, bool turned, struct experiment_work *work);

/* `heads` 0: as in o.  False names the tensor that is missing or has another shape or type. */
bool layer_file_open(struct layer_file *file, const char *path, const char *prefix, size_t heads,
                     struct experiment_work *work);

/* Operands for the layer, with its output in y. */
struct attn_self_attention_tensors layer_file_tensors(const struct layer_file *file, float *y);

/* The tolerance of an output whose largest element this is, each a sum of d_in products; below 384 all are
 * treated alike. */
double layer_file_allowed(double largest, size_t d_in, enum attn_dtype dtype);

#endif
