/*
 * config_fields: reads fields, and refuses likely misspellings.
 */
#include "config_fields.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/scan.h"

#define MOST 1000000 /* largest count in a configuration */
#define NAMES 160    /* bytes of all names of a field */

void config_fail(struct config *c, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!c->failed)
        message_print_file(c->message, c->path, "%s", text);
    c->failed = true;
}

/* The fields that are read, in groups of synonyms. */
static const char *const fields[] = {
    "model_type",
    "torch_dtype,dtype",
    "text_config",
    "is_encoder_decoder",
    "layer_types",
    "num_hidden_layers,n_layer,num_layers,n_layers,encoder_layers",
    "num_attention_heads,n_head,num_heads,n_heads,encoder_attention_heads",
    "head_dim,d_kv",
    "hidden_size,n_embd,n_embed,d_model,dim",
    "num_key_value_heads,num_kv_heads,n_head_kv",
    "multi_query",
    "alibi",
    "query_pre_attn_scalar",
    "attention_multiplier",
    "attn_logit_softcapping",
    "sliding_window",
    "use_sliding_window",
    "sliding_window_pattern,_sliding_window_pattern",
    "max_window_layers",
    "full_attention_interval",
    "attention_chunk_size",
    "global_head_dim",
    "num_global_key_value_heads",
    "kv_lora_rank",
    "qk_rope_head_dim",
    "qk_nope_head_dim",
    "v_head_dim",
    "index_topk",
    "decoder_layers,num_decoder_layers,num_layers",
    "decoder_attention_heads,num_heads",
    "max_source_positions",
};

/* Whether a field of that name is read. */
static bool is_read(const char *name)
{
    bool found = false;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        found = found || piece_listed(fields[i], name);
    return found;
}

const json_t *config_field(const struct config *c, const char *names)
{
    char name[64];
    struct piece rest = piece_of(names), item;
    while (piece_next(&rest, &item)) {
        if (!piece_copy(item, name, sizeof name))
            continue;
        assert(is_read(name) && "else a name that is nearly right goes unnoticed");
        const json_t *value = json_object_get(c->own, name);
        value = value ? value : json_object_get(c->outer, name);
        if (value && !json_is_null(value))
            return value;
    }
    return NULL;
}

/* "num_layers or n_layer" of "num_layers,n_layer" */
static const char *any_of(const char *names, char text[NAMES])
{
    struct piece rest = {names, strlen(names)};
    *text = 0;
    for (bool more = true; more;) {
        const struct piece name = piece_split(&rest, ",", &more);
        message_add(text, NAMES, "%s%.*s", *text ? " or " : "", (int)name.length, name.at);
    }
    return text;
}

size_t config_count(struct config *c, const char *names, bool needed)
{
    char all[NAMES];
    const json_t *value = config_field(c, names);
    const json_int_t n = json_integer_value(value);
    if (!value && needed)
        config_fail(c, "no field %s", any_of(names, all));
    else if (value && (!json_is_integer(value) || n < 1 || n > MOST))
        config_fail(c, "%s is not a whole number from 1 to %d", any_of(names, all), MOST);
    return n >= 1 && n <= MOST ? (size_t)n : 0;
}

bool config_is_true(const struct config *c, const char *name)
{
    return json_is_true(config_field(c, name));
}

bool config_is_type(const struct config *c, const char *types)
{
    const char *type = json_string_value(config_field(c, "model_type"));
    return type && piece_listed(types, type);
}

/* ---- names that are nearly right ------------------------------------------------------------- */

/* Fields with another meaning whose names are one edit from these: all in the classes of transformers
 * 5.24. */
#define OTHER_FIELDS "hidden_sizes,layer_type,sliding_windows,d_head,l_layers,r_layers,x_layers"
#define OTHER_TYPES                                                                            \
    "gpt_neo,deepseek_vl,glm4v_moe,llava,mllama,modernvbert,molmo2,pixtral,blip_vision_model," \
    "xclip_vision_model"

#define SHORTEST 5 /* letters: shorter names may legitimately differ by one, like bert and beit */
#define NAME 64

static bool is_given(const struct config *c, const char *name)
{
    return json_object_get(c->own, name) || json_object_get(c->outer, name);
}

/* The next of the names that is one edit from `given`; false: there is no other. */
static bool next_near(struct piece *names, const char *given, char name[NAME])
{
    const struct piece text = piece_of(given);
    struct piece item;
    while (piece_next(names, &item))
        if (piece_copy(item, name, NAME) && item.length >= SHORTEST && text.length >= SHORTEST &&
            scan_distance(text, name) == 1)
            return true;
    return false;
}

/* Fails if `key` is one edit from a field that the file lacks under all of its names. */
static void refuse_near_field(struct config *c, const char *key)
{
    char name[NAME], quoted[SCAN_QUOTED];
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        struct piece rest = piece_of(fields[i]), near = rest, item;
        char other[NAME];
        bool given = false;
        if (!next_near(&near, key, name))
            continue;
        while (piece_next(&rest, &item))
            given |= piece_copy(item, other, NAME) && is_given(c, other);
        if (!given)
            config_fail(c, "%s: is '%s' meant?", scan_quote(piece_of(key), quoted), name);
    }
}

/* Whether two names differ in digits only, like those of two versions. */
static bool is_version(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "0123456789");
        b += strspn(b, "0123456789");
        if (*a != *b || !*a)
            return *a == *b;
    }
}

static const char known_types[] =
    CONFIG_DECODERS "," CONFIG_ENCODERS "," CONFIG_OF_T5 "," CONFIG_OF_TEXT "," CONFIG_OF_SOUND;

static void refuse_near_type(struct config *c, const char *type)
{
    char name[NAME], quoted[SCAN_QUOTED], near[200] = "";
    struct piece rest = piece_of(known_types);
    bool version = false;
    while (next_near(&rest, type, name)) {
        message_add(near, sizeof near, "%s%s", *near ? ", " : "", name);
        version |= is_version(type, name);
    }
    if (*near && !version)
        config_fail(c, "unknown model_type %s; near it: %s", scan_quote(piece_of(type), quoted),
                    near);
}

void config_names(struct config *c)
{
    static const char *const of_gemma2[] = {"attn_logit_softcapping", "sliding_window"};
    const json_t *objects[] = {c->own, c->own == c->outer ? NULL : c->outer};
    const char *type = json_string_value(config_field(c, "model_type")), *key;
    json_t *value;
    for (size_t i = 0; i < 2; i++)
        json_object_foreach ((json_t *)objects[i], key, value)
            if (!is_read(key) && !piece_listed(OTHER_FIELDS, key))
                refuse_near_field(c, key);
    if (type && !piece_listed(known_types, type) && !piece_listed(OTHER_TYPES, type))
        refuse_near_type(c, type);
    for (size_t i = 0; i < 2; i++)
        if (config_is_type(c, "gemma2") && !is_given(c, of_gemma2[i]))
            config_fail(c, "no field %s, which gemma2 needs", of_gemma2[i]);
}

/* ---- assumptions ----------------------------------------------------------------------------- */

static void assume(struct config *c, const char *what)
{
    char *text = c->model->assumed;
    message_add(text, sizeof c->model->assumed, "%s%s", *text ? "; " : "", what);
}

static void assume_layers(struct config *c, const char *type)
{
    char quoted[SCAN_QUOTED], text[200];
    const struct model_kind *first = c->model->kinds;
    const bool window = first->problem.options & ATTN_OPTION_WINDOW;
    if (type)
        snprintf(text, sizeof text, "model_type %s is not known",
                 scan_quote(piece_of(type), quoted));
    else
        snprintf(text, sizeof text, "no model_type");
    message_add(text, sizeof text, ": %s",
                c->model->count > 1 ? "causal layers of the kinds that other fields name"
                : window            ? "every layer is causal and has the window"
                                    : "every layer is causal and sees all before it");
    assume(c, text);
}

void config_assumed(struct config *c)
{
    const char *type = json_string_value(config_field(c, "model_type"));
    const bool latent = config_field(c, "kv_lora_rank"),
               pair = config_is_true(c, "is_encoder_decoder");
    if (!type || !piece_listed(known_types, type))
        assume_layers(c, type);
    if (!latent && !pair && !config_field(c, "num_key_value_heads,num_kv_heads,n_head_kv") &&
        !config_is_true(c, "multi_query"))
        assume(c, "no num_key_value_heads: as many as query heads");
    if (!latent && !config_field(c, "head_dim,d_kv"))
        assume(c, "no head_dim: hidden_size divided by heads");
    if (!config_field(c, "torch_dtype,dtype"))
        assume(c, "no torch_dtype: f32");
}
