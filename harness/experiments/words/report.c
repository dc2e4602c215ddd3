/*
 * report: matrices with a word at each row, and sentences about heads.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiments/shared/grid.h"
#include "results/report_experiment.h"
#include "words.h"

#define FEW 8

/* Titles of columns, the words' column first. */
struct titles {
    struct table_column columns[TABLE_COLUMNS];
    char texts[TABLE_COLUMNS][16];
};

/* What a table says of a matrix. */
static const struct {
    const char *matrix, *formula;
    bool by_word, across; /* words at its rows, and at its columns */
    int decimals;
} matrices[] = {
    {"X", "X, the embeddings", true, false, 2},
    {"Wq", "Wq, weights to queries", false, false, 2},
    {"Wk", "Wk, weights to keys", false, false, 2},
    {"Wv", "Wv, weights to values", false, false, 2},
    {"Q", "Q = X Wq, what it asks for", true, false, 2},
    {"K", "K = X Wk, what it answers to", true, false, 2},
    {"V", "V = X Wv, what it says", true, false, 2},
    {"scores", "Q K^T, the scores", true, true, 2},
    {"scaled scores", "Q K^T / sqrt(d), scaled", true, true, 2},
    {"weights of scores", "softmax(Q K^T), unscaled", true, true, 2},
    {"weights", "softmax(Q K^T / sqrt(d))", true, true, 2},
    {"output", "weights V, output", true, false, 2},
};

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
    return strcmp(experiment_text(a->params, "layer"), experiment_text(like, "layer")) == 0;
}

/* Words stand over columns where these are few enough for a line of 80, else their numbers. */
static void set_titles(struct titles *t, const json_t *tokens, bool across, size_t columns)
{
    t->columns[0] = (struct table_column){"", 0, true};
    for (size_t j = 0; j < columns; j++) {
        const json_t *place = json_array_get(json_object_get(tokens, "places"), j);
        const json_t *word = json_array_get(json_object_get(tokens, "tokens"), j);
        if (across && columns <= FEW)
            snprintf(t->texts[j], sizeof t->texts[j], "%.7s", json_string_value(word));
        else
            snprintf(t->texts[j], sizeof t->texts[j], "%zu",
                     across ? (size_t)json_integer_value(place) : j);
        /* where a line is too short for all, the first columns and the last one stay */
        t->columns[j + 1] = (struct table_column){
            t->texts[j], j < FEW - 1 || j + 1 == columns ? 0 : (int)(j + 10), false};
    }
}

static void print_row(struct grid *grid, const json_t *tokens, bool by_word, size_t i,
                      const json_t *row, int decimals)
{
    const json_t *place = json_array_get(json_object_get(tokens, "places"), i), *x;
    size_t j;
    grid_row(grid);
    if (by_word)
        grid_text(grid, "%lld %.20s", (long long)json_integer_value(place),
                  json_string_value(json_array_get(json_object_get(tokens, "tokens"), i)));
    else
        grid_text(grid, "%zu", i);
    json_array_foreach (row, j, x) {
        if (json_is_number(x))
            grid_text(grid, "%.*f", decimals, json_number_value(x) + 0.0);
        else
            grid_text(grid, "%s", "");
    }
}

static void print_matrix(const struct experiment_part *part, const json_t *tokens)
{
    const json_t *elements = json_object_get(part->values, "elements"), *row;
    const char *name = experiment_text(part->params, "matrix");
    const char *mask = experiment_text(part->params, "mask");
    const size_t height = json_array_size(elements);
    const size_t width = json_array_size(json_array_get(elements, 0));
    const double down = experiment_at_number(part->values, "shape", 0);
    const double across = experiment_at_number(part->values, "shape", 1);
    char heading[TABLE_CELL * 3], cut[48] = "", layer[TABLE_CELL];
    size_t n = 0, i;
    while (strcmp(matrices[n].matrix, name) != 0)
        n++;
    struct titles titles;
    set_titles(&titles, tokens, matrices[n].across, width);
    struct grid grid = {.table.columns = titles.columns, .table.column_count = width + 1};
    json_array_foreach (elements, i, row)
        print_row(&grid, tokens, matrices[n].by_word, i, row, matrices[n].decimals);
    if (matrices[n].across && (double)height < down)
        snprintf(cut, sizeof cut, " (%zu of %.0f)", height, down);
    else if ((double)height < down || (double)width < across)
        snprintf(cut, sizeof cut, " (%zux%zu of %.0fx%.0f)", height, width, down, across);
    const bool of_head = json_object_get(part->params, "head");
    char head[24] = "";
    if (of_head)
        snprintf(head, sizeof head, ", head %.0f", experiment_number(part->params, "head"));
    short_name(part->params, layer);
    snprintf(heading, sizeof heading, "%s%s: %s%s%s", layer, head, matrices[n].formula,
             strcmp(mask, "causal") == 0 ? ", causal" : "", cut);
    grid_print(&grid, heading);
}

static void print_matrices(const json_t *rows, const struct experiment_part *layer)
{
    const double printed = experiment_number(layer->params, "printed");
    struct experiment_part part = {.rows = rows, .name = "matrix"};
    while (experiment_part_next(&part)) {
        const double head = experiment_number(part.params, "head");
        if (same_layer(&part, layer->params) && !(head >= printed))
            print_matrix(&part, layer->values);
    }
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
    struct experiment_part part = {.rows = rows, .name = "head"};
    double worst = 0, off = NAN, least = INFINITY, most = 0;
    bool right = true;
    char name[TABLE_CELL];
    short_name(layer->params, name);
    report_heading("%s: what each head looks at", name);
    while (experiment_part_next(&part)) {
        if (!same_layer(&part, layer->params))
            continue;
        const bool causal = strcmp(experiment_text(part.params, "mask"), "causal") == 0;
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

bool words_report(const json_t *rows)
{
    struct experiment_part layer = {.rows = rows, .name = "tokens"};
    bool right = true;
    while (experiment_part_next(&layer)) {
        print_matrices(rows, &layer);
        right &= print_looks(rows, &layer);
    }
    return right;
}
