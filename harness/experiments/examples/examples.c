/*
 * examples: public notebooks on self-attention, rebuilt and compared digit by digit.
 */
#include "examples.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiments/list.h"
#include "experiments/shared/published.h"
#include "base/number.h"

static const struct parameter parameters[] = {{0}};

/* Of what has no seed: some notebooks draw one, some the other. */
static const char *const inputs[] = {"uniform", "normal"};

/* ---- rows ------------------------------------------------------------------------------------ */

static json_t *matrix(const double *x, size_t rows, size_t columns)
{
    json_t *all = json_array();
    for (size_t i = 0; i < rows; i++)
        json_array_append_new(all, experiment_numbers(x + i * columns, columns));
    return all;
}

double examples_difference(const double *x, size_t rows, size_t columns, const json_t *published)
{
    double worst = json_array_size(published) == rows ? 0 : INFINITY;
    for (size_t i = 0; i < rows; i++) {
        const json_t *row = json_array_get(published, i);
        for (size_t j = 0; j < columns; j++) {
            const json_t *value = json_array_get(row, j);
            const double expected = value ? json_number_value(value) : 0;
            const double d = fabs(x[i * columns + j] - expected);
            worst = d <= worst ? worst : d; /* NaN stays */
        }
    }
    return worst;
}

json_t *examples_row(const char *example, const char *quantity, const char *by, const double *x,
                     size_t rows, size_t columns, const json_t *published, double tolerance,
                     int decimals)
{
    const double worst = published ? examples_difference(x, rows, columns, published) : NAN;
    json_t *params =
        json_pack("{s:s, s:s, s:s}", "example", example, "quantity", quantity, "by", by);
    json_t *values = json_pack("{s:o, s:O?, s:i}", "computed", matrix(x, rows, columns),
                               "published", published, "decimals", decimals);
    if (published) {
        json_object_set_new(values, "difference", number_json(worst));
        json_object_set_new(values, "tolerance", json_real(tolerance));
        json_object_set_new(values, "ok", json_boolean(worst <= tolerance));
    }
    return experiment_row(params, values);
}

json_t *examples_property(const char *example, const char *property, const char *by, double worst,
                          double tolerance)
{
    return experiment_row(
        json_pack("{s:s, s:s, s:s}", "example", example, "property", property, "by", by),
        json_pack("{s:o, s:f, s:b}", "difference", number_json(worst), "tolerance", tolerance, "ok",
                  (int)(worst <= tolerance)));
}

/* ---- the plan -------------------------------------------------------------------------------- */

static json_t *step(const char *kind, const char *example, const json_t *asked)
{
    return json_pack("{s:s, s:s, s:O}", "kind", kind, "example", example, "seed",
                     json_object_get(asked, "seed"));
}

static json_t *plan(const json_t *asked, char *message, size_t message_size)
{
    const char *name;
    json_t *example, *file = published_load(NULL, message, message_size);
    json_t *steps = file ? json_array() : NULL;
    json_object_foreach (file, name, example) {
        if (json_object_get(example, "init"))
            json_array_append_new(steps, step("layer", name, asked));
        else if (json_object_get(example, "scaled_scores"))
            json_array_append_new(steps, step("causal", name, asked));
    }
    for (size_t i = 0; steps && examples_shape_name(i); i++)
        for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++) {
            json_t *s = step("shapes", examples_shape_name(i), asked);
            json_object_set_new(s, "input", json_string(inputs[k]));
            json_array_append_new(steps, s);
        }
    json_decref(file);
    return steps;
}

static json_t *compute(const json_t *s, struct experiment_work *work)
{
    static const struct {
        const char *kind;
        bool (*run)(const json_t *s, json_t *rows, struct experiment_work *work);
    } kinds[] = {
        {"layer", examples_layer}, {"causal", examples_causal}, {"shapes", examples_shapes}};
    json_t *rows = json_array();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(experiment_text(s, "kind"), kinds[i].kind) == 0 && kinds[i].run(s, rows, work))
            return rows;
    json_decref(rows);
    return NULL;
}

const struct experiment experiment_examples = {
    .name = "worked-examples",
    .question = "Can the numbers that five public notebooks print be reproduced?",
    .method =
        "Rebuilds seeded layers with MT19937 and PyTorch's use of it: weights, Q, K, V, scores,\n"
        "scaled scores, attention weights, outputs, each beside what was printed (4 decimals: "
        "within\n"
        "6e-5), the outputs by every kernel.  Recomputes a printed causal softmax from its "
        "printed\n"
        "scores (8 digits): the mask as a rule, as -inf that is added, and boolean.  Examples "
        "without\n"
        "a seed are checked by shape and property, with uniform and with normal inputs: rows of "
        "weights\n"
        "sum to 1, masked weights are exactly 0, the first causal row is the first value, float64\n"
        "inputs are rounded to float32; --seed is for these.  One is a layer of several heads with "
        "a mask\n"
        "of (B, H, S, S) that is added to the scores, rows that it masks whole included.  The "
        "softmax\n"
        "and variance examples of the same file belong to the experiments softmax and variance.",
    .source =
        "tests/data/worked-examples.json (the notebooks' numbers); Matsumoto and Nishimura 1998;\n"
        "PyTorch 2: aten/src/ATen/core/MT19937RNGEngine.h, TransformationHelper.h",
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = examples_report,
};
