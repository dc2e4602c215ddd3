/*
 * words_layer: a sentence through the textbook layer, and layers from files, which have input and weights or
 * only q, k and v.  FILE.tokens has the tokens of FILE.safetensors, one per line.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/random.h"
#include "experiments/shared/layer_call.h"
#include "experiments/shared/layer_file.h"
#include "problem/cases.h"
#include "problem/safetensors.h"
#include "words.h"

#define STREAM 15000
#define MOST_WORDS 64
#define TOKEN 64 /* bytes of a line of a file of tokens */

bool words_split_name(const char *text, char file[WORDS_NAME], char prefix[WORDS_NAME])
{
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || strlen(text) >= WORDS_NAME)
        return false;
    snprintf(file, WORDS_NAME, "%.*s", (int)(colon - text), text);
    snprintf(prefix, WORDS_NAME, "%s", colon + 1);
    return true;
}

json_t *words_split(const char *sentence, struct message message)
{
    static const char blanks[] = " \t\r\n";
    json_t *tokens = json_array();
    const char *at = sentence + strspn(sentence, blanks);
    while (*at) {
        char word[WORDS_NAME], clean[WORDS_NAME * PRINTABLE_GROWTH];
        const size_t length = strcspn(at, blanks);
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        for (char *c = word; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        printable_line(word, clean, sizeof clean);
        json_array_append_new(tokens, json_string(clean));
        at += length;
        at += strspn(at, blanks);
    }
    const size_t count = json_array_size(tokens);
    if (count > 0 && count <= MOST_WORDS)
        return tokens;
    message_print(message, "--sentence takes 1 to %d words: it has %zu", MOST_WORDS, count);
    json_decref(tokens);
    return NULL;
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* (len, heads * dim) to (heads, len, dim); NULL if memory runs out. */
static float *split_heads(const float *from, size_t len, size_t heads, size_t dim,
                          struct experiment_work *work)
{
    float *to = experiment_alloc(work, len * heads * dim, sizeof *to);
    for (size_t h = 0; to && h < heads; h++)
        for (size_t i = 0; i < len; i++)
            memcpy(to + (h * len + i) * dim, from + (i * heads + h) * dim, dim * sizeof *to);
    return to;
}

/* Computes q, k and v from x, by the layer of kernels/self_attention.h. */
static bool project(struct words_layer *layer, const struct attn_self_attention *l,
                    const struct attn_self_attention_tensors *t, struct experiment_work *work)
{
    struct layer_heads *of = &layer->of;
    struct layer_call call;
    if (!layer_call_open(&call, l, "naive", work))
        return false;
    attn_self_attention_project(&call.plan, t);
    of->heads = l->heads;
    of->len = l->len;
    of->dim = l->qk_dim;
    of->v_dim = l->v_dim;
    of->q = split_heads(call.plan.q, l->len, l->heads, l->qk_dim, work);
    of->k = split_heads(call.plan.k, l->len, l->heads, l->qk_dim, work);
    of->v = split_heads(call.plan.v, l->len, l->heads, l->v_dim, work);
    layer_call_close(&call);
    layer->d_in = l->d_in;
    layer->x = t->x;
    layer->w[0] = t->wq;
    layer->w[1] = t->wk;
    layer->w[2] = t->wv;
    return of->q && of->k && of->v;
}

/* The index of the first word equal to word i. */
static size_t first_of(const json_t *tokens, size_t i)
{
    size_t j = 0;
    while (!json_equal(json_array_get(tokens, j), json_array_get(tokens, i)))
        j++;
    return j;
}

/*
 * Words through the textbook layer.  Embeddings are N(0, 1) and weights N(0, 1/d_in), so that q and k keep
 * the spread of x, and 1/sqrt(d) brings the scores to variance 1.  A repeated word has the same embedding
 * each time, and no position is added: its output is the same each time, too.
 */
bool words_open_sentence(struct words_layer *layer, const json_t *step,
                         struct experiment_work *work)
{
    const size_t seed = experiment_count(step, "seed"), heads = experiment_count(step, "heads");
    const size_t dim = experiment_count(step, "d"), d_in = heads * dim;
    layer->tokens = words_split(member_text(step, "sentence"), MESSAGE(work->message));
    const size_t len = json_array_size(layer->tokens);
    float *x = experiment_alloc(work, len * d_in, sizeof *x), *w[3];
    for (size_t n = 0; n < 3; n++) {
        w[n] = experiment_alloc(work, d_in * d_in, sizeof **w);
        if (!layer->tokens || !x || !w[n])
            return false;
        random_normal(w[n], d_in * d_in, random_key(seed, STREAM + 1 + n), 0);
        for (size_t i = 0; i < d_in * d_in; i++)
            w[n][i] *= (float)(1 / sqrt((double)d_in));
    }
    for (size_t i = 0; i < len; i++)
        random_normal(x + i * d_in, d_in, random_key(seed, STREAM),
                      first_of(layer->tokens, i) * d_in);
    const struct attn_self_attention l = layer_call_shape(len, d_in, heads, dim);
    const struct attn_self_attention_tensors t = {
        .size = sizeof t, .x = x, .wq = w[0], .wk = w[1], .wv = w[2]};
    return project(layer, &l, &t, work);
}

/* Opens a layer that has x and weights. */
static bool open_layer(struct words_layer *layer, const char *file, const char *prefix,
                       struct experiment_work *work)
{
    struct layer_file f;
    if (!layer_file_open(&f, file, prefix, 0, work))
        return false;
    if (f.layer.context_len)
        return experiment_fail(work, "%s: has a tensor %scontext: words shows self-attention", file,
                               prefix);
    if (f.layer.batch != 1)
        return experiment_fail(work, "%s: %sx has %zu sequences, not one", file, prefix,
                               f.layer.batch);
    const struct attn_self_attention_tensors t = layer_file_tensors(&f, NULL);
    layer->of.o = f.data[LAYER_O];
    layer->of.o_dtype = f.dtype;
    return project(layer, &f.layer, &t, work);
}

static bool read_lines(FILE *in, const char *path, json_t *tokens, struct experiment_work *work)
{
    char line[TOKEN], clean[TOKEN * PRINTABLE_GROWTH];
    while (fgets(line, sizeof line, in)) {
        char *end = strchr(line, '\n');
        if (!end && !feof(in))
            return experiment_fail(work, "%s:%zu: longer than %d bytes", path,
                                   json_array_size(tokens) + 1, TOKEN - 2);
        if (end)
            *end = 0;
        printable_line(line, clean, sizeof clean);
        json_array_append_new(tokens, json_string(clean));
    }
    return true;
}

/* Reads the tokens of a file of tensors, which must be `len`. */
static json_t *read_tokens(size_t len, const char *tensors, const char *prefix,
                           struct experiment_work *work)
{
    char name[WORDS_NAME + 16], path[CASES_PATH];
    const char *dot = strrchr(tensors, '.');
    const int stem = (int)(dot && !strchr(dot, '/') ? (size_t)(dot - tensors) : strlen(tensors));
    snprintf(name, sizeof name, "%.*s.tokens", stem, tensors);
    if (!cases_find_file(name, path, MESSAGE(work->message)))
        return NULL;
    json_t *tokens = json_array();
    FILE *in = fopen(path, "r");
    bool right = in && read_lines(in, path, tokens, work);
    if (in)
        fclose(in);
    else
        experiment_fail(work, "%s: cannot be read", path);
    if (right && json_array_size(tokens) != len)
        right = experiment_fail(work, "%s: %zu tokens, and %s* of %s has %zu", path,
                                json_array_size(tokens), prefix, tensors, len);
    if (right)
        return tokens;
    json_decref(tokens);
    return NULL;
}

bool words_open_trained(struct words_layer *layer, const json_t *step, struct experiment_work *work)
{
    char file[WORDS_NAME], prefix[WORDS_NAME];
    struct layer_heads *of = &layer->of;
    if (!words_split_name(member_text(step, "layer"), file, prefix))
        return false; /* not reached: accepts() has refused it */
    struct safetensors *in = layer_file_in(file, work);
    if (!in)
        return false;
    const bool with_x = safetensors_find(in, prefix, "x");
    safetensors_close(in);
    if (!(with_x ? open_layer(layer, file, prefix, work)
                 : layer_heads_open(of, file, prefix, work)))
        return false;
    if (!(of->len && of->heads && of->dim && of->v_dim))
        return experiment_fail(work, "%s: %s* has no elements", file, prefix);
    layer->tokens = read_tokens(of->len, file, prefix, work);
    return layer->tokens;
}
