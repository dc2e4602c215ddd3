/*
 * words: self-attention step by step, with a word at each row and column.
 */
#include "words.h"

#include <stdio.h>
#include <string.h>

#include "experiments/list.h"
#include "experiments/shared/real.h"

static const char *const parts[] = {"sentence", "trained", NULL};

static const struct parameter parameters[] = {
    {"parts", "LIST", "sentence,trained", NULL, "a sentence, and layers of files", PARAMETER_WORDS,
     0, 0, parts},
    {"sentence", "TEXT", "the cat sat on the mat", NULL, "words separated by spaces",
     PARAMETER_TEXT, 0, 0, NULL},
    {"heads", "N", "2", NULL, "heads of the sentence's layer", PARAMETER_COUNT, 1, 16, NULL},
    {"d", "N", "4", NULL, "dimension of its heads; embeddings have heads x d", PARAMETER_COUNT, 1,
     256, NULL},
    {"trained", "LIST", "all", "minilm-preamble.safetensors:layer1.",
     "layers as FILE:PREFIX; FILE has its tokens beside it", PARAMETER_TEXT, 0, 0, NULL},
    {"show", "N", "16", "8", "tokens and dimensions shown of a matrix at most", PARAMETER_COUNT, 2,
     22, NULL},
    {"printed", "N", "1", NULL, "heads of a trained layer whose matrices are printed",
     PARAMETER_COUNT, 0, 1024, NULL},
    {0},
};

static void add_trained(json_t *steps, const json_t *asked, const char *file, const char *prefix)
{
    char name[2 * WORDS_NAME];
    snprintf(name, sizeof name, "%s:%s", file, prefix);
    json_array_append_new(steps, json_pack("{s:s, s:s, s:O, s:O}", "part", "trained", "layer", name,
                                           "show", json_object_get(asked, "show"), "printed",
                                           json_object_get(asked, "printed")));
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
        char name[WORDS_NAME], file[WORDS_NAME], prefix[WORDS_NAME];
        const size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        if (!words_name(name, file, prefix)) {
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
    json_t *tokens = words_split(experiment_text(asked, "sentence"), message, message_size);
    json_t *steps = json_array();
    const bool right = tokens && plan_trained(steps, asked, message, message_size);
    json_decref(tokens);
    json_decref(steps);
    return right;
}

static json_t *plan(const json_t *asked, char *message, size_t message_size)
{
    json_t *steps = json_array();
    if (experiment_wants(asked, "sentence")) {
        json_t *s = json_pack("{s:s, s:s, s:O}", "part", "sentence", "layer", "sentence", "printed",
                              json_object_get(asked, "heads"));
        experiment_pick(s, asked, "sentence", "heads", "d", "show", "seed", NULL);
        json_array_append_new(steps, s);
    }
    if (experiment_wants(asked, "trained"))
        plan_trained(steps, asked, message, message_size); /* which accepts() has tried */
    return steps;
}

static json_t *compute(const json_t *step, struct experiment_work *work)
{
    const bool trained = strcmp(experiment_text(step, "part"), "trained") == 0;
    struct words_layer layer;
    const bool open =
        trained ? words_trained_open(&layer, step, work) : words_sentence_open(&layer, step, work);
    if (!open)
        return NULL;
    json_t *rows = json_array();
    const bool right = words_rows(rows, &layer, step, work);
    words_close(&layer);
    if (right)
        return rows;
    json_decref(rows);
    return NULL;
}

const struct experiment experiment_words = {
    .name = "words",
    .question = "What does each head look at, word by word?",
    .method =
        "Embeddings X, projections Q, K and V, scores Q K^T, the same over sqrt(d), their "
        "softmax,\n"
        "outputs: each matrix, with words at its rows and columns, causal and not, of a sentence "
        "in\n"
        "the textbook layer (random: embeddings N(0, 1), one for each different word, without\n"
        "positions; weights N(0, 1 / d_in)) and of trained layers.  Everything behind Q, K and V "
        "in\n"
        "float64; fails where a kernel's weights differ by more than rounding explains, or "
        "outputs\n"
        "from those of the file.  A head looks at the place (previous, itself, next, an equal "
        "token,\n"
        "one token) that gets most weight beyond what even rows would give it: at least twice as\n"
        "much, and a tenth of all weight more; else it spreads.",
    .source =
        "Vaswani et al. 2017, arXiv:1706.03762, section 3.2; Clark et al. 2019, arXiv:1906.04341,\n"
        "on what heads look at; tests/data/README.md",
    .parameters = parameters,
    .accepts = accepts,
    .plan = plan,
    .compute = compute,
    .report = words_report,
};
