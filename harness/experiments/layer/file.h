/*
 * file: a self-attention layer from a safetensors file.
 *
 *     PREFIXx                 (B, S, d_in)       input; (S, d_in) of one sequence, and o and y then, too
 *     PREFIXwq, wk, wv        (d_in, H * D)      weights, as (input, output); wq.weight and wq.bias of a
 *                                                torch.nn.Linear, as (output, input), are taken, too
 *     PREFIXbq, bk, bv        (H * D)            biases, each optional
 *     PREFIXwo, bo            (H * D, d_out), (d_out)   output projection, optional
 *     PREFIXo                 (B, H, S, D)       what attention gave, optional: checked where there
 *                                                is no wo, and says how many heads there are
 *     PREFIXy                 (B, S, d_out or H * D)    what the layer gave, optional: checked
 */
#ifndef HARNESS_EXPERIMENTS_LAYER_FILE_H
#define HARNESS_EXPERIMENTS_LAYER_FILE_H

#include <stdbool.h>

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
    LAYER_TENSORS
};

struct layer_file {
    struct attn_self_attention layer;
    float *data[LAYER_TENSORS]; /* owned; NULL where the file has none */
    enum attn_dtype dtype;      /* in which the output is stored */
};

/* Searches where the files of cases are.  `heads` 0: as o says.  False names the tensor that is
 * missing, of another shape or of another type, and leaves nothing open. */
bool layer_file_open(struct layer_file *file, const char *path, const char *prefix, size_t heads,
                     char *message, size_t message_size);
void layer_file_close(struct layer_file *file);

/* Operands for the layer, with its output in y. */
struct attn_self_attention_tensors layer_file_tensors(const struct layer_file *file, float *y);

/* Elements of the output. */
size_t layer_file_outputs(const struct layer_file *file);

/* Largest difference of an output from the file's, NaN where it has none; and the largest that
 * rounding explains. */
double layer_file_difference(const struct layer_file *file, const float *y);
double layer_file_tolerance(const struct layer_file *file);

/* The same of any output with such a largest element, from d_in products (0: from fewer than 384). */
double layer_file_allowed(double largest, size_t d_in, enum attn_dtype dtype);

#endif
