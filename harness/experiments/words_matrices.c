/*
 * words_matrices: every matrix from tokens to outputs, computed in float64 from q, k and v, and which tokens
 * heads look at.
 */
#include <math.h>

#include "experiments/shared/kernel_call.h"
#include "experiments/shared/definition.h"
#include "experiments/shared/kernel_weights.h"
#include "experiments/shared/layer_file.h"
#include "experiments/shared/looks.h"
#include "words.h"

/* Which of many tokens or dimensions results include: the first ones, and the last token. */
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

/* Where a layer's rows are added, and with which labels. */
struct writer {
    json_t *rows;
    struct experiment_work *work;
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
    experiment_add(w->rows, params,
                   json_pack("{s:o, s:[I, I]}", "elements", all, "shape", (json_int_t)down.of,
                             (json_int_t)across.of));
}

/* A matrix with a row for each token, or for each element of one. */
static bool add_floats(const struct writer *w, const char *matrix, const float *x, bool of_tokens,
                       size_t height, size_t width)
{
    double *copy = experiment_alloc(w->work, height * width, sizeof *copy);
    for (size_t i = 0; copy && i < height * width; i++)
        copy[i] = (double)x[i];
    if (copy)
        add(w, matrix, copy, of_tokens ? w->tokens : shown_of(height, w->most, false),
            shown_of(width, w->most, false), width);
    return copy;
}

static void add_tokens(const struct writer *w)
{
    json_t *texts = json_array(), *places = json_array();
    json_t *params = params_of(w, "tokens");
    for (size_t i = 0; i < w->tokens.count; i++) {
        const size_t place = shown_at(&w->tokens, i);
        json_array_append(texts, json_array_get(w->layer->tokens, place));
        json_array_append_new(places, json_integer((json_int_t)place));
    }
    experiment_add(w->rows, params,
                   json_pack("{s:o, s:o, s:I, s:I, s:I}", "tokens", texts, "places", places,
                             "count", (json_int_t)w->layer->of.len, "heads",
                             (json_int_t)w->layer->of.heads, "d", (json_int_t)w->layer->of.dim));
}

/* ---- heads ----------------------------------------------------------------------------------- */

/* Buffers of a head: scores, p and q are (len, len), o is (len, v_dim). */
struct head {
    struct kernel_weights_head of;
    const float *v, *known; /* known: the file's output, or NULL */
    double *scores, *p, *q, *o;
    double unscaled_in_use; /* keys, by the weights of unscaled scores */
};

/*
 * Error of a weight by rounding.  A float32 score, a sum of `dim` products times the scale, is off by (dim +
 * 4) u of x, the sum of their magnitudes.  A weight's relative error is twice that, plus 8 u for its
 * exponential and u for each term of its sum (kernels/reference.c derives every check's bound so).
 */
static double tolerance(const struct kernel_weights_head *of)
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

/* Adds how far the output is from the file's. */
static void add_known(json_t *values, const struct words_layer *layer, const struct head *head)
{
    double worst = 0, largest = 0;
    for (size_t i = 0; i < layer->of.len * layer->of.v_dim; i++) {
        const double known = (double)head->known[i];
        worst = experiment_larger(worst, fabs(head->o[i] - known));
        largest = fmax(largest, fabs(known));
    }
    json_object_set_new(values, "output_difference", number_json(worst));
    json_object_set_new(values, "output_tolerance",
                        number_json(layer_file_allowed(largest, layer->d_in, layer->of.o_dtype)));
}

static bool add_looks(const struct writer *w, const struct head *head)
{
    const size_t n = w->layer->of.len;
    const bool causal = head->of.mask == ATTN_MASK_CAUSAL;
    const char **tokens = experiment_alloc(w->work, n, sizeof *tokens), *whose;
    double worst;
    struct looks looks;
    if (!tokens || !by_kernels(head, w->work, &worst, &whose))
        return false;
    for (size_t i = 0; i < n; i++)
        tokens[i] = json_string_value(json_array_get(w->layer->tokens, i));
    looks_find(head->p, n, causal, tokens, &looks);
    json_t *values = experiment_values(
        (struct experiment_value[]){{"keys_in_use", looks.in_use},
                                    {"keys_seen", looks.seen},
                                    {"kernels_difference", worst},
                                    {"kernels_tolerance", tolerance(&head->of)},
                                    {"unscaled_keys_in_use", head->unscaled_in_use},
                                    {0}});
    json_object_set_new(values, "looks", json_string(looks.text));
    json_object_set_new(values, "token_text", json_string(tokens[looks.token]));
    json_object_set_new(values, "token_place", json_integer((json_int_t)looks.token));
    json_object_set_new(values, "kernel", json_string(whose));
    for (int place = 0; place < LOOKS_PLACES; place++)
        json_object_set_new(values, looks_place_name((enum looks_place)place),
                            json_pack("{s:o, s:f, s:I}", "weight",
                                      number_json(looks.places[place].weight), "even",
                                      looks.places[place].even, "largest",
                                      (json_int_t)looks.places[place].largest));
    if (!causal && head->known)
        add_known(values, w->layer, head);
    experiment_add(w->rows, params_of(w, "head"), values);
    return true;
}

/* Under one mask: weights without and with the scale, outputs, and which tokens are looked at. */
static bool add_masked(struct writer *w, struct head *head, unsigned mask)
{
    const size_t n = w->layer->of.len, v_dim = w->layer->of.v_dim;
    w->mask = mask == ATTN_MASK_CAUSAL ? "causal" : "none";
    head->of.mask = mask;
    head->of.scale = 1;
    definition_weights(&head->of, head->p);
    head->unscaled_in_use = looks_in_use(head->p, n);
    add(w, "weights of scores", head->p, w->tokens, w->tokens, n);
    head->of.scale = 0;
    definition_weights(&head->of, head->p);
    add(w, "weights", head->p, w->tokens, w->tokens, n);
    definition_output(&head->of, head->p, head->v, v_dim, v_dim, head->o);
    add(w, "output", head->o, w->tokens, shown_of(v_dim, w->most, false), v_dim);
    const bool right = add_looks(w, head);
    w->mask = NULL;
    return right;
}

static bool add_head(struct writer *w, size_t h)
{
    const struct layer_heads *l = &w->layer->of;
    const size_t n = l->len, at = h * n * l->dim, v_at = h * n * l->v_dim;
    struct head head = {
        .of =
            {.q = l->q + at, .k = l->k + at, .rows = n, .keys = n, .dim = l->dim, .stride = l->dim},
        .v = l->v + v_at,
        .known = l->o ? l->o + v_at : NULL,
        .scores = experiment_alloc(w->work, 3 * n * n + n * l->v_dim, sizeof(double))};
    if (!head.scores)
        return false;
    head.p = head.scores + n * n;
    head.q = head.p + n * n;
    head.o = head.q + n * n;
    w->head = (int)h;
    if (!add_floats(w, "Q", head.of.q, true, n, l->dim) ||
        !add_floats(w, "K", head.of.k, true, n, l->dim) ||
        !add_floats(w, "V", head.v, true, n, l->v_dim))
        return false;
    definition_scores(&head.of, 1, head.scores);
    add(w, "scores", head.scores, w->tokens, w->tokens, n);
    definition_scores(&head.of, 1 / sqrt((double)l->dim), head.scores);
    add(w, "scaled scores", head.scores, w->tokens, w->tokens, n);
    return add_masked(w, &head, ATTN_MASK_NONE) && add_masked(w, &head, ATTN_MASK_CAUSAL);
}

bool words_add_layer(const struct words_layer *layer, const json_t *step, json_t *rows,
                     struct experiment_work *work)
{
    static const char *const names[] = {"Wq", "Wk", "Wv"};
    const struct layer_heads *of = &layer->of;
    const size_t most = experiment_count(step, "show"), d_in = layer->d_in;
    struct writer w = {.rows = rows,
                       .work = work,
                       .layer = layer,
                       .name = member_text(step, "layer"),
                       .tokens = shown_of(of->len, most, true),
                       .most = most,
                       .head = -1};
    add_tokens(&w);
    bool right = !layer->x || add_floats(&w, "X", layer->x, true, of->len, d_in);
    for (size_t n = 0; right && layer->x && d_in <= most && n < 3; n++) /* only if shown whole */
        right = add_floats(&w, names[n], layer->w[n], false, d_in,
                           of->heads * (n < 2 ? of->dim : of->v_dim));
    for (size_t h = 0; right && h < of->heads; h++)
        right = add_head(&w, h);
    return right;
}
