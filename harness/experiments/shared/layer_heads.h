/*
 * layer_heads: attention operands of one sequence in safetensors files, searched in the folders of cases'
 * files:
 *
 *     PREFIXq, k              (1, H, S, D)
 *     PREFIXv, o              (1, H, S, Dv)      o is optional
 */
#pragma once

#include "attention.h"
#include "experiments/experiment.h"

/* q and k are (heads, len, dim), v and o (heads, len, v_dim); o is NULL if the file has none. */
struct layer_heads {
    size_t heads, len, dim, v_dim;
    float *q, *k, *v, *o;
    enum attn_dtype o_dtype;
};

/* Reads a file's; false fills work->message with the tensor that is missing or has another shape. */
bool layer_heads_open(struct layer_heads *heads, const char *path, const char *prefix,
                      struct experiment_work *work);

/* ---- the layers of a transformer that come with the program ----------------------------------- */

/* The last has a NULL file. */
struct layer_heads_name {
    const char *file, *prefix;
};
extern const struct layer_heads_name layer_heads_real[];

/* Adds a step for each: a copy of `base`, which is stolen, with file and prefix. */
void layer_heads_steps(json_t *steps, json_t *base);

/* A row's parameters for head h: the step's, "head", "d", and the number of tokens under the key `length`. */
json_t *layer_heads_params(const json_t *step, const struct layer_heads *heads, size_t h,
                           const char *length);
