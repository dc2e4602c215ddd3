/*
 * models: the attention of published models, by kinds of layer, and the part of it that one of several
 * workers computes.  suites/models.list has the models, and describes the form of its lines.
 */
#ifndef HARNESS_PROBLEM_MODELS_H
#define HARNESS_PROBLEM_MODELS_H

#include "base/scan.h"
#include "parse.h"

#define MODEL_KINDS 8

/* When layers of a kind compute: in a pass over S tokens, and for a token that comes after. */
enum model_role { MODEL_DECODER, MODEL_ENCODER, MODEL_PREFILL, MODEL_DECODE, MODEL_WITHOUT };

struct model_kind {
    char name[32];  /* "" of a model's only one */
    char what[112]; /* MODEL_WITHOUT: what the layers have in place of softmax attention */
    size_t layers;
    enum model_role role;
    struct attn_problem problem; /* of one sequence: without lengths, without a causal mask */
    bool fixed_keys;             /* kv_len is the model's own */
    size_t chunk;                /* tokens that see each other alone; 0: all */
};

struct model {
    char name[48]; /* with "-tp4" of one of four workers */
    struct model_kind kinds[MODEL_KINDS];
    size_t count;
    char assumed[400]; /* of a config.json: what it leaves open, and how it was read; "" nothing */
};

/* The model of that name, or of the config.json at that path, with a slash or .json: NAME or NAME:tpN, one of
 * N workers among which query and KV heads are divided. */
bool models_find(struct piece text, struct model *model, char *message, size_t message_size);

/* Its word in models.list. */
const char *models_role(enum model_role role);

/* The name of each model in turn; NULL past the last one. */
const char *models_name(size_t index, char name[48]);

/* model_config.c: the attention of a model from its configuration, a config.json as on the Hugging Face hub.
 * False fills message, with the path and the field that is missing or wrong. */
bool model_config_read(const char *path, struct model *model, char *message, size_t message_size);

#endif
