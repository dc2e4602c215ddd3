/*
 * config_layers: determines kinds of layer from the fields of a config.json.
 */
#include "config_fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static enum attn_dtype dtype(struct config *c)
{
    static const struct {
        const char *name;
        enum attn_dtype dtype;
    } types[] = {{"bfloat16", ATTN_BF16}, {"float16", ATTN_F16}, {"float32", ATTN_F32}};
    const json_t *value = config_field(c, "torch_dtype,dtype");
    for (size_t i = 0; value && i < sizeof types / sizeof *types; i++)
        if (json_is_string(value) && strcmp(json_string_value(value), types[i].name) == 0)
            return types[i].dtype;
    if (value)
        config_fail(c, "torch_dtype is none of bfloat16, float16, float32");
    return ATTN_F32;
}

/* ---- properties of all layers ---------------------------------------------------------------- */

static size_t head_size(struct config *c, size_t heads)
{
    const size_t given = config_count(c, "head_dim,d_kv", false);
    const size_t hidden =
        given || c->failed ? 0 : config_count(c, "hidden_size,n_embd,n_embed,d_model,dim", true);
    if (hidden && heads && hidden % heads)
        config_fail(c, "no field head_dim, and num_attention_heads does not divide hidden_size");
    return given ? given : heads ? hidden / heads : 0;
}

static size_t kv_heads(struct config *c, size_t heads)
{
    const size_t given = config_count(c, "num_key_value_heads,num_kv_heads,n_head_kv", false);
    return given ? given : config_is_true(c, "multi_query") ? 1 : heads;
}

static void set_scale(struct config *c, struct attn_problem *p)
{
    const json_t *under = config_field(c, "query_pre_attn_scalar"),
                 *scale = config_field(c, "attention_multiplier");
    const double x = scale ? json_number_value(scale) : 1 / sqrt(json_number_value(under));
    if ((scale || under) && !(isfinite(x) && x > 0))
        config_fail(c, "%s is not a positive number",
                    scale ? "attention_multiplier" : "query_pre_attn_scalar");
    else if ((scale || under) && fabs(x * sqrt((double)p->qk_dim) - 1) > 1e-6)
        p->scale = (float)x;
}

static void set_options(struct config *c, struct attn_problem *p)
{
    const json_t *cap = config_field(c, "attn_logit_softcapping");
    if (cap && !(json_number_value(cap) > 0))
        config_fail(c, "attn_logit_softcapping is not a positive number");
    p->softcap = (float)json_number_value(cap);
    p->options |= cap ? (unsigned)ATTN_OPTION_SOFTCAP : 0;
    if (config_is_type(c, "gpt_oss"))
        p->options |= ATTN_OPTION_SINKS;
    if (config_is_type(c, "bloom") || config_is_true(c, "alibi"))
        p->options |= ATTN_OPTION_ALIBI;
}

/* The problem of layers with these heads: types, head size and scale from the file. */
static struct attn_problem problem_of(struct config *c, size_t heads, size_t kv_heads)
{
    struct attn_problem p;
    attn_problem_init(&p);
    p.q_heads = heads;
    p.kv_heads = kv_heads;
    p.qk_dim = p.v_dim = c->failed ? 0 : head_size(c, p.q_heads);
    p.dtype = p.kv_dtype = dtype(c);
    if (c->failed)
        return p;
    set_scale(c, &p);
    set_options(c, &p);
    return p;
}

/* ---- kinds of layer -------------------------------------------------------------------------- */

/* Finds or adds the kind with this name; NULL: there are too many. */
static struct model_kind *kind_of(struct config *c, const char *name)
{
    struct model *m = c->model;
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->kinds[i].name, name) == 0)
            return &m->kinds[i];
    if (m->count == MODEL_KINDS) {
        config_fail(c, "layer_types has more than %d kinds", MODEL_KINDS);
        return NULL;
    }
    struct model_kind *kind = &m->kinds[m->count++];
    *kind = (struct model_kind){0};
    snprintf(kind->name, sizeof kind->name, "%s", name);
    return kind;
}

/* The type of layer number i, named as in layer_types. */
static const char *type_of(const struct config *c, size_t i)
{
    const json_t *types = config_field(c, "layer_types");
    const json_t *pattern = config_field(c, "sliding_window_pattern,_sliding_window_pattern");
    const json_t *interval = config_field(c, "full_attention_interval"),
                 *dense = config_field(c, "max_window_layers");
    const bool slides =
        config_field(c, "sliding_window") && !json_is_false(config_field(c, "use_sliding_window"));
    const json_int_t every = json_is_integer(pattern)      ? json_integer_value(pattern)
                             : config_is_type(c, "gemma2") ? 2
                                                           : 0;
    const json_int_t full = json_integer_value(interval);
    if (types)
        return json_string_value(json_array_get(types, i));
    if (full > 0)
        return (i + 1) % (size_t)full ? "linear_attention" : "full_attention";
    if (config_field(c, "attention_chunk_size"))
        return (i + 1) % 4 ? "chunked_attention" : "full_attention"; /* Llama 4 */
    if (!slides || (every > 0 && (i + 1) % (size_t)every == 0) ||
        (json_is_true(config_field(c, "use_sliding_window")) &&
         i < (size_t)json_integer_value(dense)))
        return "full_attention";
    return "sliding_attention";
}

/* Gemma 4: layers that see all tokens have other heads. */
static void set_global(struct config *c, struct attn_problem *p)
{
    const size_t dim = config_count(c, "global_head_dim", false);
    const size_t heads = config_count(c, "num_global_key_value_heads", false);
    p->qk_dim = p->v_dim = dim ? dim : p->qk_dim;
    p->kv_heads = heads ? heads : p->kv_heads;
}

static void set_window(struct config *c, struct attn_problem *p)
{
    const size_t window = config_count(c, "sliding_window", true);
    p->options |= ATTN_OPTION_WINDOW;
    p->window_left = (ptrdiff_t)window - 1; /* the token itself counts */
}

static void add_layer(struct config *c, const char *type, enum model_role role,
                      const struct attn_problem *common)
{
    static const struct {
        const char *type, *name;
    } known[] = {{"full_attention", "full"},
                 {"sliding_attention", "window"},
                 {"chunked_attention", "chunked"}};
    size_t t = 0;
    while (t < 3 && strcmp(type, known[t].type) != 0)
        t++;
    struct model_kind *kind = kind_of(c, t < 3 ? known[t].name : type);
    if (!kind || kind->layers++)
        return;
    kind->role = t < 3 ? role : MODEL_WITHOUT;
    kind->problem = *common;
    if (t == 0)
        set_global(c, &kind->problem);
    else if (t == 1)
        set_window(c, &kind->problem);
    else if (t == 2)
        kind->chunk = config_count(c, "attention_chunk_size", true);
    else
        snprintf(kind->what, sizeof kind->what, "%s", type);
}

/* Selected keys: listed for a token, in a pass as many that follow each other; see suites/models.list. */
static void select_keys(struct config *c, size_t count, struct model_kind *pass,
                        struct model_kind *token)
{
    pass->problem = token->problem;
    pass->problem.options |= ATTN_OPTION_WINDOW;
    pass->problem.window_left = (ptrdiff_t)count - 1;
    token->problem.options |= ATTN_OPTION_INDEX;
    token->problem.index_count = count;
    token->problem.index_block = 1;
    struct model_kind *indexer = kind_of(c, "indexer");
    indexer->layers = token->layers;
    indexer->role = MODEL_WITHOUT;
    snprintf(indexer->what, sizeof indexer->what, "the indexer that selects keys");
}

/* Latent attention: separate KV heads in a pass, one shared cache for a token, of which an indexer may select
 * keys. */
static void add_latent(struct config *c, size_t layers, const struct attn_problem *common)
{
    const size_t rank = config_count(c, "kv_lora_rank", true),
                 rope = config_count(c, "qk_rope_head_dim", true);
    const size_t rest = config_count(c, "qk_nope_head_dim", true),
                 dv = config_count(c, "v_head_dim", true);
    const size_t selected = config_count(c, "index_topk", false);
    struct model_kind *pass = kind_of(c, selected ? "pass" : "heads"),
                      *token = kind_of(c, selected ? "selected" : "latent");
    pass->layers = token->layers = layers;
    pass->role = MODEL_PREFILL;
    token->role = MODEL_DECODE;
    pass->problem = token->problem = *common;
    pass->problem.kv_heads = common->q_heads;
    pass->problem.qk_dim = rest + rope;
    pass->problem.v_dim = dv;
    token->problem.kv_heads = 1;
    token->problem.qk_dim = rank + rope;
    token->problem.v_dim = rank;
    token->problem.scale = c->failed ? 0 : (float)(1 / sqrt((double)(rest + rope)));
    token->problem.options |= ATTN_OPTION_SHARED_KV;
    if (selected)
        select_keys(c, selected, pass, token);
}

static void add_layers(struct config *c, size_t layers, const struct attn_problem *common)
{
    const bool encodes = config_is_type(c, CONFIG_ENCODERS);
    const json_t *types = config_field(c, "layer_types");
    if (types && (!json_is_array(types) || json_array_size(types) != layers))
        config_fail(c, "layer_types is no list of num_hidden_layers words");
    for (size_t i = 0; i < layers && !c->failed; i++) {
        const char *type = type_of(c, i);
        if (type)
            add_layer(c, type, encodes ? MODEL_ENCODER : MODEL_DECODER, common);
        else
            config_fail(c, "layer_types has something that is no text");
    }
    if (c->model->count == 1)
        *c->model->kinds[0].name = 0;
}

void config_layers(struct config *c)
{
    const size_t layers = config_count(c, "num_hidden_layers,n_layer,num_layers,n_layers", true);
    const size_t heads = config_count(c, "num_attention_heads,n_head,num_heads,n_heads", true);
    const struct attn_problem p = problem_of(c, heads, kv_heads(c, heads));
    if (c->failed)
        return;
    if (config_field(c, "kv_lora_rank"))
        add_latent(c, layers, &p);
    else
        add_layers(c, layers, &p);
}

/* ---- encoders with a decoder, like T5, BART and Whisper -------------------------------------- */

static struct model_kind *add_of_pair(struct config *c, const char *name, size_t layers,
                                      enum model_role role, size_t heads)
{
    struct model_kind *kind = kind_of(c, name);
    kind->layers = layers;
    kind->role = role;
    kind->problem = problem_of(c, heads, heads);
    if (config_is_type(c, CONFIG_OF_T5))
        kind->problem.scale = 1;
    return kind;
}

void config_pair(struct config *c)
{
    if (!config_is_type(c, CONFIG_OF_T5 "," CONFIG_OF_TEXT "," CONFIG_OF_SOUND)) {
        config_fail(c, "is_encoder_decoder is true, and model_type is none of " CONFIG_OF_T5
                       "," CONFIG_OF_TEXT "," CONFIG_OF_SOUND);
        return;
    }
    const size_t encoder = config_count(c, "encoder_layers,num_layers", true),
                 decoder = config_count(c, "decoder_layers,num_decoder_layers,num_layers", true);
    const size_t encodes = config_count(c, "encoder_attention_heads,num_heads", true),
                 decodes = config_count(c, "decoder_attention_heads,num_heads", true);
    if (c->failed)
        return;
    struct model_kind *first = add_of_pair(c, "encoder", encoder, MODEL_ENCODER, encodes),
                      *self = add_of_pair(c, "self", decoder, MODEL_DECODE, decodes),
                      *cross = add_of_pair(c, "cross", decoder, MODEL_DECODE, decodes);
    if (config_is_type(c, CONFIG_OF_T5))
        first->problem.mask = self->problem.mask = ATTN_MASK_BIAS;
    cross->fixed_keys = config_is_type(c, CONFIG_OF_SOUND);
    if (cross->fixed_keys)
        cross->problem.kv_len = config_count(c, "max_source_positions", true);
}
