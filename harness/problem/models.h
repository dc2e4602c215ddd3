/*
 * models: the attention of published models by kinds of layer, or the part of it that one of several workers
 * computes. suites/models.list has the models and describes its syntax.
 */
#pragma once

#include "base/scan.h"
#include "parse.h"

#define MODEL_KINDS 8

/* When layers of a kind compute: in a pass over S tokens, for a token after these, or both. */
enum model_role { MODEL_DECODER, MODEL_ENCODER, MODEL_PREFILL, MODEL_DECODE, MODEL_WITHOUT };

struct model_kind {
    char name[32];  /* "": the model has one kind */
    char what[112]; /* MODEL_WITHOUT: what the layers compute instead of softmax attention */
    size_t layers;
    enum model_role role;
    struct attn_problem problem; /* of one sequence, without lengths and causal mask */
    bool fixed_keys;             /* the model determines kv_len */
    size_t chunk;                /* tokens see only those of their chunk of so many; 0: all */
};

struct model {
    char name[48]; /* with "-tp4" for one of four workers */
    struct model_kind kinds[MODEL_KINDS];
    size_t count;
    char assumed[400]; /* what a config.json leaves open, and what was assumed; "": nothing */
};

/* Finds a model by NAME, or reads the config.json at a path, which has a slash or ends in .json; NAME:tpN:
 * the part of one of N workers, which divide query and KV heads.  False fills message. */
bool models_find(struct piece text, struct model *model, struct message message);

/* The role's word in models.list. */
const char *models_role(enum model_role role);

/* The name of model number `index`; NULL past the last one. */
const char *models_name(size_t index, char name[48]);

/* model_config.c: reads a model's attention from its config.json, as on the Hugging Face hub.  False fills
 * message, with the path and the field that is missing or wrong. */
bool model_config_read(const char *path, struct model *model, struct message message);
