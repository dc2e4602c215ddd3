/*
 * trained: a layer of a safetensors file, with its input and weights or with q, k and v alone, and its tokens
 * from the file of that name that ends in .tokens, one a line.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "experiments/layer/file.h"
#include "problem/cases.h"
#include "problem/safetensors.h"
#include "words.h"

#define TOKEN 64 /* bytes of one, with its line end */

bool words_name(const char *text, char file[WORDS_NAME], char prefix[WORDS_NAME])
{
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || strlen(text) >= WORDS_NAME)
        return false;
    snprintf(file, WORDS_NAME, "%.*s", (int)(colon - text), text);
    snprintf(prefix, WORDS_NAME, "%s", colon + 1);
    return true;
}

/* Fills the message. */
__attribute__((format(printf, 2, 3))) static bool refuse(struct experiment_work *work,
                                                         const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(work->message, sizeof work->message, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static bool read_lines(FILE *in, const char *path, json_t *tokens, struct experiment_work *work)
{
    char line[TOKEN], clean[TOKEN * PRINTABLE_GROWTH];
    while (fgets(line, sizeof line, in)) {
        char *end = strchr(line, '\n');
        if (!end && !feof(in))
            return refuse(work, "%s:%zu: longer than %d bytes", path, json_array_size(tokens) + 1,
                          TOKEN - 2);
        if (end)
            *end = 0;
        printable_line(line, clean, sizeof clean);
        json_array_append_new(tokens, json_string(clean));
    }
    return true;
}

/* The tokens of a file of tensors, as many as the layer has. */
static json_t *read_tokens(const struct words_layer *layer, const char *tensors, const char *prefix,
                           struct experiment_work *work)
{
    char name[WORDS_NAME + 16], path[CASES_PATH];
    const char *dot = strrchr(tensors, '.');
    const int stem = (int)(dot && !strchr(dot, '/') ? (size_t)(dot - tensors) : strlen(tensors));
    snprintf(name, sizeof name, "%.*s.tokens", stem, tensors);
    if (!cases_find_file(name, path, work->message, sizeof work->message))
        return NULL;
    json_t *tokens = json_array();
    FILE *in = fopen(path, "r");
    bool right = in && read_lines(in, path, tokens, work);
    if (in)
        fclose(in);
    else
        refuse(work, "%s: cannot be read", path);
    if (right && json_array_size(tokens) != layer->len)
        right = refuse(work, "%s: %zu tokens, and %s* of %s has %zu", path, json_array_size(tokens),
                       prefix, tensors, layer->len);
    if (right)
        return tokens;
    json_decref(tokens);
    return NULL;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* With x and weights. */
static bool open_layer(struct words_layer *layer, const char *file, const char *prefix,
                       struct experiment_work *work)
{
    struct layer_file f;
    if (!layer_file_open(&f, file, prefix, 0, work->message, sizeof work->message))
        return false;
    const struct attn_self_attention *l = &f.layer;
    layer->len = l->len;
    layer->d_in = l->d_in;
    layer->heads = l->heads;
    layer->dim = l->qk_dim;
    layer->v_dim = l->v_dim;
    bool right = l->batch == 1;
    if (!right)
        refuse(work, "%s: %sx has %zu sequences, not one", file, prefix, l->batch);
    right = right && words_alloc(layer, f.data[LAYER_O], work);
    if (right) {
        memcpy(layer->x, f.data[LAYER_X], l->len * l->d_in * sizeof *layer->x);
        for (size_t n = 0; n < 3; n++)
            memcpy(layer->w[n], f.data[LAYER_WQ + n],
                   l->d_in * l->heads * (n < 2 ? l->qk_dim : l->v_dim) * sizeof *layer->w[n]);
        layer->o_dtype = f.dtype;
        if (layer->o)
            memcpy(layer->o, f.data[LAYER_O], l->heads * l->len * l->v_dim * sizeof *layer->o);
        const struct attn_self_attention_tensors t = layer_file_tensors(&f, NULL);
        right = words_project(layer, l, &t, work);
    }
    layer_file_close(&f);
    return right;
}

/* A tensor of one batch with as many heads and tokens as q; NULL fills the message. */
static const struct safetensor *find(const struct safetensors *in, const char *file,
                                     const char *prefix, const char *name,
                                     const struct safetensor *q, struct experiment_work *work)
{
    char full[WORDS_NAME + 8], shape[SAFETENSORS_SHAPE_TEXT];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const struct safetensor *t = safetensors_find(in, full);
    if (!t) {
        refuse(work, "%s: there is no tensor %s; a layer has %sq, k and v, or %sx, wq, wk and wv",
               file, full, prefix, prefix);
        return NULL;
    }
    const bool like_q =
        !q || (t->rank == 4 && t->shape[1] == q->shape[1] && t->shape[2] == q->shape[2]);
    if (t->rank == 4 && t->shape[0] == 1 && like_q && t->dtype != ATTN_DTYPE_COUNT)
        return t;
    safetensors_print_shape(t, shape);
    refuse(work, "%s: %s is %s, not (1,H,S,D)%s", file, full, shape,
           q ? " with the heads and tokens of q" : "");
    return NULL;
}

static void copy(const struct safetensor *t, float *to)
{
    for (size_t i = 0; i < t->shape[1] * t->shape[2] * t->shape[3]; i++)
        to[i] = (float)safetensors_get(t, i);
}

/* Of q, k, v and where it is there o. */
static bool take(struct words_layer *layer, const struct safetensors *in, const char *file,
                 const char *prefix, struct experiment_work *work)
{
    char name[WORDS_NAME + 8];
    snprintf(name, sizeof name, "%so", prefix);
    const bool with_o = safetensors_find(in, name);
    const struct safetensor *q = find(in, file, prefix, "q", NULL, work), *o = NULL;
    const struct safetensor *k = q ? find(in, file, prefix, "k", q, work) : NULL;
    const struct safetensor *v = k ? find(in, file, prefix, "v", q, work) : NULL;
    if (!v || (with_o && !(o = find(in, file, prefix, "o", q, work))))
        return false;
    if (k->shape[3] != q->shape[3] || (o && o->shape[3] != v->shape[3]))
        return refuse(work, "%s: %sq and %sk, or %sv and %so, have rows of different lengths", file,
                      prefix, prefix, prefix, prefix);
    layer->heads = q->shape[1];
    layer->len = q->shape[2];
    layer->dim = q->shape[3];
    layer->v_dim = v->shape[3];
    if (!words_alloc(layer, o, work))
        return false;
    copy(q, layer->q);
    copy(k, layer->k);
    copy(v, layer->v);
    if (o) {
        layer->o_dtype = o->dtype;
        copy(o, layer->o);
    }
    return true;
}

bool words_trained_open(struct words_layer *layer, const json_t *step, struct experiment_work *work)
{
    char file[WORDS_NAME], prefix[WORDS_NAME], path[CASES_PATH], name[WORDS_NAME + 8];
    *layer = (struct words_layer){0};
    if (!words_name(experiment_text(step, "layer"), file, prefix))
        return false; /* accepts() has seen to that */
    if (!cases_find_file(file, path, work->message, sizeof work->message))
        return false;
    struct safetensors *in = safetensors_open(path, work->message, sizeof work->message);
    if (!in)
        return false;
    snprintf(name, sizeof name, "%sx", prefix);
    bool right = safetensors_find(in, name) ? open_layer(layer, file, prefix, work)
                                            : take(layer, in, file, prefix, work);
    safetensors_close(in);
    if (right && !(layer->len && layer->heads && layer->dim && layer->v_dim))
        right = refuse(work, "%s: %s* has no elements", file, prefix);
    right = right && (layer->tokens = read_tokens(layer, file, prefix, work));
    if (!right)
        words_close(layer);
    return right;
}
