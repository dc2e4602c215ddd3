/*
 * rows: every matrix between tokens and outputs, in float64 from q, k and v; and what heads look at.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "experiments/layer/file.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/shared/kernel_weights.h"
#include "looks.h"
#include "words.h"

/* ---- matrices -------------------------------------------------------------------------------- */

/* Which of many tokens or dimensions a row of results has: the first ones, of tokens also the last. */
struct shown {
    size_t of, count;
    bool with_last;
};

static struct shown shown_of(size_t n, size_t most, bool with_last)
{
    return (struct shown){n, n < most ? n : most, with_last};
}

static size_t shown_at(const struct shown *s, size_t i)
{
    return s->with_last && i + 1 == s->count ? s->of - 1 : i;
}

/* A layer's rows, as they are made. */
struct writer {
    json_t *rows;
    const struct words_layer *layer;
    const char *name;
    struct shown tokens;
    size_t most;
    int head;         /* -1: of the layer */
    const char *mask; /* NULL: of no mask */
};

static json_t *params_of(const struct writer *w, const char *part)
{
    json_t *params = json_pack("{s:s, s:s}", "part", part, "layer", w->name);
    if (w->head >= 0)
        json_object_set_new(params, "head", json_integer(w->head));
    if (w->mask)
        json_object_set_new(params, "mask", json_string(w->mask));
    return params;
}

/* The part that is shown of a matrix of `down` rows, `stride` elements apart. */
static void add(const struct writer *w, const char *matrix, const double *x, struct shown down,
                struct shown across, size_t stride)
{
    json_t *params = params_of(w, "matrix"), *all = json_array();
    json_object_set_new(params, "matrix", json_string(matrix));
    for (size_t i = 0; i < down.count; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < across.count; j++)
            json_array_append_new(
                row, number_json(x[shown_at(&down, i) * stride + shown_at(&across, j)]));
        json_array_append_new(all, row);
    }
    json_array_append_new(
        w->rows, experiment_row(params, json_pack("{s:o, s:[I, I]}", "elements", all, "shape",
                                                  (json_int_t)down.of, (json_int_t)across.of)));
}

/* A matrix with a row for each token, or for each element of one: the dimensions from `first` on. */
static bool add_floats(const struct writer *w, const char *matrix, const float *x, bool of_tokens,
                       size_t height, size_t width, size_t stride)
{
    double *copy = malloc((height * stride + 1) * sizeof *copy);
    for (size_t i = 0; copy && i < height; i++)
        for (size_t j = 0; j < width; j++)
            copy[i * stride + j] = (double)x[i * stride + j];
    if (copy)
        add(w, matrix, copy, of_tokens ? w->tokens : shown_of(height, w->most, false),
            shown_of(width, w->most, false), stride);
    const bool copied = copy;
    free(copy);
    return copied;
}

static void add_tokens(const struct writer *w, const json_t *step)
{
    json_t *texts = json_array(), *places = json_array();
    json_t *params = params_of(w, "tokens");
    for (size_t i = 0; i < w->tokens.count; i++) {
        const size_t place = shown_at(&w->tokens, i);
        json_array_append(texts, json_array_get(w->layer->tokens, place));
        json_array_append_new(places, json_integer((json_int_t)place));
    }
    json_object_set(params, "printed", json_object_get(step, "printed"));
    json_array_append_new(
        w->rows,
        experiment_row(params,
                       json_pack("{s:o, s:o, s:I, s:I, s:I}", "tokens", texts, "places", places,
                                 "count", (json_int_t)w->layer->len, "heads",
                                 (json_int_t)w->layer->heads, "d", (json_int_t)w->layer->dim)));
}

/* ---- heads ----------------------------------------------------------------------------------- */

/* What a head is computed into: (len, len) thrice, and (len, v_dim). */
struct head {
    struct weights_head of;
    const float *v, *known; /* known: the output as the file has it, or NULL */
    double *scores, *p, *q, *o;
    double unscaled_in_use; /* keys, by the weights of unscaled scores */
};

static double dot(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t d = 0; d < n; d++)
        sum += (double)a[d] * (double)b[d];
    return sum;
}

static void find_scores(const struct head *head, double factor)
{
    const struct weights_head *of = &head->of;
    for (size_t i = 0; i < of->rows; i++)
        for (size_t j = 0; j < of->keys; j++)
            head->scores[i * of->keys + j] =
                factor * dot(of->q + i * of->stride, of->k + j * of->stride, of->dim);
}

static void find_output(const struct head *head, size_t n, size_t v_dim)
{
    memset(head->o, 0, n * v_dim * sizeof *head->o);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t d = 0; d < v_dim; d++)
                head->o[i * v_dim + d] += head->p[i * n + j] * (double)head->v[j * v_dim + d];
}

/*
 * What rounding may make of a weight: a float32 score is a sum of `dim` products and its scale, off by
 * (dim + 4) u of the sum of their sizes, x; a weight has twice that relative to itself, and 8 u of its
 * exponential and u for each term of its sum (kernels/reference.c derives the bound of every check so).
 */
static double tolerance(const struct weights_head *of)
{
    double largest = 0;
    for (size_t i = 0; i < of->rows; i++)
        for (size_t j = 0; j < of->keys; j++) {
            double x = 0;
            for (size_t d = 0; d < of->dim; d++)
                x += fabs((double)of->q[i * of->stride + d] * (double)of->k[j * of->stride + d]);
            largest = fmax(largest, x / sqrt((double)of->dim));
        }
    return (2 * ((double)of->dim + 4) * largest + 8 + (double)of->keys) * 0x1p-24;
}

/* The largest difference of any kernel's weights from head->p; false fills the message. */
static bool by_kernels(const struct head *head, struct experiment_work *work, double *worst,
                       const char **whose)
{
    const char *const *kernels = kernel_call_names();
    *worst = 0;
    *whose = kernels[0];
    for (size_t n = 0; kernels[n]; n++) {
        if (!kernel_weights(kernels[n], &head->of, head->q, work))
            return false;
        for (size_t i = 0; i < head->of.rows * head->of.keys; i++) {
            const double d = fabs(head->q[i] - head->p[i]);
            if (!(d <= *worst)) { /* NaN stays */
                *worst = d;
                *whose = kernels[n];
            }
        }
    }
    return true;
}

/* How far the output is from the file's. */
static void add_known(json_t *values, const struct words_layer *layer, const struct head *head)
{
    double worst = 0, largest = 0;
    for (size_t i = 0; i < layer->len * layer->v_dim; i++) {
        const double known = (double)head->known[i], d = fabs(head->o[i] - known);
        worst = d <= worst ? worst : d; /* NaN stays */
        largest = fmax(largest, fabs(known));
    }
    json_object_set_new(values, "output_difference", number_json(worst));
    json_object_set_new(values, "output_tolerance",
                        number_json(layer_file_allowed(largest, layer->d_in, layer->o_dtype)));
}

static bool add_looks(const struct writer *w, const struct head *head, struct experiment_work *work)
{
    const size_t n = w->layer->len;
    const bool causal = head->of.mask == ATTN_MASK_CAUSAL;
    const char **tokens = calloc(n + 1, sizeof *tokens), *whose = NULL;
    double worst = NAN;
    const bool right = tokens && by_kernels(head, work, &worst, &whose);
    if (!tokens)
        snprintf(work->message, sizeof work->message, "out of memory");
    if (right) {
        struct looks looks;
        for (size_t i = 0; i < n; i++)
            tokens[i] = json_string_value(json_array_get(w->layer->tokens, i));
        looks_find(head->p, n, causal, tokens, &looks);
        json_t *values =
            json_pack("{s:s, s:o, s:o, s:s, s:I, s:o, s:o, s:s}", "looks", looks.text,
                      "keys_in_use", number_json(looks.in_use), "keys_seen",
                      number_json(looks.seen), "token_text", tokens[looks.token], "token_place",
                      (json_int_t)looks.token, "kernels_difference", number_json(worst),
                      "kernels_tolerance", number_json(tolerance(&head->of)), "kernel", whose);
        json_object_set_new(values, "unscaled_keys_in_use", number_json(head->unscaled_in_use));
        for (int place = 0; place < LOOKS_PLACES; place++)
            json_object_set_new(values, looks_place_name((enum looks_place)place),
                                json_pack("{s:o, s:f, s:I}", "weight",
                                          number_json(looks.places[place].weight), "even",
                                          looks.places[place].even, "largest",
                                          (json_int_t)looks.places[place].largest));
        if (!causal && head->known)
            add_known(values, w->layer, head);
        json_array_append_new(w->rows, experiment_row(params_of(w, "head"), values));
    }
    free(tokens);
    return right;
}

/* Weights without and with the scale, outputs, and what is looked at, with a mask. */
static bool add_masked(struct writer *w, struct head *head, unsigned mask,
                       struct experiment_work *work)
{
    const size_t n = w->layer->len, v_dim = w->layer->v_dim;
    w->mask = mask == ATTN_MASK_CAUSAL ? "causal" : "none";
    head->of.mask = mask;
    head->of.scale = 1;
    definition_weights(&head->of, head->p);
    head->unscaled_in_use = looks_in_use(head->p, n);
    add(w, "weights of scores", head->p, w->tokens, w->tokens, n);
    head->of.scale = 0;
    definition_weights(&head->of, head->p);
    add(w, "weights", head->p, w->tokens, w->tokens, n);
    find_output(head, n, v_dim);
    add(w, "output", head->o, w->tokens, shown_of(v_dim, w->most, false), v_dim);
    const bool right = add_looks(w, head, work);
    w->mask = NULL;
    return right;
}

static bool add_head(struct writer *w, size_t h, struct experiment_work *work)
{
    const struct words_layer *l = w->layer;
    const size_t n = l->len, at = h * n * l->dim, v_at = h * n * l->v_dim;
    struct head head = {
        .of =
            {.q = l->q + at, .k = l->k + at, .rows = n, .keys = n, .dim = l->dim, .stride = l->dim},
        .v = l->v + v_at,
        .known = l->o ? l->o + v_at : NULL};
    double *memory = head.scores = calloc(3 * n * n + n * l->v_dim + 1, sizeof *memory);
    if (!memory) {
        snprintf(work->message, sizeof work->message, "out of memory");
        return false;
    }
    head.p = memory + n * n;
    head.q = head.p + n * n;
    head.o = head.q + n * n;
    w->head = (int)h;
    bool right = add_floats(w, "Q", head.of.q, true, n, l->dim, l->dim) &&
                 add_floats(w, "K", head.of.k, true, n, l->dim, l->dim) &&
                 add_floats(w, "V", head.v, true, n, l->v_dim, l->v_dim);
    find_scores(&head, 1);
    add(w, "scores", head.scores, w->tokens, w->tokens, n);
    find_scores(&head, 1 / sqrt((double)l->dim));
    add(w, "scaled scores", head.scores, w->tokens, w->tokens, n);
    right = right && add_masked(w, &head, ATTN_MASK_NONE, work) &&
            add_masked(w, &head, ATTN_MASK_CAUSAL, work);
    free(memory);
    return right;
}

bool words_rows(json_t *rows, const struct words_layer *layer, const json_t *step,
                struct experiment_work *work)
{
    static const char *const names[] = {"Wq", "Wk", "Wv"};
    const size_t most = (size_t)json_integer_value(json_object_get(step, "show"));
    struct writer w = {.rows = rows,
                       .layer = layer,
                       .name = experiment_text(step, "layer"),
                       .tokens = shown_of(layer->len, most, true),
                       .most = most,
                       .head = -1};
    snprintf(work->message, sizeof work->message, "out of memory");
    add_tokens(&w, step);
    bool right =
        !layer->x || add_floats(&w, "X", layer->x, true, layer->len, layer->d_in, layer->d_in);
    for (size_t n = 0; layer->x && layer->d_in <= most && n < 3; n++) { /* a corner says nothing */
        const size_t width = layer->heads * (n < 2 ? layer->dim : layer->v_dim);
        right = right && add_floats(&w, names[n], layer->w[n], false, layer->d_in, width, width);
    }
    for (size_t h = 0; right && h < layer->heads; h++)
        right = add_head(&w, h, work);
    return right;
}
