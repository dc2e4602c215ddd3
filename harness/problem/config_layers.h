/*
 * config_layers: the fields of a config.json to kinds of layer.  Internal to model_config.
 *
 * Names of fields are those of the transformers library, whose configuration classes say what each is where
 * the file leaves it out.  A field that decides what a layer computes and has an unknown value is refused.
 */
#ifndef HARNESS_PROBLEM_CONFIG_LAYERS_H
#define HARNESS_PROBLEM_CONFIG_LAYERS_H

#include "config_fields.h"

/* The kinds of layer of a model that is a decoder or an encoder alone. */
void config_layers(struct config *c);

/* Those of an encoder and a decoder: `encoder`, `self`, and `cross` of the decoder on what was encoded. */
void config_pair(struct config *c);

/* ---- of both --------------------------------------------------------------------------------- */

/* Layers that compute softmax attention with some heads: types, head size and scale from the file. */
struct attn_problem config_heads(struct config *c, size_t heads, size_t kv_heads);

/* The model's kind of that name, a new one where it is not there; NULL where there are too many. */
struct model_kind *config_kind(struct config *c, const char *name);

#endif
