/*
 * config_fields: the fields of a config.json, and what is wrong with them.  Internal to model_config.
 */
#ifndef HARNESS_PROBLEM_CONFIG_FIELDS_H
#define HARNESS_PROBLEM_CONFIG_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "models.h"

struct config {
    const char *path;
    const json_t *own, *outer; /* the text model's part of a larger model, and the whole */
    struct model *model;
    char *message;
    size_t message_size;
    bool failed;
};

/* Notes what is wrong; of several, the first. */
__attribute__((format(printf, 2, 3))) void config_fail(struct config *c, const char *format, ...);

/* The value of the first of some names, comma separated; NULL where none has one. */
const json_t *config_field(const struct config *c, const char *names);

/* A whole number from 1 on; 0 where the file has none, which fails where it is needed. */
size_t config_count(struct config *c, const char *names, bool needed);

bool config_is_true(const struct config *c, const char *name);

/* Whether the model is of one of some types, comma separated. */
bool config_is_type(const struct config *c, const char *types);

/* ---- config_layers.c: to kinds of layer ------------------------------------------------------ */

/* Names of fields are those of the transformers library, whose configuration classes say what each is where
 * the file leaves it out.  A field that decides what a layer computes and has an unknown value is refused.
 * The kinds of layer of a model that is a decoder or an encoder alone. */
void config_layers(struct config *c);

/* Those of an encoder and a decoder: `encoder`, `self`, and `cross` of the decoder on what was encoded. */
void config_pair(struct config *c);

#endif
