/*
 * words: self-attention step by step, in matrices whose rows and columns are labelled with words.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/scan.h"
#include "experiment.h"
#include "results/report.h"
#include "words.h"

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

static void add_trained(json_t *steps, const json_t *asked, const char *file, const char *prefix)
{
    char name[2 * WORDS_NAME];
    snprintf(name, sizeof name, "%s:%s", file, prefix);
    json_array_append_new(
        steps,
        experiment_pick(json_pack("{s:s, s:s}", "part", "trained", "layer", name), asked, "show"));
}

/* A step for each layer of --trained; "all": those that come with the program. */
static bool plan_trained(json_t *steps, const json_t *asked, struct message message)
{
    const char *list = member_text(asked, "trained");
    const bool all = strcmp(list, "all") == 0;
    struct piece rest = piece_of(list), item;
    if (!*list) {
        message_print(message, "--trained names no layer; --parts sentence leaves them out");
        return false;
    }
    for (const struct layer_heads_name *layer = layer_heads_real; all && layer->file; layer++)
        add_trained(steps, asked, layer->file, layer->prefix);
    while (!all && piece_next(&rest, &item)) {
        char name[WORDS_NAME], file[WORDS_NAME], prefix[WORDS_NAME];
        snprintf(name, sizeof name, "%.*s", (int)item.length, item.at);
        if (!words_split_name(name, file, prefix)) {
            message_print(message, "--trained takes all, or FILE:PREFIX,...: '%s'", name);
            return false;
        }
        add_trained(steps, asked, file, prefix);
    }
    return true;
}

static bool accepts(const json_t *asked, struct message message)
{
    json_t *tokens = words_split(member_text(asked, "sentence"), message);
    json_t *steps = json_array();
    const bool right = tokens && plan_trained(steps, asked, message);
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
        plan_trained(steps, asked, MESSAGE(message)); /* accepts() did not refuse it */
}

static bool compute(const json_t *step, json_t *rows, struct experiment_work *work)
{
    const bool trained = experiment_is(step, "part", "trained");
    struct words_layer layer = {0};
    const bool right = (trained ? words_open_trained(&layer, step, work)
                                : words_open_sentence(&layer, step, work)) &&
                       words_add_layer(&layer, step, rows, work);
    json_decref(layer.tokens);
    return right;
}

/* ---- the report ------------------------------------------------------------------------------ */

/* A layer's name without folder and endings: "minilm-preamble layer1". */
static void short_name(const json_t *params, char text[TABLE_CELL])
{
    const char *layer = member_text(params, "layer"), *slash = strrchr(layer, '/');
    const char *from = slash ? slash + 1 : layer, *ending = strstr(from, ".safetensors:");
    const int stem = (int)(ending ? (size_t)(ending - from) : strlen(from));
    const char *prefix = ending ? ending + strlen(".safetensors:") : "";
    snprintf(text, TABLE_CELL, "%.*s%s%.*s", stem, from, *prefix ? " " : "",
             (int)strcspn(prefix, "."), prefix);
}

/* Whether rounding explains a difference, if there is one; prints a sentence if it does not. */
static bool within(const struct experiment_part *head, const char *difference,
                   const char *tolerance, const char *what)
{
    const double off = member_number(head->values, difference);
    const double allowed = member_number(head->values, tolerance);
    if (!json_object_get(head->values, difference) || off <= allowed)
        return true;
    report_sentence("Head %.0f DIFFERS: %s by %.2g, and rounding explains %.2g.",
                    member_number(head->params, "head"), what, off, allowed);
    return false;
}

/* Prints sentences about the heads of a layer; false if numbers differ. */
static bool print_looks(const json_t *rows, const struct experiment_part *layer)
{
    struct experiment_part part = {.rows = rows, .where = "part=head"};
    double worst = 0, off = NAN, least = INFINITY, most = 0;
    bool right = true;
    char name[TABLE_CELL];
    short_name(layer->params, name);
    report_sentence("%s: what each head looks at", name);
    while (experiment_part_next(&part)) {
        if (!experiment_is(part.params, "layer", member_text(layer->params, "layer")))
            continue;
        const bool causal = experiment_is(part.params, "mask", "causal");
        report_sentence("Head %.0f%s %s.", member_number(part.params, "head"),
                        causal ? ", causal," : "", member_text(part.values, "looks"));
        char weights[64];
        snprintf(weights, sizeof weights, "weights of %.40s", member_text(part.values, "kernel"));
        right &= within(&part, "kernels_difference", "kernels_tolerance", weights);
        right &=
            within(&part, "output_difference", "output_tolerance", "its output from the file's");
        const double unscaled = member_number(part.values, "unscaled_keys_in_use");
        least = fmin(least, unscaled);
        most = fmax(most, unscaled);
        worst = fmax(worst, member_number(part.values, "kernels_difference"));
        off = fmax(off, member_number(part.values, "output_difference"));
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
    while (experiment_part_next(&layer))
        right &= print_looks(rows, &layer);
    return right;
}

const struct calculation calculation_words = {
    .parameters = parameters,
    .accepts = accepts,
    .plan = plan,
    .compute = compute,
    .report = report,
};
