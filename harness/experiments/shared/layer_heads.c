/*
 * layer_heads: reads shapes from q; k, v and o must agree.
 */
#include "layer_heads.h"

#include "layer_file.h"

/* Finds a tensor of batch 1 with as many heads and tokens as q; NULL fills the message. */
static const struct safetensor *find_like(const struct safetensors *in, const char *file,
                                          const char *prefix, const char *name,
                                          const struct safetensor *q, struct experiment_work *work)
{
    char shape[SAFETENSORS_SHAPE_TEXT];
    const struct safetensor *t = safetensors_find(in, prefix, name);
    if (!t) {
        experiment_fail(
            work, "%s: there is no tensor %s%s; a layer has %sq, k and v, or %sx, wq, wk and wv",
            file, prefix, name, prefix, prefix);
        return NULL;
    }
    const bool like_q =
        !q || (t->rank == 4 && t->shape[1] == q->shape[1] && t->shape[2] == q->shape[2]);
    if (t->rank == 4 && t->shape[0] == 1 && like_q && t->dtype != ATTN_DTYPE_COUNT)
        return t;
    safetensors_print_shape(t, shape);
    experiment_fail(work, "%s: %s is %s, not (1,H,S,D)%s", file, t->name, shape,
                    q ? " with the heads and tokens of q" : "");
    return NULL;
}

static bool read_heads(struct layer_heads *heads, const struct safetensors *in, const char *file,
                       const char *prefix, struct experiment_work *work)
{
    const bool with_o = safetensors_find(in, prefix, "o");
    const struct safetensor *q = find_like(in, file, prefix, "q", NULL, work), *o = NULL;
    const struct safetensor *k = q ? find_like(in, file, prefix, "k", q, work) : NULL;
    const struct safetensor *v = k ? find_like(in, file, prefix, "v", q, work) : NULL;
    if (!v || (with_o && !(o = find_like(in, file, prefix, "o", q, work))))
        return false;
    if (k->shape[3] != q->shape[3] || (o && o->shape[3] != v->shape[3]))
        return experiment_fail(work,
                               "%s: %sq and %sk, or %sv and %so, have rows of different lengths",
                               file, prefix, prefix, prefix, prefix);
    *heads = (struct layer_heads){.heads = q->shape[1],
                                  .len = q->shape[2],
                                  .dim = q->shape[3],
                                  .v_dim = v->shape[3],
                                  .q = layer_file_copy(q, false, work),
                                  .k = layer_file_copy(k, false, work),
                                  .v = layer_file_copy(v, false, work),
                                  .o = o ? layer_file_copy(o, false, work) : NULL,
                                  .o_dtype = o ? o->dtype : ATTN_F32};
    return heads->q && heads->k && heads->v && (heads->o || !o);
}

bool layer_heads_open(struct layer_heads *heads, const char *path, const char *prefix,
                      struct experiment_work *work)
{
    struct safetensors *in = layer_file_in(path, work);
    const bool right = in && read_heads(heads, in, path, prefix, work);
    safetensors_close(in);
    return right;
}

/* ---- the layers that come with the program ---------------------------------------------------- */

const struct layer_heads_name layer_heads_real[] = {{"minilm-gettysburg.safetensors", "layer0."},
                                                    {"minilm-gettysburg.safetensors", "layer3."},
                                                    {"minilm-preamble.safetensors", "layer1."},
                                                    {0}};

void layer_heads_steps(json_t *steps, json_t *base)
{
    for (const struct layer_heads_name *name = layer_heads_real; name->file; name++) {
        json_t *step = json_copy(base);
        json_object_set_new(step, "file", json_string(name->file));
        json_object_set_new(step, "prefix", json_string(name->prefix));
        json_array_append_new(steps, step);
    }
    json_decref(base);
}

json_t *layer_heads_params(const json_t *step, const struct layer_heads *heads, size_t h,
                           const char *length)
{
    json_t *params = json_copy((json_t *)step);
    json_object_set_new(params, "head", json_integer((json_int_t)h));
    json_object_set_new(params, "d", json_integer((json_int_t)heads->dim));
    json_object_set_new(params, length, json_integer((json_int_t)heads->len));
    return params;
}
