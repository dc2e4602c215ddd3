/*
 * model_config: the attention of a model from its configuration, a config.json as on the Hugging Face hub.
 */
#ifndef HARNESS_PROBLEM_MODEL_CONFIG_H
#define HARNESS_PROBLEM_MODEL_CONFIG_H

#include "models.h"

/* False fills message, with the path and the field that is missing or wrong. */
bool model_config_read(const char *path, struct model *model, char *message, size_t message_size);

#endif
