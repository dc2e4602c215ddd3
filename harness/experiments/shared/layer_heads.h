/*
 * layer_heads: the operands of attention in safetensors files, for one sequence, found where the files of
 * cases are:
 *
 *     PREFIXq, k              (1, H, S, D)
 *     PREFIXv, o              (1, H, S, Dv)      o is optional
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_LAYER_HEADS_H
#define HARNESS_EXPERIMENTS_SHARED_LAYER_HEADS_H

#include "attention.h"
#include "experiments/experiment.h"

/* (heads, len, dim) each, v and o (heads, len, v_dim); o NULL where the file has none. */
struct layer_heads {
    size_t heads, len, dim, v_dim;
    float *q, *k, *v, *o;
    enum attn_dtype o_dtype;
};

/* Those of a file; false names the tensor that is missing or of another shape. */
bool layer_heads_open(struct layer_heads *heads, const char *path, const char *prefix,
                      struct experiment_work *work);

/* ---- the layers of a transformer that come with the program ----------------------------------- */

/* The last has a NULL file. */
struct real_name {
    const char *file, *prefix;
};
extern const struct real_name real_layers[];

/* A copy of `base` with file and prefix of each; steals it. */
void real_steps(json_t *steps, json_t *base);

/* The heads of a step's file and prefix. */
bool real_open(struct layer_heads *heads, const json_t *step, struct experiment_work *work);

/* Parameters of a row of head `h`: those of the step, head, d, and its length by this name. */
json_t *real_params(const json_t *step, const struct layer_heads *heads, size_t h,
                    const char *length);

#endif
