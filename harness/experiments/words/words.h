/*
 * words: the parts of the experiment of that name: a layer whose tokens are known by their texts.
 */
#ifndef HARNESS_EXPERIMENTS_WORDS_WORDS_H
#define HARNESS_EXPERIMENTS_WORDS_WORDS_H

#include "experiments/experiment.h"
#include "self_attention.h"

/* Matrices are dense, row by row; NULL where nobody knows them.  words_close(). */
struct words_layer {
    json_t *tokens; /* their texts, fit for a terminal */
    size_t len, d_in, heads, dim, v_dim;
    float *memory;    /* of all that follow */
    float *x;         /* (len, d_in) */
    float *w[3];      /* to q, k and v: (d_in, heads * dim), twice, and (d_in, heads * v_dim) */
    float *q, *k, *v; /* (heads, len, dim), twice, and (heads, len, v_dim) */
    float *o;         /* (heads, len, v_dim), as the file has it, in this type */
    enum attn_dtype o_dtype;
};

/* Memory for a layer whose lengths are set, those of x and w only where d_in is. */
bool words_alloc(struct words_layer *layer, bool with_o, struct experiment_work *work);

/* Sets q, k and v to those of x, by the layer of kernels/self_attention.h. */
bool words_project(struct words_layer *layer, const struct attn_self_attention *l,
                   const struct attn_self_attention_tensors *t, struct experiment_work *work);

/* The layer of a step: a sentence with random embeddings, one for each different word, and random weights;
 * or as a file has it.  False fills work->message and leaves nothing open. */
bool words_sentence_open(struct words_layer *layer, const json_t *step,
                         struct experiment_work *work);
bool words_trained_open(struct words_layer *layer, const json_t *step,
                        struct experiment_work *work);
void words_close(struct words_layer *layer);

/* The words of a sentence, in lower case; NULL fills message. */
json_t *words_split(const char *sentence, char *message, size_t message_size);

/* FILE and PREFIX of "FILE:PREFIX", which the last colon divides; false where there is none. */
#define WORDS_NAME 512
bool words_name(const char *text, char file[WORDS_NAME], char prefix[WORDS_NAME]);

/* The rows of an open layer: every matrix of it, and what its heads look at. */
bool words_rows(json_t *rows, const struct words_layer *layer, const json_t *step,
                struct experiment_work *work);

/* Tables and sentences; false where numbers differ from those that are known. */
bool words_report(const json_t *rows);

#endif
