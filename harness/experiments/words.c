/*
 * words: self-attention step by step, with a word at each row and column.
 *
 * Every matrix between tokens and outputs, in float64 from q, k and v, and what heads look at: for a sentence
 * in the textbook layer, and for layers of files, which have input and weights or only q, k and v.  The
 * tokens of FILE.safetensors are in FILE.tokens, one per line.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/printable.h"
#include "base/random.h"
#include "experiment.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/shared/kernel_weights.h"
#include "experiments/shared/layer_call.h"
#include "experiments/shared/layer_file.h"
#include "experiments/shared/looks.h"
#include "list.h"
#include "problem/cases.h"
#include "problem/safetensors.h"
#include "results/report_experiment.h"

#define STREAM 15000
#define MOST_WORDS 64
#define NAME 512 /* bytes of a file's name, or of a prefix */
#define TOKEN 64 /* bytes of one of a file, with its line end */

static const char *const parts[] = {"sentence", "trained", NULL};

static const struct option parameters[] = {
    {"parts", "LIST", "sentence,trained", NULL, "a sentence, and layers of files",
     .kind = OPTION_WORDS, .words = parts},
    {"sentence", "TEXT", "the cat sat on the mat", NULL, "words separated by spaces",
     .kind = OPTION_TEXT},
    {"heads", "N", "2", NULL, "heads of the sentence's layer", .kind = OPTION_COUNT, .lo = 1,
     .hi = 16},
    {"d", "N", "4", NULL, "dimension of its heads; embeddings have heads x d", .kind = OPTION_COUNT,
     .lo = 1, .hi = 256},
    {"trained", "LIST", "all", "minilm-preamble.safetensors:layer1.",
     "layers as FILE:PREFIX; FILE has its tokens beside it", .kind = OPTION_TEXT},
    {"show", "N", "16", "8", "tokens and dimensions of a matrix in the results at most",
     .kind = OPTION_COUNT, .lo = 2, .hi = 22},
    {0},
};

/* ---- the plan -------------------------------------------------------------------------------- */

/* FILE and PREFIX of "FILE:PREFIX", which the last colon divides; false where there is none. */
static bool split_name(const char *text, char file[NAME], char prefix[NAME])
{
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || strlen(text) >= NAME)
        return false;
    snprintf(file, NAME, "%.*s", (int)(colon - text), text);
    snprintf(prefix, NAME, "%s", colon + 1);
    return true;
}

/* The words of a sentence, in lower case; NULL fills message. */
static json_t *split_words(const char *sentence, char *message, size_t message_size)
{
    static const char blanks[] = " \t\r\n";
    json_t *tokens = json_array();
    const char *at = sentence + strspn(sentence, blanks);
    while (*at) {
        char word[NAME], clean[NAME * PRINTABLE_GROWTH];
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

static void add_trained(json_t *steps, const json_t *asked, const char *file, const char *prefix)
{
    char name[2 * NAME];
    snprintf(name, sizeof name, "%s:%s", file, prefix);
    json_array_append_new(
        steps,
        experiment_pick(json_pack("{s:s, s:s}", "part", "trained", "layer", name), asked, "show"));
}

/* A step for each layer of --trained; "all" are those that come with the program. */
static bool plan_trained(json_t *steps, const json_t *asked, char *message, size_t message_size)
{
    const char *list = experiment_text(asked, "trained");
    const bool all = strcmp(list, "all") == 0;
    if (!*list) {
        snprintf(message, message_size,
                 "--trained names no layer; --parts sentence leaves them out");
        return false;
    }
    for (const struct real_name *layer = real_layers; all && layer->file; layer++)
        add_trained(steps, asked, layer->file, layer->prefix);
    for (const char *at = list; !all && *at;) {
        char name[NAME], file[NAME], prefix[NAME];
        const size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        if (!split_name(name, file, prefix)) {
            snprintf(message, message_size, "--trained takes all, or FILE:PREFIX,...: '%s'", name);
            return false;
        }
        add_trained(steps, asked, file, prefix);
        at += length + (at[length] == ',');
    }
    return true;
}

static bool accepts(const json_t *asked, char *message, size_t message_size)
{
    json_t *tokens = split_words(experiment_text(asked, "sentence"), message, message_size);
    json_t *steps = json_array();
    const bool right = tokens && plan_trained(steps, asked, message, message_size);
    json_decref(tokens);
    json_decref(steps);
    return right;
}

static void plan(const json_t *asked, json_t *steps)
{
    char message[256];
    if (experiment_wants(asked, "sentence"))
        json_array_append_new(
            steps, experiment_pick(json_pack("{s:s, s:s}", "part", "sentence", "layer", "sentence"),
                                   asked, "sentence heads d show seed"));
    if (experiment_wants(asked, "trained"))
        plan_trained(steps, asked, message, sizeof message); /* which accepts() has tried */
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* A layer whose tokens are known by their texts.  Matrices are dense, row by row; NULL where nobody knows
 * them. */
struct words_layer {
    json_t *tokens; /* their texts, fit for a terminal */
    size_t d_in;
    const float *x,
        *w[3]; /* (len, d_in); to q, k and v: (d_in, heads * dim), twice, and (d_in, heads * v_dim) */
    struct layer_heads of; /* o as the file has it */
};

/* (len, heads * dim) to (heads, len, dim); NULL if memory runs out. */
static float *split_heads(const float *from, size_t len, size_t heads, size_t dim,
                          struct experiment_work *work)
{
    float *to = experiment_alloc(work, len * heads * dim, sizeof *to);
    for (size_t h = 0; to && h < heads; h++)
        for (size_t i = 0; i < len; i++)
            memcpy(to + (h * len + i) * dim, from + (i * heads + h) * dim, dim * sizeof *to);
    return to;
}

/* Sets q, k and v to those of x, by the layer of kernels/self_attention.h. */
static bool project(struct words_layer *layer, const struct attn_self_attention *l,
                    const struct attn_self_attention_tensors *t, struct experiment_work *work)
{
    struct layer_heads *of = &layer->of;
    struct layer_call call;
    if (!layer_call_open(&call, l, "naive", work))
        return false;
    attn_self_attention_project(&call.plan, t);
    of->heads = l->heads;
    of->len = l->len;
    of->dim = l->qk_dim;
    of->v_dim = l->v_dim;
    of->q = split_heads(call.plan.q, l->len, l->heads, l->qk_dim, work);
    of->k = split_heads(call.plan.k, l->len, l->heads, l->qk_dim, work);
    of->v = split_heads(call.plan.v, l->len, l->heads, l->v_dim, work);
    layer_call_close(&call);
    layer->d_in = l->d_in;
    layer->x = t->x;
    layer->w[0] = t->wq;
    layer->w[1] = t->wk;
    layer->w[2] = t->wv;
    return of->q && of->k && of->v;
}

/* The place of the first word that is the same. */
static size_t first_of(const json_t *tokens, size_t i)
{
    size_t j = 0;
    while (!json_equal(json_array_get(tokens, j), json_array_get(tokens, i)))
        j++;
    return j;
}

/*
 * Any words through the textbook layer.  Embeddings are N(0, 1) and weights N(0, 1/d_in), so that q and k
 * keep the spread of x and scores have the variance of q.k that 1/sqrt(d) is made for.  A word that comes
 * twice has one embedding, and no position is added: what the layer says of it is the same in both places.
 */
static bool open_sentence(struct words_layer *layer, const json_t *step,
                          struct experiment_work *work)
{
    const size_t seed = experiment_count(step, "seed"), heads = experiment_count(step, "heads");
    const size_t dim = experiment_count(step, "d"), d_in = heads * dim;
    layer->tokens =
        split_words(experiment_text(step, "sentence"), work->message, sizeof work->message);
    const size_t len = json_array_size(layer->tokens);
    float *x = experiment_alloc(work, len * d_in, sizeof *x), *w[3];
    for (size_t n = 0; n < 3; n++) {
        w[n] = experiment_alloc(work, d_in * d_in, sizeof **w);
        if (!layer->tokens || !x || !w[n])
            return false;
        random_normal(w[n], d_in * d_in, random_key(seed, STREAM + 1 + n), 0);
        for (size_t i = 0; i < d_in * d_in; i++)
            w[n][i] *= (float)(1 / sqrt((double)d_in));
    }
    for (size_t i = 0; i < len; i++)
        random_normal(x + i * d_in, d_in, random_key(seed, STREAM),
                      first_of(layer->tokens, i) * d_in);
    const struct attn_self_attention l = layer_shape(len, d_in, heads, dim);
    const struct attn_self_attention_tensors t = {
        .size = sizeof t, .x = x, .wq = w[0], .wk = w[1], .wv = w[2]};
    return project(layer, &l, &t, work);
}

/* With x and weights. */
static bool open_layer(struct words_layer *layer, const char *file, const char *prefix,
                       struct experiment_work *work)
{
    struct layer_file f;
    if (!layer_file_open(&f, file, prefix, 0, work))
        return false;
    if (f.layer.batch != 1)
        return experiment_fail(work, "%s: %sx has %zu sequences, not one", file, prefix,
                               f.layer.batch);
    const struct attn_self_attention_tensors t = layer_file_tensors(&f, NULL);
    layer->of.o = f.data[LAYER_O];
    layer->of.o_dtype = f.dtype;
    return project(layer, &f.layer, &t, work);
}

static bool read_lines(FILE *in, const char *path, json_t *tokens, struct experiment_work *work)
{
    char line[TOKEN], clean[TOKEN * PRINTABLE_GROWTH];
    while (fgets(line, sizeof line, in)) {
        char *end = strchr(line, '\n');
        if (!end && !feof(in))
            return experiment_fail(work, "%s:%zu: longer than %d bytes", path,
                                   json_array_size(tokens) + 1, TOKEN - 2);
        if (end)
            *end = 0;
        printable_line(line, clean, sizeof clean);
        json_array_append_new(tokens, json_string(clean));
    }
    return true;
}

/* The tokens of a file of tensors, as many as the layer has. */
static json_t *read_tokens(size_t len, const char *tensors, const char *prefix,
                           struct experiment_work *work)
{
    char name[NAME + 16], path[CASES_PATH];
    const char *dot = strrchr(tensors, '.');
    const int stem = (int)(dot && !strchr(dot, '/') ? (size_t)(dot - tensors) : strlen(tensors));
    snprintf(name, sizeof name, "%.*s.tokens", stem, tensors);
    if (!cases_find_file(name, path, work->message, sizeof work->message))
        return NULL;
    json_t *tokens = json_array();
    FILE *in = fopen(path, "r");
    bool right = in && read_lines(in, path, tokens, work);
    if (in)
        fclose(in);
    else
        experiment_fail(work, "%s: cannot be read", path);
    if (right && json_array_size(tokens) != len)
        right = experiment_fail(work, "%s: %zu tokens, and %s* of %s has %zu", path,
                                json_array_size(tokens), prefix, tensors, len);
    if (right)
        return tokens;
    json_decref(tokens);
    return NULL;
}

static bool open_trained(struct words_layer *layer, const json_t *step,
                         struct experiment_work *work)
{
    char file[NAME], prefix[NAME], path[CASES_PATH], name[NAME + 8];
    struct layer_heads *of = &layer->of;
    if (!split_name(experiment_text(step, "layer"), file, prefix))
        return false; /* accepts() has seen to that */
    if (!cases_find_file(file, path, work->message, sizeof work->message))
        return false;
    struct safetensors *in = safetensors_open(path, work->message, sizeof work->message);
    if (!in)
        return false;
    snprintf(name, sizeof name, "%sx", prefix);
    const bool with_x = safetensors_find(in, name);
    safetensors_close(in);
    if (!(with_x ? open_layer(layer, file, prefix, work)
                 : layer_heads_open(of, file, prefix, work)))
        return false;
    if (!(of->len && of->heads && of->dim && of->v_dim))
        return experiment_fail(work, "%s: %s* has no elements", file, prefix);
    layer->tokens = read_tokens(of->len, file, prefix, work);
    return layer->tokens;
}

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

/* What a head is computed into: (len, len) thrice, and (len, v_dim). */
struct head {
    struct weights_head of;
    const float *v, *known; /* known: the output as the file has it, or NULL */
    double *scores, *p, *q, *o;
    double unscaled_in_use; /* keys, by the weights of unscaled scores */
};

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
    for (size_t i = 0; i < layer->of.len * layer->of.v_dim; i++) {
        const double known = (double)head->known[i], d = fabs(head->o[i] - known);
        worst = d <= worst ? worst : d; /* NaN stays */
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

/* Weights without and with the scale, outputs, and what is looked at, with a mask. */
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

/* Every matrix of a layer, and what its heads look at. */
static bool add_layer(const struct words_layer *layer, const json_t *step, json_t *rows,
                      struct experiment_work *work)
{
    static const char *const names[] = {"Wq", "Wk", "Wv"};
    const struct layer_heads *of = &layer->of;
    const size_t most = experiment_count(step, "show"), d_in = layer->d_in;
    struct writer w = {.rows = rows,
                       .work = work,
                       .layer = layer,
                       .name = experiment_text(step, "layer"),
                       .tokens = shown_of(of->len, most, true),
                       .most = most,
                       .head = -1};
    add_tokens(&w);
    bool right = !layer->x || add_floats(&w, "X", layer->x, true, of->len, d_in);
    for (size_t n = 0; right && layer->x && d_in <= most && n < 3; n++) /* a corner says nothing */
        right = add_floats(&w, names[n], layer->w[n], false, d_in,
                           of->heads * (n < 2 ? of->dim : of->v_dim));
    for (size_t h = 0; right && h < of->heads; h++)
        right = add_head(&w, h);
    return right;
}

static bool compute(const json_t *step, json_t *rows, struct experiment_work *work)
{
    const bool trained = experiment_is(step, "part", "trained");
    struct words_layer layer = {0};
    const bool right =
        (trained ? open_trained(&layer, step, work) : open_sentence(&layer, step, work)) &&
        add_layer(&layer, step, rows, work);
    json_decref(layer.tokens);
    return right;
}

/* ---- the report ------------------------------------------------------------------------------ */

/* A layer's name without folder and endings: "minilm-preamble layer1". */
static void short_name(const json_t *params, char text[TABLE_CELL])
{
    const char *layer = experiment_text(params, "layer"), *slash = strrchr(layer, '/');
    const char *from = slash ? slash + 1 : layer, *ending = strstr(from, ".safetensors:");
    const int stem = (int)(ending ? (size_t)(ending - from) : strlen(from));
    const char *prefix = ending ? ending + strlen(".safetensors:") : "";
    snprintf(text, TABLE_CELL, "%.*s%s%.*s", stem, from, *prefix ? " " : "",
             (int)strcspn(prefix, "."), prefix);
}

/* The row of a part that is of the layer of `like`. */
static bool same_layer(const struct experiment_part *a, const json_t *like)
{
    return experiment_same(a->params, like, "layer");
}

/* Whether a difference is what rounding explains, where there is one; says so where it is not. */
static bool within(const struct experiment_part *head, const char *difference,
                   const char *tolerance, const char *what)
{
    const double off = experiment_number(head->values, difference);
    const double allowed = experiment_number(head->values, tolerance);
    if (!json_object_get(head->values, difference) || off <= allowed)
        return true;
    report_sentence("Head %.0f DIFFERS: %s by %.2g, and rounding explains %.2g.",
                    experiment_number(head->params, "head"), what, off, allowed);
    return false;
}

/* Sentences about the heads of a layer; false where numbers differ. */
static bool print_looks(const json_t *rows, const struct experiment_part *layer)
{
    struct experiment_part part = {.rows = rows, .where = "part=head"};
    double worst = 0, off = NAN, least = INFINITY, most = 0;
    bool right = true;
    char name[TABLE_CELL];
    short_name(layer->params, name);
    report_heading("%s: what each head looks at", name);
    while (experiment_part_next(&part)) {
        if (!same_layer(&part, layer->params))
            continue;
        const bool causal = experiment_is(part.params, "mask", "causal");
        report_sentence("Head %.0f%s %s.", experiment_number(part.params, "head"),
                        causal ? ", causal," : "", experiment_text(part.values, "looks"));
        char weights[64];
        snprintf(weights, sizeof weights, "weights of %.40s",
                 experiment_text(part.values, "kernel"));
        right &= within(&part, "kernels_difference", "kernels_tolerance", weights);
        right &=
            within(&part, "output_difference", "output_tolerance", "its output from the file's");
        const double unscaled = experiment_number(part.values, "unscaled_keys_in_use");
        least = fmin(least, unscaled);
        most = fmax(most, unscaled);
        worst = fmax(worst, experiment_number(part.values, "kernels_difference"));
        off = fmax(off, experiment_number(part.values, "output_difference"));
    }
    report_sentence("Without the scale a row would use %.1f to %.1f keys, by head and mask.", least,
                    most);
    if (right && isfinite(off))
        report_sentence(
            "Every kernel gives these weights within %.2g; outputs are within %.2g of the "
            "model's own.",
            worst, off);
    else if (right)
        report_sentence("Every kernel gives these weights within %.2g.", worst);
    return right;
}

static bool report(const json_t *rows)
{
    struct experiment_part layer = {.rows = rows, .where = "part=tokens"};
    bool right = true;
    while (experiment_part_next(&layer)) {
        right &= print_looks(rows, &layer);
    }
    return right;
}

const struct calculation calculation_words = {
    .parameters = parameters,
    .accepts = accepts,
    .plan = plan,
    .compute = compute,
    .report = report,
};
