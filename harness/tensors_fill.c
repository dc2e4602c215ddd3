/*
 * tensors_fill: Q, K and V as the input of a case says.
 *
 * Element (b, h, s, d) gets number ((b H + h) S + s) D + d of its stream, so that layout, padding
 * and thread count change nothing.
 */
#include <math.h>
#include <stdio.h>

#include "logits.h"
#include "random.h"
#include "safetensors.h"
#include "tensors_view.h"

#define NEEDLE_LOGIT 40 /* e^-40 of every other key: a million of them weigh less than 1e-11 */
#define NEGATIVE_LOGIT -30
#define LOGIT_NOISE 0.25

enum { STREAM_Q, STREAM_K, STREAM_V, STREAM_LOGITS, STREAMS };

typedef void generate(float *x, size_t n, uint64_t key, uint64_t first);

static void fill_random(const struct tensors_view *view, uint64_t key, generate *numbers,
                        double mean)
{
#pragma omp parallel for collapse(3)
    for (size_t b = 0; b < view->batch; b++)
        for (size_t h = 0; h < view->heads; h++)
            for (size_t r = 0; r < view->rows; r++)
                for (size_t d = 0; d < view->cols; d += 256) {
                    float x[256];
                    const size_t n = view->cols - d < 256 ? view->cols - d : 256;
                    const uint64_t row = (b * view->heads + h) * view->rows + r;
                    numbers(x, n, key, row * view->cols + d);
                    for (size_t k = 0; k < n; k++)
                        x[k] += (float)mean;
                    tensors_store(view->t, b, h, r, d, x, n);
                }
}

static double needle_logit(const void *context, size_t b, size_t g, size_t j)
{
    (void)b;
    (void)g;
    return j == *(const size_t *)context ? NEEDLE_LOGIT : 0;
}

static double negative_logit(const void *context, size_t b, size_t g, size_t j)
{
    (void)context;
    (void)b;
    (void)g;
    (void)j;
    return NEGATIVE_LOGIT;
}

/* Key j holds its own number: one-hot at j mod Dv, positive in the needle, negative elsewhere. */
static void fill_one_hot(const struct tensors_view *v, size_t needle)
{
    for (size_t b = 0; b < v->batch; b++)
        for (size_t g = 0; g < v->heads; g++)
            for (size_t j = 0; j < v->rows; j++)
                for (size_t d = 0; d < v->cols; d++)
                    tensors_set(v->t, b, g, j, d, d != j % v->cols ? 0 : j == needle ? 1 : -1);
}

/* Sets of inputs that have no random numbers differ by exact factors of V: 1, -1, 2, -2, 4... */
static double stream_factor(uint64_t stream)
{
    return ldexp(stream % 2 ? -1 : 1, (int)(stream / 2 % 4));
}

static void scale_v(const struct tensors_view *v, double factor)
{
    if (factor == 1)
        return;
    for (size_t b = 0; b < v->batch; b++)
        for (size_t g = 0; g < v->heads; g++)
            for (size_t j = 0; j < v->rows; j++)
                for (size_t d = 0; d < v->cols; d++)
                    tensors_set(v->t, b, g, j, d, factor * tensors_get(v->t, b, g, j, d));
}

static bool copy_tensor(const struct tensors_view *view, const struct safetensors *file,
                        const struct input *input, char *message, size_t message_size)
{
    char name[sizeof input->prefix + 2];
    snprintf(name, sizeof name, "%s%s", input->prefix, view->name);
    const struct safetensor *from = safetensors_find(file, name);
    if (!from) {
        snprintf(message, message_size, "%s: no tensor %s", input->path, name);
        return false;
    }
    const size_t shape[] = {view->batch, view->heads, view->rows, view->cols};
    if (!safetensors_is_shape(from, shape, 4)) {
        char text[SAFETENSORS_SHAPE_TEXT];
        safetensors_print_shape(from, text);
        snprintf(message, message_size, "%s: %s is %s, the problem needs float (%zu,%zu,%zu,%zu)",
                 input->path, name, text, shape[0], shape[1], shape[2], shape[3]);
        return false;
    }
    size_t at = 0;
    for (size_t b = 0; b < view->batch; b++)
        for (size_t h = 0; h < view->heads; h++)
            for (size_t r = 0; r < view->rows; r++)
                for (size_t d = 0; d < view->cols; d++)
                    tensors_set(view->t, b, h, r, d, safetensors_get(from, at++));
    return true;
}

static bool fill_file(struct tensors_view views[TENSORS_VIEWS], const struct input *input,
                      uint64_t stream, char *message, size_t message_size)
{
    char path[CASES_PATH];
    cases_find_file(input, path);
    struct safetensors *file = safetensors_open(path, message, message_size);
    if (!file)
        return false;
    bool ok = true;
    for (int n = 0; ok && n < 3; n++)
        ok = copy_tensor(&views[n], file, input, message, message_size);
    safetensors_close(file);
    if (ok)
        scale_v(&views[2], stream_factor(stream));
    return ok;
}

static bool fill_needle(struct tensor_set *set, const struct problem_case *c,
                        const struct tensors_view *v, uint64_t key, uint64_t stream, char *message,
                        size_t message_size)
{
    const size_t needle = c->input.needle;
    if (needle >= c->problem.kv_len) {
        snprintf(message, message_size, "input=needle:%zu: there are only %zu keys", needle,
                 c->problem.kv_len);
        return false;
    }
    logits_fill(set, &c->problem, key, needle_logit, &needle, LOGIT_NOISE);
    fill_one_hot(v, needle);
    scale_v(v, stream_factor(stream));
    return true;
}

bool tensors_fill(struct tensor_set *set, const struct problem_case *c, uint64_t stream,
                  char *message, size_t message_size)
{
    struct tensors_view views[TENSORS_VIEWS];
    tensors_operands(&set->tensors, &c->problem, views);
    uint64_t key[STREAMS];
    for (uint64_t n = 0; n < STREAMS; n++)
        key[n] = random_key(c->input.seed, stream * STREAMS + n);

    bool ok = true;
    switch (c->input.kind) {
    case INPUT_NORMAL:
    case INPUT_UNIFORM:
        for (int n = 0; n < 3; n++)
            fill_random(&views[n], key[n],
                        c->input.kind == INPUT_NORMAL ? random_normal : random_uniform, 0);
        break;
    case INPUT_NEEDLE:
        ok = fill_needle(set, c, &views[2], key[STREAM_LOGITS], stream, message, message_size);
        break;
    case INPUT_NEGATIVE:
        logits_fill(set, &c->problem, key[STREAM_LOGITS], negative_logit, NULL, LOGIT_NOISE);
        fill_random(&views[2], key[STREAM_V], random_normal, 2);
        break;
    case INPUT_FILE:
        ok = fill_file(views, &c->input, stream, message, message_size);
        break;
    }
    if (ok)
        tensors_seal(set, &c->problem);
    return ok;
}
