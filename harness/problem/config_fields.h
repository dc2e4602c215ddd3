/*
 * config_fields: reads and verifies fields of a config.json.  Internal to model_config.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "models.h"

struct config {
    const char *path;
    const json_t *own, *outer; /* the part of the text model, and the whole file */
    struct model *model;
    struct message message;
    bool failed;
};

/* Known values of model_type: encoders; encoders with a decoder: like T5, with relative positions as a bias
 * and no scale; for text, with as many encoded tokens as the decoder has; for sound, with a fixed number of
 * them; and decoders, whose other fields determine each layer. */
#define CONFIG_ENCODERS                                                                  \
    "bert,roberta,xlm-roberta,distilbert,electra,deberta-v2,modernbert,vit,deit,dinov2," \
    "clip_vision_model,siglip_vision_model"
#define CONFIG_OF_T5 "t5,mt5,umt5"
#define CONFIG_OF_TEXT "bart,mbart,m2m_100,marian,pegasus,blenderbot,blenderbot-small"
#define CONFIG_OF_SOUND "whisper"
#define CONFIG_DECODERS                                                                           \
    "llama,llama4,llama4_text,mistral,mistral3,ministral,ministral3,mixtral,gemma,gemma2,gemma3," \
    "gemma3_text,gemma3n,gemma3n_text,gemma4,gemma4_text,qwen2,qwen2_moe,qwen2_vl,qwen2_5_vl,"    \
    "qwen3,qwen3_moe,qwen3_next,qwen3_vl,phi,phi3,phimoe,gpt2,gptj,gpt_neox,gpt_bigcode,gpt_oss," \
    "bloom,falcon,opt,starcoder2,stablelm,granite,granitemoe,cohere,cohere2,olmo,olmo2,olmo3,"    \
    "olmoe,smollm3,nemotron,internlm2,glm,glm4,glm4_moe,exaone4,ernie4_5,seed_oss,deepseek_v2,"   \
    "deepseek_v3,deepseek_v32,kimi_k2,RefinedWeb,RefinedWebModel"

/* Records an error; only the first one counts. */
__attribute__((format(printf, 2, 3))) void config_fail(struct config *c, const char *format, ...);

/* The value of the first field present among comma-separated names; NULL: none. */
const json_t *config_field(const struct config *c, const char *names);

/* A whole number of at least 1; 0 if the file has none, an error if it is needed. */
size_t config_count(struct config *c, const char *names, bool needed);

bool config_is_true(const struct config *c, const char *name);

/* Whether model_type is one of comma-separated types. */
bool config_is_type(const struct config *c, const char *types);

/* Fails if the name of a field or type is one typing error from a known one, or if a field is missing that
 * files of this type always have. */
void config_names(struct config *c);

/* Fills model->assumed with properties that no field determined, after the kinds are known. */
void config_assumed(struct config *c);

/* ---- config_layers.c: from fields to kinds of layer ------------------------------------------ */

/* Determines the kinds of layer of a decoder or an encoder.  Names and defaults of fields are those of the
 * transformers library's configuration classes.  A field that determines what a layer computes is refused if
 * its value is unknown. */
void config_layers(struct config *c);

/* The kinds of a model with encoder and decoder: `encoder`, and the decoder's `self` and `cross`. */
void config_pair(struct config *c);
