/*
 * config_pair: encoders with a decoder, as T5, BART and Whisper are.
 */
#include "config_layers.h"

#include <stdio.h>

/* Relative positions as a bias, and no scale; what the encoder has read is as long as the text, or fixed. */
#define OF_T5 "t5,mt5,umt5"
#define OF_TEXT "bart,mbart,m2m_100,marian,pegasus,blenderbot,blenderbot-small"
#define OF_SOUND "whisper"

static struct model_kind *add(struct config *c, const char *name, size_t layers,
                              enum model_role role, size_t heads)
{
    struct model_kind *kind = config_kind(c, name);
    kind->layers = layers;
    kind->role = role;
    kind->problem = config_heads(c, heads, heads);
    if (config_is_type(c, OF_T5))
        kind->problem.scale = 1;
    return kind;
}

void config_pair(struct config *c)
{
    if (!config_is_type(c, OF_T5 "," OF_TEXT "," OF_SOUND)) {
        config_fail(c, "is_encoder_decoder is true, and model_type is none of " OF_T5 "," OF_TEXT
                       "," OF_SOUND);
        return;
    }
    const size_t encoder = config_count(c, "encoder_layers,num_layers", true),
                 decoder = config_count(c, "decoder_layers,num_decoder_layers,num_layers", true);
    const size_t encodes = config_count(c, "encoder_attention_heads,num_heads", true),
                 decodes = config_count(c, "decoder_attention_heads,num_heads", true);
    if (c->failed)
        return;
    struct model_kind *first = add(c, "encoder", encoder, MODEL_ENCODER, encodes),
                      *self = add(c, "self", decoder, MODEL_DECODE, decodes),
                      *cross = add(c, "cross", decoder, MODEL_DECODE, decodes);
    if (config_is_type(c, OF_T5))
        first->problem.mask = self->problem.mask = ATTN_MASK_BIAS;
    cross->fixed_keys = config_is_type(c, OF_SOUND);
    if (cross->fixed_keys)
        cross->problem.kv_len = config_count(c, "max_source_positions", true);
}
