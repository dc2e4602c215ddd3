/*
 * layer: its memory, and its projections by the textbook layer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/shared/layer_call.h"
#include "words.h"

bool words_alloc(struct words_layer *l, bool with_o, struct experiment_work *work)
{
    const size_t qk = l->heads * l->dim, v = l->heads * l->v_dim;
    const struct {
        float **at;
        size_t n;
    } parts[] = {{&l->x, l->len * l->d_in}, {&l->w[0], l->d_in * qk},
                 {&l->w[1], l->d_in * qk},  {&l->w[2], l->d_in * v},
                 {&l->q, l->len * qk},      {&l->k, l->len * qk},
                 {&l->v, l->len * v},       {&l->o, with_o ? l->len * v : 0}};
    size_t total = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        total += parts[i].n;
    float *at = l->memory = calloc(total + 1, sizeof *at);
    if (!at) {
        snprintf(work->message, sizeof work->message, "out of memory");
        return false;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; at += parts[i++].n)
        *parts[i].at = parts[i].n ? at : NULL;
    return true;
}

void words_close(struct words_layer *layer)
{
    json_decref(layer->tokens);
    free(layer->memory);
    *layer = (struct words_layer){0};
}

/* (len, heads * dim) to (heads, len, dim). */
static void split_heads(const float *from, size_t len, size_t heads, size_t dim, float *to)
{
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < len; i++)
            memcpy(to + (h * len + i) * dim, from + (i * heads + h) * dim, dim * sizeof *to);
}

bool words_project(struct words_layer *layer, const struct attn_self_attention *l,
                   const struct attn_self_attention_tensors *t, struct experiment_work *work)
{
    struct layer_call call;
    if (!layer_call_open(&call, l, "naive", work))
        return false;
    attn_self_attention_project(&call.plan, t);
    split_heads(call.plan.q, l->len, l->heads, l->qk_dim, layer->q);
    split_heads(call.plan.k, l->len, l->heads, l->qk_dim, layer->k);
    split_heads(call.plan.v, l->len, l->heads, l->v_dim, layer->v);
    layer_call_close(&call);
    return true;
}
