/*
 * real: q and k of a layer, from where the cases' tensors are.
 */
#include "real.h"

#include <stdio.h>
#include <stdlib.h>

#include "problem/cases.h"
#include "problem/safetensors.h"

const struct real_name real_layers[] = {{"minilm-gettysburg.safetensors", "layer0."},
                                        {"minilm-gettysburg.safetensors", "layer3."},
                                        {"minilm-preamble.safetensors", "layer1."},
                                        {0}};

static float *copy(const struct safetensors *file, const char *prefix, const char *name,
                   struct real_layer *layer)
{
    char full[96];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const struct safetensor *tensor = safetensors_find(file, full);
    if (!tensor || tensor->rank != 4 || tensor->shape[0] != 1)
        return NULL;
    layer->heads = tensor->shape[1];
    layer->len = tensor->shape[2];
    layer->dim = tensor->shape[3];
    const size_t n = layer->heads * layer->len * layer->dim;
    float *x = malloc(n * sizeof *x);
    if (!x)
        return NULL;
    for (size_t i = 0; i < n; i++)
        x[i] = (float)safetensors_get(tensor, i);
    return x;
}

bool real_open(struct real_layer *layer, const char *name, const char *prefix, char *message,
               size_t message_size)
{
    char path[CASES_PATH];
    *layer = (struct real_layer){0};
    if (!cases_find_file(name, path, message, message_size))
        return false;
    struct safetensors *file = safetensors_open(path, message, message_size);
    if (!file)
        return false;
    layer->q = copy(file, prefix, "q", layer);
    layer->k = copy(file, prefix, "k", layer);
    safetensors_close(file);
    if (layer->q && layer->k)
        return true;
    snprintf(message, message_size, "%s: no %sq and %sk of one batch", path, prefix, prefix);
    real_close(layer);
    return false;
}

void real_close(struct real_layer *layer)
{
    free(layer->q);
    free(layer->k);
    *layer = (struct real_layer){0};
}
