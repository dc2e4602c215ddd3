/*
 * tensors_fill: Q, K and V as the input of a case says.
 */
#include <math.h>
#include <stdio.h>

#include "patterns.h"
#include "base/random.h"
#include "safetensors.h"
#include "tensors_view.h"

#define NEEDLE_SCORE 40 /* e^-40 of every other key: a million of them weigh less than 1e-11 */
#define NEGATIVE_SCORE -30
#define NOISE 0.25

enum { STREAM_SCORES = PATTERNS_V + 1, STREAMS }; /* after those of q, k and v */

static bool is_needle(const void *context, struct patterns_key at)
{
    return at.j == *(const size_t *)context;
}

static double needle_score(const void *context, struct patterns_key at)
{
    return is_needle(context, at) ? NEEDLE_SCORE : 0;
}

static double negative_score(const void *context, struct patterns_key at)
{
    (void)context;
    (void)at;
    return NEGATIVE_SCORE;
}

/* Sets of inputs that have no random numbers differ by exact factors of V: 1, -1, 2, -2, 4... */
static double stream_factor(uint64_t stream)
{
    return ldexp(stream % 2 ? -1 : 1, (int)(stream / 2 % 4));
}

/* `path` is for messages, which say what type and shape the problem needs. */
static bool copy_tensor(const struct tensors_view *view, const struct safetensors *file,
                        const char *path, const char *prefix, char *message, size_t message_size)
{
    char name[sizeof((struct input *)0)->prefix + 2];
    snprintf(name, sizeof name, "%s%s", prefix, view->name);
    const struct safetensor *from = safetensors_find(file, name);
    if (!from) {
        snprintf(message, message_size, "%s: no tensor %s", path, name);
        return false;
    }
    const size_t shape[] = {view->batch, view->heads, view->rows, view->cols};
    if (!safetensors_is_shape(from, shape, 4)) {
        char text[SAFETENSORS_SHAPE_TEXT];
        safetensors_print_shape(from, text);
        const bool real = safetensors_is_shape(from, from->shape, from->rank);
        snprintf(message, message_size, "%s: %s is %s, the problem needs %s (%zu,%zu,%zu,%zu)",
                 path, name, text, attn_dtype_name(real ? from->dtype : ATTN_F32), shape[0],
                 shape[1], shape[2], shape[3]);
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

bool tensors_read(struct tensor_set *set, const struct attn_problem *problem, const char *path,
                  const char *prefix, char *message, size_t message_size)
{
    struct tensors_view views[TENSORS_VIEWS];
    tensors_operands(&set->tensors, problem, views);
    struct safetensors *file = safetensors_open(path, message, message_size);
    if (!file)
        return false;
    bool ok = true;
    for (int n = 0; ok && n < 3; n++)
        ok = copy_tensor(&views[n], file, path, prefix, message, message_size);
    safetensors_close(file);
    return ok;
}

static bool fill_file(struct tensor_set *set, const struct problem_case *c, char *message,
                      size_t message_size)
{
    char path[CASES_PATH];
    if (!cases_find_file(c->input.path, path)) {
        cases_no_file(c->input.path, message, message_size);
        return false;
    }
    return tensors_read(set, &c->problem, path, c->input.prefix, message, message_size);
}

static bool fill_needle(struct tensor_set *set, const struct problem_case *c, uint64_t key,
                        char *message, size_t message_size)
{
    const size_t needle = c->input.needle;
    if (needle >= c->problem.kv_len) {
        snprintf(message, message_size, "input=needle:%zu: there are only %zu keys", needle,
                 c->problem.kv_len);
        return false;
    }
    patterns_scores(set, &c->problem, key, needle_score, &needle, NOISE);
    patterns_one_hot(set, &c->problem, is_needle, &needle);
    return true;
}

bool tensors_fill(struct tensor_set *set, const struct problem_case *c, uint64_t stream,
                  char *message, size_t message_size)
{
    const struct attn_problem *p = &c->problem;
    uint64_t key[STREAMS];
    for (uint64_t n = 0; n < STREAMS; n++)
        key[n] = random_key(c->input.seed, stream * STREAMS + n);

    bool ok = true;
    switch (c->input.kind) {
    case INPUT_NORMAL:
        for (unsigned n = PATTERNS_Q; n <= PATTERNS_V; n++)
            patterns_normal(set, p, n, key[n], 0, 1);
        break;
    case INPUT_UNIFORM:
        for (unsigned n = PATTERNS_Q; n <= PATTERNS_V; n++)
            patterns_uniform(set, p, n, key[n]);
        break;
    case INPUT_NEEDLE:
        ok = fill_needle(set, c, key[STREAM_SCORES], message, message_size);
        break;
    case INPUT_NEGATIVE:
        patterns_scores(set, p, key[STREAM_SCORES], negative_score, NULL, NOISE);
        patterns_normal(set, p, PATTERNS_V, key[PATTERNS_V], 2, 1);
        break;
    case INPUT_FILE:
        ok = fill_file(set, c, message, message_size);
        break;
    }
    if (!ok)
        return false;
    if (stream && (c->input.kind == INPUT_FILE || c->input.kind == INPUT_NEEDLE))
        patterns_scale_v(set, p, stream_factor(stream));
    tensors_seal(set, p);
    return true;
}
