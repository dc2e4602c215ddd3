/*
 * words: layers with the text of each token, and the rows of their matrices.
 */
#pragma once

#include "experiment.h"
#include "experiments/shared/layer_heads.h"

#define WORDS_NAME 512 /* bytes of a file's name, or of a prefix */

/* Splits "FILE:PREFIX" at the last colon; false if there is none. */
bool words_split_name(const char *text, char file[WORDS_NAME], char prefix[WORDS_NAME]);

/* The words of a sentence, in lower case; NULL fills message. */
json_t *words_split(const char *sentence, struct message message);

/* A layer with the text of each token.  Matrices are dense, row by row; NULL if unknown. */
struct words_layer {
    json_t *tokens; /* their texts, printable */
    size_t d_in;
    const float *x,
        *w[3]; /* (len, d_in); to q, k, v: (d_in, heads * dim) twice, (d_in, heads * v_dim) */
    struct layer_heads of; /* its q, k, v, and o if a file has it */
};

/* Open a step's layer.  False may fill work->message; the caller owns tokens in any case. */
bool words_open_sentence(struct words_layer *layer, const json_t *step,
                         struct experiment_work *work);
bool words_open_trained(struct words_layer *layer, const json_t *step,
                        struct experiment_work *work);

/* Adds rows for every matrix of a layer, and for what its heads look at. */
bool words_add_layer(const struct words_layer *layer, const json_t *step, json_t *rows,
                     struct experiment_work *work);
