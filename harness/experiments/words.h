/*
 * words: layers whose tokens are known by their texts, and the rows of their matrices.
 */
#ifndef HARNESS_EXPERIMENTS_WORDS_H
#define HARNESS_EXPERIMENTS_WORDS_H

#include "experiment.h"
#include "experiments/shared/layer_heads.h"

#define WORDS_NAME 512 /* bytes of a file's name, or of a prefix */

/* FILE and PREFIX of "FILE:PREFIX", which the last colon divides; false where there is none. */
bool words_split_name(const char *text, char file[WORDS_NAME], char prefix[WORDS_NAME]);

/* The words of a sentence, in lower case; NULL fills message. */
json_t *words_split(const char *sentence, char *message, size_t message_size);

/* A layer whose tokens are known by their texts.  Matrices are dense, row by row; NULL where nobody knows
 * them. */
struct words_layer {
    json_t *tokens; /* their texts, fit for a terminal */
    size_t d_in;
    const float *x,
        *w[3]; /* (len, d_in); to q, k and v: (d_in, heads * dim), twice, and (d_in, heads * v_dim) */
    struct layer_heads of; /* o as the file has it */
};

/* The layer of a step.  False may fill the message; tokens are the caller's in any case. */
bool words_open_sentence(struct words_layer *layer, const json_t *step,
                         struct experiment_work *work);
bool words_open_trained(struct words_layer *layer, const json_t *step,
                        struct experiment_work *work);

/* Every matrix of a layer, and what its heads look at. */
bool words_add_layer(const struct words_layer *layer, const json_t *step, json_t *rows,
                     struct experiment_work *work);

#endif
