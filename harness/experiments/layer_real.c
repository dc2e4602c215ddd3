/*
 * layer_real: x, weights and biases of a layer through the layer of ours.
 */
#include "experiments/layer_real.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cases.h"
#include "experiments/kernel_call.h"
#include "experiments/layer_call.h"
#include "journal.h"
#include "safetensors.h"

#define FILE_NAME "minilm-preamble.safetensors"
#define HEADS 2 /* kept in the file */

enum { X, WQ, WK, WV, BQ, BK, BV, O, TENSORS };
static const char *const names[TENSORS] = {"layer1.x",  "layer1.wq", "layer1.wk", "layer1.wv",
                                           "layer1.bq", "layer1.bk", "layer1.bv", "layer1.o"};

/* The tensors of the file as float32, and its lengths. */
struct real {
    float *data[TENSORS];
    size_t len, d_in, dim;
};

static void close_real(struct real *real)
{
    for (size_t i = 0; i < TENSORS; i++)
        free(real->data[i]);
}

static float *copy(const struct safetensor *tensor)
{
    size_t n = 1;
    for (size_t i = 0; i < tensor->rank; i++)
        n *= tensor->shape[i];
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; x && i < n; i++)
        x[i] = (float)safetensors_get(tensor, i);
    return x;
}

/* Whether the shapes are those of one layer of HEADS heads. */
static bool take_shapes(const struct safetensor *const found[TENSORS], struct real *real)
{
    if (found[X]->rank != 3 || found[O]->rank != 4)
        return false;
    real->len = found[X]->shape[1];
    real->d_in = found[X]->shape[2];
    real->dim = found[O]->shape[3];
    const size_t wide = HEADS * real->dim;
    bool right = safetensors_is_shape(found[X], (size_t[]){1, real->len, real->d_in}, 3) &&
                 safetensors_is_shape(found[O], (size_t[]){1, HEADS, real->len, real->dim}, 4);
    for (int i = WQ; i <= WV; i++)
        right = right && safetensors_is_shape(found[i], (size_t[]){real->d_in, wide}, 2) &&
                safetensors_is_shape(found[i + BQ - WQ], &wide, 1);
    return right;
}

static bool open_real(struct real *real, char *message, size_t size)
{
    static const struct input where = {.kind = INPUT_FILE, .path = FILE_NAME};
    const struct safetensor *found[TENSORS];
    char path[CASES_PATH];
    *real = (struct real){0};
    cases_find_file(&where, path);
    struct safetensors *file = safetensors_open(path, message, size);
    bool right = file;
    for (size_t i = 0; right && i < TENSORS; i++)
        right = (found[i] = safetensors_find(file, names[i]));
    right = right && take_shapes(found, real);
    for (size_t i = 0; right && i < TENSORS; i++)
        right = (real->data[i] = copy(found[i]));
    if (file && !right)
        snprintf(message, size, "%s: no layer1 of %d heads with weights", FILE_NAME, HEADS);
    if (file)
        safetensors_close(file);
    if (!right)
        close_real(real);
    return right;
}

/* y is (len, heads * dim), the model's output (heads, len, dim). */
static double difference(const struct real *real, const float *y)
{
    double worst = 0;
    for (size_t h = 0; h < HEADS; h++)
        for (size_t i = 0; i < real->len; i++)
            for (size_t d = 0; d < real->dim; d++) {
                const double mine = (double)y[(i * HEADS + h) * real->dim + d];
                const double model = (double)real->data[O][(h * real->len + i) * real->dim + d];
                const double e = fabs(mine - model);
                worst = e <= worst ? worst : e;
            }
    return worst;
}

static json_t *run(const struct real *real, const char *kernel, float *y,
                   struct experiment_work *work)
{
    const struct attn_self_attention layer = {.size = sizeof layer,
                                              .batch = 1,
                                              .len = real->len,
                                              .d_in = real->d_in,
                                              .heads = HEADS,
                                              .qk_dim = real->dim,
                                              .v_dim = real->dim};
    const struct attn_self_attention_tensors t = {.size = sizeof t,
                                                  .x = real->data[X],
                                                  .wq = real->data[WQ],
                                                  .wk = real->data[WK],
                                                  .wv = real->data[WV],
                                                  .bq = real->data[BQ],
                                                  .bk = real->data[BK],
                                                  .bv = real->data[BV],
                                                  .y = y};
    struct layer_call call;
    if (!layer_call_open(&call, &layer, kernel, work->threads, work->message, sizeof work->message))
        return NULL;
    attn_self_attention_execute(&call.plan, &t);
    layer_call_close(&call);
    return experiment_row(json_pack("{s:s, s:s, s:s, s:I}", "part", "real", "file", FILE_NAME,
                                    "kernel", kernel, "s", (json_int_t)real->len),
                          json_pack("{s:o}", "difference", journal_number(difference(real, y))));
}

json_t *layer_real_rows(struct experiment_work *work)
{
    struct real real;
    if (!open_real(&real, work->message, sizeof work->message))
        return NULL;
    float *y = malloc(real.len * HEADS * real.dim * sizeof *y);
    json_t *rows = json_array(), *row = NULL;
    for (const char *const *name = kernel_call_names(); y && *name; name++) {
        if (!(row = run(&real, *name, y, work)))
            break;
        json_array_append_new(rows, row);
    }
    free(y);
    close_real(&real);
    if (row)
        return rows;
    json_decref(rows);
    return NULL;
}
