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

/* Known values of model_type: encoders; encoders with a decoder, as T5, which has relative positions as a
 * bias and no scale, or with as many encoded tokens as text, or for sound, with a fixed number; and
 * decoders, whose other fields say what each layer computes. */
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

/* Notes what is wrong; of several, the first. */
__attribute__((format(printf, 2, 3))) void config_fail(struct config *c, const char *format, ...);

/* The value of the first of some names, comma separated; NULL where none has one. */
const json_t *config_field(const struct config *c, const char *names);

/* A whole number from 1 on; 0 where the file has none, which fails where it is needed. */
size_t config_count(struct config *c, const char *names, bool needed);

bool config_is_true(const struct config *c, const char *name);

/* Whether the model is of one of some types, comma separated. */
bool config_is_type(const struct config *c, const char *types);

/* Fails where a name in the file, of a field or a type, is one typing error from one that is known, or where
 * a field is missing that files of this type always have. */
void config_names(struct config *c);

/* Writes what no field said into model->assumed, once there are kinds. */
void config_assumed(struct config *c);

/* ---- config_layers.c: to kinds of layer ------------------------------------------------------ */

/* Names of fields are those of the transformers library, whose configuration classes say what each is where
 * the file leaves it out.  A field that decides what a layer computes and has an unknown value is refused.
 * The kinds of layer of a model that is a decoder or an encoder alone. */
void config_layers(struct config *c);

/* Those of an encoder and a decoder: `encoder`, `self`, and `cross` of the decoder on what was encoded. */
void config_pair(struct config *c);

#endif
