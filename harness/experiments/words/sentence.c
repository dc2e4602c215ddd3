/*
 * sentence: any words through the textbook layer.
 *
 * Embeddings are N(0, 1) and weights N(0, 1/d_in), so that q and k keep the spread of x and scores have the
 * variance of q.k that 1/sqrt(d) is made for.  A word that comes twice has one embedding, and no position is
 * added: what the layer says of it is the same in both places.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/random.h"
#include "words.h"

#define STREAM 15000
#define MOST_WORDS 64

json_t *words_split(const char *sentence, char *message, size_t message_size)
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
    snprintf(message, message_size, "--sentence takes 1 to %d words: it has %zu", MOST_WORDS,
             count);
    json_decref(tokens);
    return NULL;
}

/* The place of the first word that is the same. */
static size_t first_of(const json_t *tokens, size_t i)
{
    size_t j = 0;
    while (!json_equal(json_array_get(tokens, j), json_array_get(tokens, i)))
        j++;
    return j;
}

bool words_sentence_open(struct words_layer *layer, const json_t *step,
                         struct experiment_work *work)
{
    const uint64_t seed = (uint64_t)json_integer_value(json_object_get(step, "seed"));
    *layer = (struct words_layer){
        .heads = (size_t)json_integer_value(json_object_get(step, "heads")),
        .dim = (size_t)json_integer_value(json_object_get(step, "d")),
    };
    layer->v_dim = layer->dim;
    layer->d_in = layer->heads * layer->dim;
    layer->tokens =
        words_split(experiment_text(step, "sentence"), work->message, sizeof work->message);
    if (!layer->tokens)
        return false;
    layer->len = json_array_size(layer->tokens);
    if (!words_alloc(layer, false, work)) {
        words_close(layer);
        return false;
    }
    for (size_t i = 0; i < layer->len; i++)
        random_normal(layer->x + i * layer->d_in, layer->d_in, random_key(seed, STREAM),
                      first_of(layer->tokens, i) * layer->d_in);
    for (size_t n = 0; n < 3; n++) {
        random_normal(layer->w[n], layer->d_in * layer->d_in, random_key(seed, STREAM + 1 + n), 0);
        for (size_t i = 0; i < layer->d_in * layer->d_in; i++)
            layer->w[n][i] *= (float)(1 / sqrt((double)layer->d_in));
    }
    const struct attn_self_attention l = {.size = sizeof l,
                                          .batch = 1,
                                          .len = layer->len,
                                          .d_in = layer->d_in,
                                          .heads = layer->heads,
                                          .qk_dim = layer->dim,
                                          .v_dim = layer->v_dim};
    const struct attn_self_attention_tensors t = {
        .size = sizeof t, .x = layer->x, .wq = layer->w[0], .wk = layer->w[1], .wv = layer->w[2]};
    if (words_project(layer, &l, &t, work))
        return true;
    words_close(layer);
    return false;
}
