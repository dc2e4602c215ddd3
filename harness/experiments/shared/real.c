/*
 * real: q and k of a layer, from where the cases' tensors are.
 */
#include "real.h"

#include <stdio.h>

#include "problem/cases.h"
#include "problem/safetensors.h"

const struct real_name real_layers[] = {{"minilm-gettysburg.safetensors", "layer0."},
                                        {"minilm-gettysburg.safetensors", "layer3."},
                                        {"minilm-preamble.safetensors", "layer1."},
                                        {0}};

void real_steps(json_t *steps, json_t *base)
{
    for (const struct real_name *name = real_layers; name->file; name++) {
        json_t *step = json_copy(base);
        json_object_set_new(step, "file", json_string(name->file));
        json_object_set_new(step, "prefix", json_string(name->prefix));
        json_array_append_new(steps, step);
    }
    json_decref(base);
}

static float *copy(const struct safetensors *file, const char *prefix, const char *name,
                   struct real_layer *layer, struct experiment_work *work)
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
    float *x = experiment_alloc(work, n, sizeof *x);
    for (size_t i = 0; x && i < n; i++)
        x[i] = (float)safetensors_get(tensor, i);
    return x;
}

bool real_open(struct real_layer *layer, const json_t *step, struct experiment_work *work)
{
    const char *prefix = experiment_text(step, "prefix");
    char path[CASES_PATH];
    *layer = (struct real_layer){0};
    if (!cases_find_file(experiment_text(step, "file"), path, work->message, sizeof work->message))
        return false;
    struct safetensors *file = safetensors_open(path, work->message, sizeof work->message);
    if (!file)
        return false;
    layer->q = copy(file, prefix, "q", layer, work);
    layer->k = copy(file, prefix, "k", layer, work);
    safetensors_close(file);
    return (layer->q && layer->k) ||
           experiment_fail(work, "%s: no %sq and %sk of one batch", path, prefix, prefix);
}

json_t *real_params(const json_t *step, const struct real_layer *layer, size_t h,
                    const char *length)
{
    json_t *params = json_copy((json_t *)step);
    json_object_set_new(params, "head", json_integer((json_int_t)h));
    json_object_set_new(params, "d", json_integer((json_int_t)layer->dim));
    json_object_set_new(params, length, json_integer((json_int_t)layer->len));
    return params;
}
